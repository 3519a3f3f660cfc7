"""Predictions for samples of the host, which CPUs read where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from logreg_cases import fit
from scipy import sparse
from scipy.special import softmax

import gpuprims
from gpuprims.models import PCA, LogReg, csr_matrix, inputs, sparse_features
from gpuprims.models.in_place import reads_in_place
from gpuprims.models.logreg import prediction

# More elements than NumPy would check for the device.
_ROWS, _FEATURES = 3000, 7


def fitted(device: gpuprims.Device, rng: np.random.Generator, classes: int) -> tuple[LogReg, np.ndarray, np.ndarray]:
    """Return a model, samples, and their probabilities in float64."""
    X = rng.standard_normal((_ROWS, _FEATURES)).astype(np.float32)
    X[rng.random(X.shape) < 0.6] = 0
    model = fit(device, X[:200], rng.integers(0, classes, 200))
    scores = X.astype(np.float64) @ model.coef_.T.astype(np.float64) + model.intercept_
    return model, X, softmax(np.hstack([0 * scores, scores]) if classes == 2 else scores, axis=1)


@pytest.mark.parametrize(("classes", "form"), [(2, np.asarray), (4, np.asfortranarray), (2, sparse.csr_array)])
def test_predictions_of_the_host_are_those_of_float64(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, classes: int, form: Any
) -> None:
    model, X, expected = fitted(device, rng, classes)
    copied: list[int] = []
    if reads_in_place(device):
        copy = type(device.driver).asarray
        monkeypatch.setattr(
            type(device.driver), "asarray", lambda driver, one: (copied.append(one.size), copy(driver, one))[1]
        )
    given = form(X)
    np.testing.assert_allclose(model.predict_proba(given), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.predict_log_proba(given), np.log(expected), rtol=1e-4, atol=1e-5)
    sure = np.diff(np.sort(expected, axis=1)[:, -2:], axis=1)[:, 0] > 1e-4
    np.testing.assert_array_equal(model.predict(given)[sure], model.classes_[expected.argmax(axis=1)][sure])
    assert max(copied, default=0) <= classes * _FEATURES


@pytest.mark.parametrize("most", [0, 1 << 17])
def test_short_products_of_csr_are_scipys(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    if not reads_in_place(device):
        pytest.skip("kernels that work in the host's memory")
    monkeypatch.setattr(sparse_features, "_FEW_PRODUCTS", most)
    model, X, expected = fitted(device, rng, 2)
    launched: list[Any] = []
    product = csr_matrix.product_of_checked

    def launch(data: Any, indices: Any, indptr: Any, dense: Any, *, device: gpuprims.Device) -> Any:
        launched.append(dense)
        if most:  # at a level, whose kernel has tests of its own
            return sparse.csr_array((data, indices, indptr), X.shape) @ dense
        return product(data, indices, indptr, dense, device=device)

    monkeypatch.setattr(csr_matrix, "product_of_checked", launch)
    for form in (sparse.csr_array, sparse.csr_matrix):
        np.testing.assert_allclose(model.predict_proba(form(X)), expected, rtol=1e-4, atol=1e-6)
    assert bool(launched) == (most == 0)
    if most:
        with gpuprims.use_determinism("device"):
            model.decision_function(sparse.csr_array(X))
        assert launched


def test_csr_that_scikit_learn_would_refuse_is_refused(rng: np.random.Generator) -> None:
    X, y = rng.standard_normal((40, 5)), np.arange(40) % 2
    model, given = LogReg("reference").fit(X, y), sparse.csr_array(X)
    with pytest.raises(ValueError, match="5 features"):
        model.predict(given[:, :4])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(given[:0])
    with pytest.raises(ValueError, match=r"X of shape \(n_samples, n_features\)"):
        model.predict(given[0])
    with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
        PCA(2, device="reference").fit(given)
    np.testing.assert_array_equal(model.predict(given.astype(np.float32)), model.predict(X))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictions_refuse_what_is_not_finite(device: gpuprims.Device, rng: np.random.Generator, bad: float) -> None:
    model, X, _ = fitted(device, rng, 2)
    X[_ROWS - 1, 2] = bad
    for given in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.predict(given)


def test_predictions_at_a_level_are_not_numpys(device: gpuprims.Device, rng: np.random.Generator) -> None:
    model, X, _ = fitted(device, rng, 2)
    expected = gpuprims.reduce(X, model.coef_.reshape(-1), map="x*w", axis=1, determinism="device", device=device)
    np.testing.assert_array_equal(
        model.set_params(determinism="device").decision_function(X), expected + model.intercept_
    )


@pytest.mark.parametrize("column", [-1, _FEATURES])
def test_columns_outside_are_refused_before_they_are_read(device: gpuprims.Device, column: int) -> None:
    X = sparse.csr_array(np.eye(_FEATURES, dtype=np.float32))
    model = fit(device, X, np.arange(_FEATURES) % 2)
    X.indices[3] = column
    with pytest.raises(ValueError, match=rf"columns from 0 to {_FEATURES - 1}; got indices\[3\] = {column}"):
        model.predict(X)


@pytest.mark.parametrize(
    "classes", [np.array([3, 7]), np.array([False, True]), np.array([0.5, 1.0]), np.array(["a", "b"])]
)
def test_classes_of_few_and_of_more_rows(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, classes: np.ndarray
) -> None:
    model, X, expected = fitted(device, rng, 2)
    model.classes_ = classes
    times = 4 if getattr(device.driver, "wakes_threads", False) else 1
    for threshold in (0.5, 0.9):
        model.threshold = threshold
        clear = np.abs(expected[:, 1] - threshold) > 1e-5
        for most in (_ROWS, _ROWS - times):
            monkeypatch.setattr(prediction, "_FEW_ROWS", most / times)
            found = model.predict(X)
            assert found.dtype == classes.dtype
            np.testing.assert_array_equal(found[clear], classes[(expected[:, 1] > threshold).astype(int)][clear])


@pytest.mark.parametrize("shape", [(16,), (17,), (15, 1), (4, 4), (5, 4), (1, 40), (0, 3)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_each_element_of_the_host_is_looked_at(
    device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], value: float
) -> None:
    monkeypatch.setattr(inputs, "_BLOCK", 8)
    given = np.ones(shape, np.float32)
    for array in (given, np.asfortranarray(given), np.repeat(given, 2, axis=-1)[..., ::2]):
        assert inputs.all_finite(array, device)
        for k in np.ndindex(shape):
            array[k] = value
            assert not inputs.all_finite(array, device)
            array[k] = 1


@pytest.mark.parametrize("classes", [3, 8, 9])
def test_the_first_of_equal_scores_is_predicted(
    device: gpuprims.Device, rng: np.random.Generator, classes: int
) -> None:
    X, y = np.eye(classes, dtype="f4")[rng.integers(0, classes, 300)], np.arange(300) % classes
    model = fit(device, X, y)
    model.coef_ = rng.integers(0, 2, model.coef_.shape).astype("f4")  # few values, so many scores are equal
    model.intercept_ = rng.integers(0, 2, classes).astype("f4")
    np.testing.assert_array_equal(model.predict(X), (X @ model.coef_.T + model.intercept_).argmax(axis=1))


def test_the_largest_of_columns_with_nan(rng: np.random.Generator) -> None:
    scores = rng.standard_normal((99, 5)).astype("f4")
    assert prediction._largest_of_few(scores, np.ones((1, 5), "f4")) is not None
    scores[7, 3] = np.nan
    assert prediction._largest_of_few(scores, np.ones((1, 5), "f4")) is None
