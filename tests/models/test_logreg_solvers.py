"""LogReg's solvers: scikit-learn's optimum, the article's iteration, equal results on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from logreg_cases import Data, fit, need_float64
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.errors import ArgumentError, NoVariantError, UnknownVariantError
from gpuprims.models import LogReg
from gpuprims.profiling import profile


def descend(X: np.ndarray, y: np.ndarray, *, rate: float, l2: float, iterations: int) -> tuple[np.ndarray, list[float]]:
    """The article's loop in float64 NumPy, with a free intercept; returns the weights and every loss per sample."""
    X = np.hstack([X, np.ones((len(X), 1))])
    penalty = np.full(X.shape[1], l2)
    penalty[-1] = 0
    weights, losses = np.zeros(X.shape[1]), []
    for _ in range(iterations + 1):
        scores = X @ weights
        losses.append((np.logaddexp(0, scores).sum() - y @ scores + (penalty * weights**2).sum() / 2) / len(X))
        before, weights = weights, weights + rate * (X.T @ (y - 1 / (1 + np.exp(-scores))) - penalty * weights)
    return before, losses


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_scikit_learns_optimum(
    device: gpuprims.Device, request: pytest.FixtureRequest, solver: str, intercept: bool, data: str
) -> None:
    need_float64(device)
    X, y = request.getfixturevalue(data)
    model = LogReg(device, solver=solver, C=0.7, tol=1e-8, max_iter=500, fit_intercept=intercept).fit(X, y)
    peer = LogisticRegression(C=0.7, tol=1e-10, max_iter=5000, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=2e-4)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=1e-6, atol=1e-9)
    assert model.stop_reason_ in ("tolerance", "rounding")
    assert model.coef_.shape == peer.coef_.shape
    assert np.diff(model.loss_curve_).max() <= 1e-12


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "gd"])
def test_float32_comes_near_and_stays_float32(device: gpuprims.Device, cancer: Data, solver: str) -> None:
    X, y = cancer
    model = fit(device, X.astype(np.float32), y, solver=solver, max_iter=400)
    peer = LogisticRegression(tol=1e-8, max_iter=1000).fit(X, y)
    assert model.coef_.dtype == model.predict_proba(X[:5]).dtype == np.float32
    assert (model.predict(X) == peer.predict(X)).mean() > 0.99
    assert model.loss_curve_[-1] == pytest.approx(_objective(peer, X, y), rel=0.05 if solver == "gd" else 1e-4)


