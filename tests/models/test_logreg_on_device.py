"""Samples and labels that lie on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import on_device, on_host
from logreg_cases import Data, fit

import gpuprims
from gpuprims.errors import DeviceMismatchError
from gpuprims.models import LogReg, Rates


def alike(device: gpuprims.Device) -> dict[str, float]:
    """Return how closely fits of host and device agree: a CPU's products of host arrays are NumPy's."""
    return {"rtol": 1e-4, "atol": 1e-6} if device.capabilities.kind == "cpu" else {"rtol": 0}


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [([3, -2], "i4"), ([0, 1], "f4"), ([False, True], "?"), ([5, 6, 7], "u1"), ([1, 2, 9], "i8"), ([-1e6, 1e6], "f4")],
)
def test_labels_on_the_device(device: gpuprims.Device, rng: np.random.Generator, labels: list[Any], dtype: str) -> None:
    X, y = rng.standard_normal((90, 4)).astype("f4"), np.array(labels, dtype)[rng.integers(0, len(labels), 90)]
    given = on_device(device, X), on_device(device, y)
    model, peer = fit(device, *given, solver="lbfgs"), fit(device, X, y, solver="lbfgs")
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert model.classes_.dtype == y.dtype
    np.testing.assert_allclose(model.coef_, peer.coef_, **alike(device))
    with pytest.raises(ValueError, match="one class"):
        fit(device, given[0], on_device(device, np.full(90, 1, dtype)))
    with pytest.raises(ValueError, match="a label for each sample"):
        fit(device, given[0], on_device(device, y[:80]))


def test_measured_numbers_on_the_device_are_no_labels(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X = on_device(device, rng.standard_normal((90, 4)).astype("f4"))
    with pytest.raises(ValueError, match="Unknown label type"):
        fit(device, X, on_device(device, rng.standard_normal(90).astype("f4")))


@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_samples_on_a_device_stay_there(device: gpuprims.Device, request: pytest.FixtureRequest, data: str) -> None:
    if device.backend == "reference":
        pytest.skip("its arrays are NumPy's, which lie on no device")
    X, y = request.getfixturevalue(data)
    X = X.astype(np.float32)
    there = on_device(device, X)
    model, peer = fit(None, there, y, solver="lbfgs"), fit(device, X, y, solver="lbfgs")
    np.testing.assert_allclose(model.coef_, peer.coef_, **alike(device))
    assert model.n_features_in_ == X.shape[1]
    for method in ("predict_proba", "decision_function", "predict_log_proba"):
        got = getattr(model, method)(there)
        assert type(got) is type(there)
        np.testing.assert_allclose(on_host(device, got), getattr(peer, method)(X), **alike(device))
    guesses = model.predict(there)  # strings of iris, which no device has, are the host's
    assert type(guesses) is (type(there) if data == "cancer" else np.ndarray)
    np.testing.assert_array_equal(guesses if data == "iris" else on_host(device, guesses), peer.predict(X))


@pytest.mark.parametrize(
    "classes",
    [np.array([False, True]), np.array([3, 250], "u1"), np.array([-7, 0, 40]), np.array([-1.5, 0.0, 2.0], "f4")],
    ids=lambda classes: f"{len(classes)} {classes.dtype}",
)
def test_predictions_and_scores_where_the_samples_are(
    device: gpuprims.Device, rng: np.random.Generator, classes: np.ndarray
) -> None:
    X = rng.standard_normal((90, 4)).astype("f4")
    y, weights = classes[rng.integers(0, len(classes), 90)], rng.random(90).astype("f4")
    model = fit(device, X, y if y.dtype.kind != "f" else y.astype(str)).set_params(threshold=0.4)
    model.classes_ = classes  # of floats, too, which scikit-learn would refuse as labels
    guesses = model.predict(X)
    assert guesses.dtype == classes.dtype
    there = model.predict(on_device(device, X))
    assert type(there) is type(on_device(device, X))
    np.testing.assert_array_equal(on_host(device, there), guesses)
    if classes.dtype.kind == "f":
        return
    score, weighted = np.mean(guesses == y), np.average(guesses == y, weights=weights)
    for samples in (X, on_device(device, X)):
        for labels in (y, on_device(device, y), y.tolist()):
            assert model.score(samples, labels) == pytest.approx(score)
            for given in (weights, on_device(device, weights)):
                assert model.score(samples, labels, given) == pytest.approx(weighted)
    with pytest.raises(ValueError, match="a label for each sample; got 80 for 90"):
        model.score(X, on_device(device, y[:80].copy()))
    if len(classes) == 2:
        rates = Rates.of(on_device(device, y), there, positive=classes[1].item())
        assert rates.error == pytest.approx(1 - score)


def test_a_score_by_torchs_labels(device: gpuprims.Device, cancer: Data) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = cancer[0].astype(np.float32), cancer[1]
    model = fit(device, X, y, max_iter=20)
    assert model.score(torch.tensor(X), torch.tensor(y), torch.ones(len(y))) == model.score(X, y)


def test_tensors_with_gradients_are_read_without(device: gpuprims.Device, cancer: Data) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = cancer[0][:, :4].astype(np.float32), cancer[1]
    weights = np.linspace(0, 1, len(y))
    tensors = (torch.tensor(X, requires_grad=True), torch.tensor(y), torch.tensor(weights, requires_grad=True))
    model, peer = (
        fit(device, tensors[0], tensors[1], sample_weight=tensors[2]),
        fit(device, X, y, sample_weight=weights),
    )
    np.testing.assert_array_equal(model.coef_, peer.coef_)
    np.testing.assert_array_equal(model.predict_proba(tensors[0]), peer.predict_proba(X))
    assert model.score(*tensors) == peer.score(X, y, weights)


def test_samples_on_a_device_are_checked(device: gpuprims.Device, cancer: Data) -> None:
    if device.backend == "reference":
        pytest.skip("its arrays are NumPy's, which scikit-learn checks")
    X, y = cancer[0].astype(np.float32), cancer[1]
    spoilt = X.copy()
    spoilt[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LogReg().fit(on_device(device, spoilt), y)
    with pytest.raises(ValueError, match="shape"):
        LogReg().fit(on_device(device, X[0]), y)
    with pytest.raises(ValueError, match="a label for each sample"):
        LogReg().fit(on_device(device, X), y[1:])
    with pytest.raises(ValueError, match="30 features"):
        fit(None, on_device(device, X), y).predict(on_device(device, X[:, :7].copy()))
    with pytest.raises(DeviceMismatchError):
        LogReg("reference").fit(on_device(device, X), y)
