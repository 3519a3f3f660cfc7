"""LogReg of float32 samples far from unit scale ends near the least loss, or warns and names standardisation."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

import gpuprims
from gpuprims.models import LogReg
from gpuprims.models.logreg.newton import Standardised
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.samples import samples_of

Data = tuple[np.ndarray, np.ndarray]


def samples(seed: int, offset: float, scales: Any, n: int = 500) -> Data:
    """Return float32 samples of some classes that overlap, so that there is a least loss far from zero."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 5))
    y = (Z @ rng.standard_normal(5) + rng.logistic(size=n) > 0).astype(int)
    return (Z * scales + offset).astype(np.float32), y


def loss_gradient(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return scikit-learn's objective with C=1, per sample, and its gradient, in float64."""
    X = np.hstack([X.astype(np.float64), np.ones((len(X), 1))])
    penalised, scores = np.append(weights[:-1], 0), X @ weights
    chances = np.exp(-np.logaddexp(0, -scores))
    loss = np.logaddexp(0, scores).sum() - y @ scores + penalised @ penalised / 2
    return loss / len(X), (X.T @ (chances - y) + penalised) / len(X)


def least(X: np.ndarray, y: np.ndarray) -> float:
    """Return the least loss, found in the coordinates of standardised features."""
    mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    back = np.diag(np.append(1 / deviation, 1))
    back[-1, :-1] = -mean / deviation

    def function(there: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = loss_gradient(X, y, back @ there)
        return loss, back.T @ gradient

    found = optimize.minimize(function, np.zeros(len(back)), jac=True, method="BFGS", options={"gtol": 1e-8})
    return float(found.fun)


def above(model: LogReg, X: np.ndarray, y: np.ndarray) -> float:
    """Return how far the loss of a model is above the least one, relative to that."""
    weights = np.append(model.coef_[0], model.intercept_).astype(np.float64)
    return loss_gradient(X, y, weights)[0] / least(X, y) - 1


FAR = {
    "around 10^4": (1e4, 1.0),
    "of scales from 10^-3 to 10^6 around 10^4": (1e4, 10.0 ** np.array([-1, 0, 2, 4, 6])),
    "of scales from 0.1 to 100 around 100": (1e2, 10.0 ** np.array([-1, 0, 1, 2, 1])),
    "of scale 1000": (0.0, 1e3),
}


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_float32_samples_far_from_unit_scale(device: gpuprims.Device, solver: str, far: str) -> None:
    if not device.capabilities.fp64:
        pytest.skip("the device has no float64, which is what the fit goes on in")
    X, y = samples(1, *FAR[far])
    model = LogReg(device, solver=solver, max_iter=200).fit(X, y)  # without a warning
    assert model.stop_reason_ in ("tolerance", "rounding")
    assert model.coef_.dtype == np.float32
    assert above(model, X, y) < 1e-6
    assert model.loss_curve_[-1] == pytest.approx(least(X, y), rel=2e-6)  # the model adds up losses of float32
    assert model.n_iter_ == model.loss_iterations_[-1] == len(model.loss_curve_) <= 200


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "gd"])
@pytest.mark.parametrize("seed", range(12))
def test_near_the_least_loss_or_a_warning(solver: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = samples(seed, 10 ** rng.uniform(0, 7), 10 ** rng.uniform(-3, 6, 5), n=200)
    X = X + rng.standard_normal(X.shape).astype(np.float32) * np.spacing(np.abs(X).max(axis=0))  # no constant column
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        model = LogReg("reference", solver=solver, max_iter=100, tol=1e-7).fit(X, y)
    if above(model, X, y) > 1e-6:
        assert [one.category for one in given] == [ConvergenceWarning]
        assert "standardise the features" in str(given[0].message)


def test_a_device_without_float64_warns(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        gpuprims.Device, "capabilities", property(lambda self: replace(self.driver.capabilities, fp64=False))
    )
    X, y = samples(1, *FAR["around 10^4"])
    for solver in ("lbfgs", "newton-cholesky"):
        with pytest.warns(ConvergenceWarning, match="standardise the features"):
            model = LogReg(device, solver=solver).fit(X, y)
        assert model.stop_reason_ == "stalled"


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_weights_that_float32_cannot_keep_are_warned_of(solver: str) -> None:
    X, y = samples(1, 1.5e7, 8.0)
    with pytest.warns(ConvergenceWarning, match="standardise the features"):
        model = LogReg("reference", solver=solver).fit(X, y)
    assert model.stop_reason_ == "stalled"
    assert above(model, X, y) > 1e-6
    exact = LogReg("reference", solver="newton-cholesky").fit(X.astype(np.float64), y)
    assert above(exact, X, y) < 1e-6  # float64 keeps them, as the warning says


def test_the_iterations_in_both_precisions_are_counted_together() -> None:
    X, y = samples(1, *FAR["around 10^4"])
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        model = LogReg("reference", solver="lbfgs", max_iter=5).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (5, "max_iter")
    told: list[Any] = []
    model = LogReg("reference", solver="lbfgs", callback=lambda one: told.append(one) or len(told) == 6).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (6, "callback")
    assert [one.iteration for one in told] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("kind", ["dense", "sparse", "int8"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_standardised_coordinates(rng: np.random.Generator, kind: str, classes: int, intercept: bool) -> None:
    X, _ = samples(2, 50.0, [1, 10, 0.1, 1, 3], n=60)
    X[:, 3] = 7  # constant
    shares = rng.random(60)
    model = LogReg("reference", feature_dtype="int8" if kind == "int8" else None)
    given = sparse.csr_array(X) if kind == "sparse" else X
    narrow = Objective(
        samples_of(model, given, np.arange(60) % classes, shares),
        1 if classes == 2 else classes, 0.1, fit_intercept=intercept,
    )  # fmt: skip
    wide = narrow.as_float64()
    assert wide is not None
    assert wide.dtype == np.float64
    assert wide.as_float64() is wide
    if kind != "sparse":
        assert wide.samples.features.array is narrow.samples.features.array  # no copy
    inner, there = Standardised(wide), rng.standard_normal(wide.size)
    weights = inner.to_weights(there)
    np.testing.assert_allclose(inner.from_weights(weights), there, rtol=1e-9, atol=1e-9)
    value, gradient = inner.loss_gradient(there)
    assert value == pytest.approx(narrow.loss_gradient(weights)[0], rel=1e-4)
    for k in range(len(there)):
        ahead, behind = (inner.loss_gradient(there + step * np.eye(len(there))[k])[0] for step in (1e-5, -1e-5))
        assert gradient[k] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-7)
    scores = wide.device.to_host(wide.scores(wide.to_device(weights)))
    if intercept and kind != "int8":  # the mean of a score is its constant: all features have mean 0
        constants = there[-wide.outputs :]
        np.testing.assert_allclose(np.average(scores, axis=0, weights=wide.samples.weights), constants, atol=1e-6)


def test_rounding_at_the_least_loss_is_no_warning() -> None:
    X, y = samples(3, 0.0, 1.0)
    for solver in ("lbfgs", "newton-cholesky"):
        model = LogReg("reference", solver=solver, tol=1e-15, max_iter=300).fit(X, y)
        assert model.stop_reason_ in ("rounding", "tolerance")
        assert above(model, X, y) < 1e-6