def _objective(peer: LogisticRegression, X: np.ndarray, y: np.ndarray) -> float:
    scores = peer.decision_function(X)
    return float((np.logaddexp(0, scores).sum() - y @ scores + (peer.coef_**2).sum() / 2) / len(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_iterations_are_those_of_the_article(device: gpuprims.Device, cancer: Data, dtype: Any) -> None:
    if dtype is np.float64:
        need_float64(device)
    X, y = cancer
    model = fit(device, X.astype(dtype), y, solver="gd", learning_rate=1e-3, C=2, max_iter=100, tol=0)
    weights, losses = descend(X, y, rate=1e-3, l2=0.5, iterations=100)
    bound = 1e-10 if dtype is np.float64 else 2e-4
    np.testing.assert_allclose(model.coef_[0], weights[:-1], rtol=bound, atol=bound)
    np.testing.assert_allclose(model.intercept_, weights[-1:], rtol=bound, atol=bound)
    assert model.loss_iterations_ == [1, 2, 4, 8, 16, 32, 64, 100]
    np.testing.assert_allclose(model.loss_curve_, [losses[done] for done in model.loss_iterations_], rtol=bound)
    assert (model.n_iter_, model.stop_reason_) == (100, "max_iter")


def test_the_automatic_step_descends(device: gpuprims.Device, cancer: Data) -> None:
    X, y = cancer
    model = fit(device, X.astype(np.float32), y, solver="gd", max_iter=2000)
    assert np.all(np.diff(model.loss_curve_) < 1e-6)
    assert model.score(X.astype(np.float32), y) > 0.98


@pytest.mark.parametrize(
    "variant", ["sequential", "merged_loops", "work_items", "tree", "vec4", "two_kernels", "grad2_ns_loc"]
)
def test_kernels_of_the_articles_by_name(
    device: gpuprims.Device, cancer: Data, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.backend == "reference":
        pytest.skip("the reference has one kernel of each primitive")
    monkeypatch.setattr(profile, "copy_rate", lambda device: 1e9)  # in less time than to measure it
    how: dict[str, Any] = {"solver": "gd", "learning_rate": 1e-3, "C": 2, "max_iter": 20, "tol": 0}
    with gpuprims.profile() as seen:
        model = fit(device, cancer[0].astype(np.float32), cancer[1], variant=variant, **how)
    launched = {launch.kernel for launch in seen.launches}
    assert {f"descent/{variant}", f"logistic/{variant}"} & launched
    assert not {"descent/persistent", "descent/cpu_persistent"} & launched
    weights, _ = descend(*cancer, rate=1e-3, l2=0.5, iterations=20)
    np.testing.assert_allclose(model.coef_[0], weights[:-1], rtol=2e-4, atol=2e-4)


def test_a_kernel_that_does_not_suit_is_an_error(device: gpuprims.Device, cancer: Data, iris: Data) -> None:
    X, y = cancer[0].astype(np.float32), cancer[1]
    with pytest.raises(ArgumentError, match="LogReg: variant= with solver= one of 'gd', 'sgd', 'hogwild'; got 'tree'"):
        LogReg(device, variant="tree").fit(X, y)
    with pytest.raises(ArgumentError, match="LogReg: two classes of dense samples with variant='tree'; got more"):
        LogReg(device, solver="gd", variant="tree").fit(*iris)
    with pytest.raises(UnknownVariantError, match="got 'treee'") as caught:
        LogReg(device, solver="gd", variant="treee").fit(X, y)
    kernels = ("numpy",) if device.backend == "reference" else ("'tree'", "'grad2_ns_loc'", "(did you mean 'tree'?)")
    assert all(name in str(caught.value) for name in kernels)
    if device.backend != "reference":
        with pytest.raises(NoVariantError, match=r"tree.*local memory"):
            LogReg(device, solver="gd", variant="tree").fit(np.tile(X[:60], 400), y[:60])


def test_more_weight_is_as_more_samples(device: gpuprims.Device, iris: Data, rng: np.random.Generator) -> None:
    need_float64(device)
    X, y = iris
    often = rng.integers(0, 4, len(X))
    how = {"solver": "newton-cholesky", "tol": 1e-8}
    weighed = LogReg(device, **how).fit(X, y, sample_weight=often)
    repeated = LogReg(device, **how).fit(np.repeat(X, often, axis=0), np.repeat(y, often))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-6)


@pytest.mark.parametrize("weight", ["balanced", {0: 3.0, 1: 0.5}])
def test_classes_are_weighed_as_scikit_learn_does(cancer: Data, weight: Any) -> None:
    X, y = cancer[0][:400], cancer[1][:400]
    model = LogReg("reference", class_weight=weight, tol=1e-8).fit(X, y)
    peer = LogisticRegression(class_weight=weight, tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-4)


def test_a_warm_start_goes_on(cancer: Data) -> None:
    X, y = cancer
    model = fit("reference", X, y, max_iter=200, warm_start=True)
    first = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < first / 4


def test_same_bits_from_run_to_run(device: gpuprims.Device, cancer: Data) -> None:
    X, y = cancer
    first, second = (fit(device, X.astype(np.float32), y, max_iter=30).coef_ for _ in range(2))
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "gd", "minibatch"])
def test_margins_of_ten_thousand_do_not_overflow(device: gpuprims.Device, solver: str) -> None:
    X = np.float32([[-1e4], [-9e3], [8e3], [1e4]])
    with np.errstate(all="raise"):
        model = fit(device, X, [0, 0, 1, 1], solver=solver, C=1e6, max_iter=64)
        wide = fit(device, X, [0, 1, 2, 2], solver=solver, max_iter=64)
        model.coef_[:] = 1
        chances = model.predict_proba(X)
    np.testing.assert_array_equal(chances, [[1, 0], [1, 0], [0, 1], [0, 1]])
    assert np.isfinite(model.loss_curve_).all()
    assert np.isfinite(wide.predict_proba(X)).all()
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_runs_of_samples_come_near_the_optimum(device: gpuprims.Device, request: Any, data: str) -> None:
    X, y = request.getfixturevalue(data)
    X = X.astype(np.float32)
    how = {"solver": "minibatch", "batch_size": 60, "max_iter": 80, "random_state": 3}
    model, again = (fit(device, X, y, **how) for _ in range(2))
    best = fit(device, X, y, max_iter=500)
    assert model.loss_curve_[-1] == pytest.approx(best.loss_curve_[-1], rel=0.5)
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    np.testing.assert_array_equal(model.coef_, again.coef_)


def test_one_run_of_all_is_batch_descent(cancer: Data) -> None:
    X, y = cancer
    how: dict[str, Any] = {"learning_rate": 1e-3, "max_iter": 50, "tol": 0}
    batch = fit("reference", X, y, solver="gd", **how)
    runs = fit("reference", X, y, solver="minibatch", batch_size=len(X), **how)
    np.testing.assert_allclose(runs.coef_, batch.coef_, rtol=1e-9)
