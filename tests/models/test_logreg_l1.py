"""LogReg with L1 penalties: scikit-learn's optimum, a duality gap that bounds, its parameters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from logreg_cases import Data, fit, need_float64
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.models import LogReg
from gpuprims.models.logreg import lasso

L1_SOLVERS = pytest.mark.parametrize("solver", ["newton-cd", "fista"])


def objective(model: Any, X: np.ndarray, y: np.ndarray, C: float, ratio: float, weight: Any = 1.0) -> float:
    """The objective per unit of sample weight, in float64 NumPy."""
    scores = X.astype(np.float64) @ model.coef_.T.astype(np.float64) + model.intercept_
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    own = scores[np.arange(len(y)), np.searchsorted(np.unique(y), y)]
    weight = np.broadcast_to(weight, len(y))
    losses = np.sum(weight * (np.logaddexp.reduce(scores, axis=1) - own))
    coef = model.coef_.astype(np.float64)
    return float(losses + (ratio * np.abs(coef).sum() + (1 - ratio) / 2 * (coef**2).sum()) / C) / float(weight.sum())


@L1_SOLVERS
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_scikit_learns_optimum(
    device: gpuprims.Device, request: pytest.FixtureRequest, solver: str, form: str, ratio: float, data: str
) -> None:
    need_float64(device)
    X, y = request.getfixturevalue(data)
    given = X if form == "dense" else sparse.csr_array(X)
    model = LogReg(device, solver=solver, C=0.1, l1_ratio=ratio, tol=1e-9, max_iter=3000).fit(given, y)
    peer = LogisticRegression(solver="saga", C=0.1, l1_ratio=ratio, tol=1e-9, max_iter=20000).fit(X, y)
    values = [objective(one, X, y, 0.1, ratio) for one in (model, peer)]
    assert values[0] == pytest.approx(values[1], abs=2e-9)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-3)
    assert ((model.coef_ == 0) == (np.abs(peer.coef_) < 1e-6)).mean() > 0.95
    assert model.stop_reason_ in ("tolerance", "rounding")
    assert values[0] == pytest.approx(model.loss_curve_[-1], abs=1e-9)
    assert model.dual_gap_ < 1e-8


@L1_SOLVERS
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_the_gap_is_an_upper_bound_and_closes(
    request: pytest.FixtureRequest, solver: str, intercept: bool, data: str, rng: np.random.Generator
) -> None:
    X, y = request.getfixturevalue(data)
    weight = rng.random(len(y))
    how: dict[str, Any] = {"C": 0.3, "l1_ratio": 1.0, "fit_intercept": intercept}
    best = LogReg("reference", tol=1e-11, max_iter=1000, **how).fit(X, y, sample_weight=weight)
    least = objective(best, X, y, 0.3, 1.0, weight)
    gaps = []
    for most in (1, 3, 10, 40):
        model = fit("reference", X, y, sample_weight=weight, solver=solver, max_iter=most, tol=1e-11, **how)
        above = objective(model, X, y, 0.3, 1.0, weight) - least
        assert above <= model.dual_gap_ + 1e-10
        gaps.append(model.dual_gap_)
    assert gaps[-1] < gaps[0] / 5
    assert best.dual_gap_ < 1e-10


def test_float32_ends_by_the_gap(device: gpuprims.Device, cancer: Data) -> None:
    X, y = cancer[0].astype(np.float32), cancer[1]
    model = LogReg(device, l1_ratio=1, C=0.5).fit(X, y)
    best = LogReg("reference", l1_ratio=1, C=0.5, tol=1e-9).fit(cancer[0], y)
    assert model.coef_.dtype == np.float32
    assert model.stop_reason_ == "tolerance"
    assert 0 < model.dual_gap_ <= 1e-4 * np.log(2)
    assert objective(model, X, y, 0.5, 1.0) - best.loss_curve_[-1] < model.dual_gap_ + 1e-6


def test_a_hessian_of_some_rows(device: gpuprims.Device, rng: np.random.Generator) -> None:
    """Rows sorted by label and size, of which every fourth one gives the second derivatives."""
    n, k = 2**17 + 5, 6
    X = (rng.standard_normal((n, k)) * np.linspace(0.1, 3, n)[:, None]).astype(np.float32)
    y = np.sort(X[:, 0] - X[:, 2] / 2 + rng.logistic(size=n) > 0)
    model = LogReg(device, l1_ratio=0.7, C=1e-3).fit(X, y)
    peer = LogisticRegression(solver="saga", l1_ratio=0.7, C=1e-3, tol=1e-5).fit(X.astype(np.float64), y)
    values = [objective(one, X, y, 1e-3, 0.7) for one in (model, peer)]
    assert values[0] < values[1] + 1e-4
    assert model.n_iter_ < 20


def test_more_weight_is_as_more_samples(iris: Data, rng: np.random.Generator) -> None:
    X, y = iris
    often = rng.integers(0, 4, len(X))
    how: dict[str, Any] = {"l1_ratio": 0.8, "tol": 1e-10}
    weighed = LogReg("reference", **how).fit(X, y, sample_weight=often)
    repeated = LogReg("reference", **how).fit(np.repeat(X, often, axis=0), np.repeat(y, often))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-4)


def test_a_strong_penalty_leaves_the_intercept(cancer: Data) -> None:
    X, y = cancer
    model = LogReg("reference", l1_ratio=1, C=1e-4, tol=1e-8).fit(X, y)
    assert not model.coef_.any()
    assert model.intercept_[0] == pytest.approx(np.log(y.mean() / (1 - y.mean())), abs=1e-3)


def test_penalty_names_the_ratio(cancer: Data) -> None:
    X, y = cancer
    how: dict[str, Any] = {"C": 0.2, "tol": 1e-9}
    for named, given in (
        ({"penalty": "l1"}, {"l1_ratio": 1.0}),
        ({"penalty": "l2"}, {}),
        ({"penalty": None}, {"C": np.inf}),
    ):
        first, second = (fit("reference", X[:, :4], y, **{**how, **one}) for one in (named, given))
        np.testing.assert_array_equal(first.coef_, second.coef_)
    assert not hasattr(fit("reference", X[:, :4], y, penalty="l2"), "dual_gap_")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"penalty": "l1", "l1_ratio": 0.5}, 'penalty="elasticnet"'),
        ({"penalty": "l2", "l1_ratio": 1}, "l1_ratio=0 with"),
        ({"penalty": "l3"}, "penalty="),
        ({"l1_ratio": 1.5}, "l1_ratio="),
        ({"l1_ratio": 0.5, "solver": "lbfgs"}, "l1_ratio=0 with solver='lbfgs'.*'newton-cd', 'fista'"),
        ({"l1_ratio": 0, "solver": "fista"}, "l1_ratio above 0.*'lbfgs'"),
        ({"l1_ratio": 0.5, "C": np.inf, "solver": "newton-cd"}, "a finite C"),
    ],
)
def test_parameters_that_disagree(cancer: Data, wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        LogReg("reference", **wrong).fit(*cancer)


def test_partial_fits_have_no_such_penalty(cancer: Data) -> None:
    with pytest.raises(AttributeError, match="partial_fit") as seen:
        LogReg("reference", l1_ratio=0.5).partial_fit(*cancer, classes=[0, 1])
    assert isinstance(seen.value.__cause__, ArgumentError)
    assert "l1_ratio=0; got an L1 penalty (use fit)" in str(seen.value.__cause__)


def test_too_few_iterations_warn_of_the_gap(cancer: Data) -> None:
    for solver in ("newton-cd", "fista"):
        with pytest.warns(ConvergenceWarning, match="duality gap"):
            model = LogReg("reference", l1_ratio=1, solver=solver, max_iter=1).fit(*cancer)
        assert (model.n_iter_, model.stop_reason_) == (1, "max_iter")
        assert np.isfinite(model.dual_gap_)


def test_the_automatic_solver(cancer: Data, rng: np.random.Generator) -> None:
    wide = rng.standard_normal((30, 600))
    few, many = (fit("reference", X, y, l1_ratio=1, max_iter=20) for X, y in (cancer, (wide, wide[:, 0] > 0)))
    peers = [fit("reference", *cancer, l1_ratio=1, max_iter=20, solver="newton-cd")]
    peers += [fit("reference", wide, wide[:, 0] > 0, l1_ratio=1, max_iter=1000, solver="fista")]
    np.testing.assert_array_equal(few.coef_, peers[0].coef_)
    assert many.loss_curve_[-1] == pytest.approx(peers[1].loss_curve_[-1], abs=1e-4)  # by sets of features


def test_a_callback_and_a_warm_start(cancer: Data) -> None:
    seen: list[Any] = []
    model = fit("reference", *cancer, l1_ratio=1, callback=lambda at: seen.append(at) or at.iteration == 3)
    assert (model.stop_reason_, model.n_iter_, len(seen)) == ("callback", 3, 3)
    assert model.dual_gap_ > 0
    model.set_params(callback=None, warm_start=True, max_iter=100).fit(*cancer)
    assert model.fit(*cancer).n_iter_ <= 1


# Paths ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_a_path_has_each_optimum(device: gpuprims.Device, request: pytest.FixtureRequest, data: str) -> None:
    need_float64(device)
    X, y = request.getfixturevalue(data)
    Cs = [1.0, 0.01, 0.1]
    for ratio in (1.0, 0.0):
        model = LogReg(device, l1_ratio=ratio, tol=1e-8, max_iter=500)
        found = model.path(X, y, Cs)
        for at, C in enumerate(Cs):
            one = LogReg(device, l1_ratio=ratio, tol=1e-8, max_iter=500, C=C).fit(X, y)
            assert found.loss[at] == pytest.approx(one.loss_curve_[-1], abs=1e-7)
            assert (found.coef[at].shape, found.intercept[at].shape) == (one.coef_.shape, one.intercept_.shape)
        assert (np.isnan(found.dual_gap) if ratio == 0 else found.dual_gap < 1e-7).all()


def test_paths_of_no_penalties() -> None:
    for wrong in ([], [0.0], [[1.0]], [-1]):
        with pytest.raises(ArgumentError, match="Cs="):
            LogReg("reference").path([[0.0], [1.0]], [0, 1], wrong)


def test_a_curvature_that_rounding_made_negative_overflows_in_silence() -> None:
    matrix = np.array([[1.0, 2.0], [2.0, 1.0]])  # along (1, -1) the function falls without bound
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = lasso.minimise(matrix, np.array([1.0, -1.0]), 0.1, np.zeros(2), 1e-12)
    assert np.isfinite(found).all()
    assert np.abs(found).max() > 1e100
