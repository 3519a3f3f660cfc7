"""LogReg's solvers by single samples: near the optimum, the same interface, and what they do not take."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from kernel_cases import on_device
from logistic_cases import descended
from logreg_cases import Data, fit
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import gpuprims
from gpuprims.models import LogReg

BOTH = pytest.mark.parametrize("solver", ["sgd", "hogwild"])


@pytest.fixture(scope="module")
def cancer() -> Data:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X).astype(np.float32), y


def objective(weights: np.ndarray, constant: float, X: np.ndarray, y: np.ndarray) -> float:
    scores = X.astype(np.float64) @ weights + constant
    return float((np.logaddexp(0, scores).sum() - y @ scores + (weights**2).sum() / 2) / len(X))


@BOTH
@pytest.mark.parametrize("intercept", [True, False])
def test_they_come_near_scikit_learns_loss(device: gpuprims.Device, cancer: Data, solver: str, intercept: bool) -> None:
    X, y = cancer
    model = fit(device, X, y, solver=solver, random_state=0, fit_intercept=intercept)
    peer = LogisticRegression(tol=1e-8, max_iter=1000, fit_intercept=intercept).fit(X, y)
    best = objective(peer.coef_[0], float(np.ravel(peer.intercept_)[0]), X, y)
    assert model.loss_curve_[-1] == pytest.approx(best, rel=0.1)
    assert model.loss_curve_[-1] == pytest.approx(objective(model.coef_[0], model.intercept_[0], X, y), rel=1e-4)
    assert (model.predict(X) == peer.predict(X)).mean() > 0.98
    assert model.coef_.dtype == np.float32
    assert (model.stop_reason_, model.n_iter_, len(model.loss_curve_)) == ("max_iter", 100, 100)


def test_sparse_samples_are_written_out_some_at_a_time(
    device: gpuprims.Device, cancer: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = cancer
    X = X * (np.abs(X) > 0.5)
    monkeypatch.setattr("gpuprims.models.sparse_features.SLAB_BYTES", 100 * 30 * 4)
    how: dict[str, Any] = {"solver": "sgd", "random_state": 3, "max_iter": 4}
    model, peer = fit(device, sparse.csr_array(X), y, **how), fit(device, X, y, **how)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(model.loss_curve_, peer.loss_curve_, rtol=1e-5)
    weighted = fit(device, sparse.csr_array(X), y, target_error=0.0, **how), fit(device, X, y, target_error=0.0, **how)
    np.testing.assert_allclose(weighted[0].coef_, weighted[1].coef_, atol=1e-5)
    loose = fit(device, sparse.csr_array(X), y, solver="hogwild", max_iter=20)
    assert (loose.predict(X) == y).mean() > 0.95


def test_sgd_is_the_loop_over_shuffled_samples(device: gpuprims.Device, cancer: Data) -> None:
    X, y = cancer
    model = fit(device, X, y, solver="sgd", random_state=5, max_iter=3, learning_rate=0.01, C=0.5)
    random, weights = np.random.RandomState(5), np.zeros(31)
    for _ in range(3):
        order = random.permutation(len(X))
        weights = descended(X, y, weights, order, rate=0.01, keep=1 - 0.01 * 2 / len(X))
    np.testing.assert_allclose(model.coef_[0], weights[:30], atol=2e-5)
    np.testing.assert_allclose(model.intercept_, weights[30:], atol=2e-5)
    again = fit(device, X, y, solver="sgd", random_state=5, max_iter=3, learning_rate=0.01, C=0.5)
    np.testing.assert_array_equal(model.coef_, again.coef_)


@BOTH
def test_a_penalty_too_small_for_a_step_is_taken_once_a_round(cancer: Data, solver: str) -> None:
    X, y = cancer
    how: dict[str, Any] = {"solver": solver, "random_state": 1, "max_iter": 4, "learning_rate": 1e-4}
    model = fit("reference", X, y, C=0.01, **how)  # whose share of a step is 1.8e-5, some 150 roundings
    random, weights = np.random.RandomState(1), np.zeros(31)
    for _ in range(4):
        weights = descended(X, y, weights, random.permutation(len(X)), rate=1e-4)
        weights[:30] *= 1 - 1e-4 / 0.01
    np.testing.assert_allclose(model.coef_[0], weights[:30], atol=1e-6)


@BOTH
def test_samples_that_weigh_nothing_or_much(device: gpuprims.Device, cancer: Data, solver: str) -> None:
    X, y = cancer[0][:300].copy(), cancer[1][:300]
    weights = np.ones(300)
    weights[::3] = 0
    X[::3] = 1e6  # which would be seen
    how: dict[str, Any] = {"solver": solver, "random_state": 0, "max_iter": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogReg(device, **how).fit(X, y, sample_weight=weights)
    kept = weights > 0
    peer = LogisticRegression(max_iter=1000).fit(X[kept], y[kept])
    assert (model.predict(X[kept]) == peer.predict(X[kept])).mean() > 0.97
    balanced = fit(device, X[kept], y[kept], class_weight={0: 5.0, 1: 0.1}, **how)
    assert balanced.predict(X[kept]).mean() < model.predict(X[kept]).mean()


@BOTH
def test_a_target_error_on_samples_held_out(cancer: Data, solver: str) -> None:
    X, y = cancer
    how: dict[str, Any] = {"target_error": 0.08, "validation_fraction": 0.25, "random_state": 0, "tol": 0}
    model = LogReg("reference", solver=solver, learning_rate=1e-4, **how).fit(X, y)
    assert model.stop_reason_ == "target_error"
    assert model.validation_errors_[-1] <= 0.08


@BOTH
def test_they_stop_by_tolerance_and_by_a_callback(cancer: Data, solver: str) -> None:
    X, y = cancer
    model = LogReg("reference", solver=solver, tol=0.05, random_state=0).fit(X, y)
    assert model.stop_reason_ == "tolerance"
    told = []
    model = LogReg("reference", solver=solver, callback=lambda progress: told.append(progress) or len(told) == 3)
    model.fit(X, y)
    assert (model.stop_reason_, model.n_iter_) == ("callback", 3)
    assert [one.loss for one in told] == model.loss_curve_


@BOTH
def test_a_learning_rate_that_diverges_is_named(device: gpuprims.Device, cancer: Data, solver: str) -> None:
    X, y = cancer
    with pytest.warns(ConvergenceWarning, match=r"learning_rate=1e\+36"), np.errstate(all="ignore"):
        model = LogReg(device, solver=solver, learning_rate=1e36).fit(X * 100, y)
    assert model.stop_reason_ == "diverged"
    assert np.isfinite(model.coef_).all()


@BOTH
def test_margins_of_ten_thousand_do_not_overflow(device: gpuprims.Device, solver: str) -> None:
    X = np.float32([[-1e4], [-9e3], [8e3], [1e4]])
    model = fit(device, X, [0, 0, 1, 1], solver=solver, C=1e6, max_iter=20)
    assert np.isfinite(model.loss_curve_).all()
    np.testing.assert_array_equal(model.predict(X), [0, 0, 1, 1])


@BOTH
def test_samples_on_a_device_stay_there(device: gpuprims.Device, cancer: Data, solver: str) -> None:
    X, y = cancer
    model = fit(None, on_device(device, X), y, solver=solver, random_state=0, max_iter=5)
    host = fit(device, X, y, solver=solver, random_state=0, max_iter=5)
    np.testing.assert_allclose(model.coef_, host.coef_, atol=1e-5 if solver == "sgd" else 0.1)


@BOTH
def test_a_warm_start_goes_on(cancer: Data, solver: str) -> None:
    X, y = cancer
    model = fit("reference", X, y, solver=solver, warm_start=True, max_iter=10, random_state=0)
    before = model.loss_curve_[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.loss_curve_[-1] < before


@BOTH
def test_what_they_do_not_take_is_said(cancer: Data, solver: str) -> None:
    others = "'lbfgs', 'newton-cholesky', 'gd', 'minibatch'"
    with pytest.raises(ValueError, match=rf"two classes with solver='{solver}'; got 3: .* \(use {others}\)"):
        LogReg("reference", solver=solver).fit(*load_iris(return_X_y=True))
