"""Fits of few samples in one launch: scikit-learn's optimum, and L-BFGS where somebody watches or rounding ends it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from logreg_cases import need_float64
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.models import LogReg
from gpuprims.models.in_place import reads_in_place
from gpuprims.models.logreg import newton, one_launch


@pytest.fixture
def no_lbfgs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> str:
        raise AssertionError("L-BFGS was called")

    monkeypatch.setattr(newton, "lbfgs", refuse)


def made(rng: np.random.Generator, n: int, k: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, k)) * np.geomspace(0.01, 100, k) + 1
    return X.astype(dtype), (X @ rng.standard_normal(k) / X.std(axis=0).mean() + rng.logistic(size=n) > 0).astype(int)


def objective(X: np.ndarray, y: np.ndarray, model: Any, weights: np.ndarray, C: float) -> float:
    coef, X = model.coef_[0].astype(np.float64), X.astype(np.float64)
    scores = X @ coef + float(model.intercept_[0])
    return float(weights @ (np.logaddexp(0, scores) - y * scores) + coef @ coef / (2 * C))


@pytest.mark.usefixtures("no_lbfgs")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(500, 8), (300, 20), (7, 12)])
@pytest.mark.parametrize("C", [1e-9, 0.7, 1e3])
def test_scikit_learns_optimum(
    device: gpuprims.Device, rng: np.random.Generator, dtype: Any, shape: tuple[int, int], C: float
) -> None:
    need_float64(device)
    X, y = made(rng, *shape, dtype)
    weights = rng.random(len(y)) + 0.1
    model = LogReg(device, C=C).fit(X, y, weights)
    peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=500)
    peer.fit(X.astype(np.float64), y, weights)
    best, got = (objective(X, y, one, weights, C) for one in (peer, model))
    assert got <= best * (1 + 1e-6)
    assert model.stop_reason_ == "tolerance"
    assert model.coef_.dtype == dtype
    assert model.loss_iterations_ == [model.n_iter_]
    assert model.loss_curve_[0] == pytest.approx(got / weights.sum(), rel=1e-5)


@pytest.mark.usefixtures("no_lbfgs")
def test_too_few_iterations_warn(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = made(rng, 200, 5, np.float32)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = LogReg(device, max_iter=1).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (1, "max_iter")


@pytest.mark.parametrize("how", ["callback", "target_error", "warm_start", "classes", "many", "separable"])
def test_other_fits_are_left_to_lbfgs(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    called: list[str] = []
    own = newton.lbfgs

    def noted(*given: Any) -> str:
        called.append(how)
        return own(*given)

    X, y = made(rng, 200, 5, np.float32)
    parameters: dict[str, dict[str, Any]] = {
        "callback": {"callback": lambda one: False},
        "target_error": {"target_error": 0.01},
        "warm_start": {"warm_start": True},
        "separable": {"C": np.inf, "max_iter": 60},
    }
    if how == "classes":
        y = np.arange(200) % 3
        monkeypatch.setattr(one_launch, "_MOST_OF_CLASSES", 0)
    if how == "separable":
        y = (X[:, 4] > 0).astype(int)
    if how == "many":
        monkeypatch.setattr(one_launch, "MOST_PRODUCTS", 200 * 36 - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogReg(device, **parameters.get(how, {}))
        if how == "warm_start":
            model.fit(X, y)
        monkeypatch.setattr(newton, "lbfgs", noted)
        model.fit(X, y)
    assert called == [how]


def test_features_of_every_scale_end_within_1e_6(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need_float64(device)
    X = rng.standard_normal((400, 6)) * np.array([1e-8, 1e8, 1, 1e4, 1e-4, 1]) + np.array([0, 1e8, 1e4, 0, 0, 1])
    y = (X[:, 2] - 1e4 + rng.logistic(size=400) > 0).astype(int)
    model = LogReg(device, C=np.inf).fit(X, y)
    scaled, ones = (X - X.mean(axis=0)) / X.std(axis=0), np.ones(400)
    peer = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(scaled, y)
    best = objective(scaled, y, peer, ones, np.inf)  # the same minimum, because there is no penalty
    assert objective(X, y, model, ones, np.inf) <= best * (1 + 1e-6)


# Several classes -----------------------------------------------------------------------------------------------------


def loss_of_classes(X: np.ndarray, y: np.ndarray, model: Any, weights: np.ndarray, C: float) -> float:
    coef = model.coef_.astype(np.float64)
    losses = -log_softmax(X.astype(np.float64) @ coef.T + model.intercept_, axis=1)[np.arange(len(y)), y]
    return float(weights @ losses + (coef * coef).sum() / (2 * C))


@pytest.mark.usefixtures("no_lbfgs")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", [{}, {"C": 1e-9}, {"C": 1e3}, {"fit_intercept": False}])
def test_newtons_method_of_several_classes(
    device: gpuprims.Device, rng: np.random.Generator, dtype: Any, how: dict[str, Any]
) -> None:
    if not reads_in_place(device):
        pytest.skip("kernels that work in the host's memory")
    X = (rng.standard_normal((150, 5)) * np.geomspace(0.1, 100, 5) + 1).astype(dtype)
    y = np.argmax(
        (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal((5, 4)) + rng.gumbel(size=(150, 4)), axis=1
    )
    weights = rng.random(150) + 0.1
    model = LogReg(device, **how).fit(X, y, weights)
    peer = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=500, **how)
    peer.fit(X.astype(np.float64), y, weights)
    best, got = (loss_of_classes(X, y, one, weights, how.get("C", 1.0)) for one in (peer, model))
    assert got <= best * (1 + 1e-6)
    assert model.stop_reason_ == "tolerance"
    assert model.coef_.dtype == dtype
    assert model.n_iter_ == len(model.loss_curve_) < 20


@pytest.mark.usefixtures("no_lbfgs")
@pytest.mark.parametrize("seed", range(4))
def test_float32_of_every_scale_comes_near_the_optimum(device: gpuprims.Device, seed: int) -> None:
    """L-BFGS ends 8 % above it; Newton's method in float64 leaves what rounding to float32 takes from the weights."""
    if not reads_in_place(device):
        pytest.skip("kernels that work in the host's memory")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 6))
    y = np.argmax(X[:, :3] + rng.gumbel(size=(300, 3)), axis=1)
    X = (X * [1e-8, 1e8, 1, 1e-4, 1e4, 1]).astype("f4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogReg(device).fit(X, y)
        exact = LogReg(device, tol=1e-9).fit(X.astype("f8"), y)
    best, got = (loss_of_classes(X, y, one, np.ones(300), 1.0) for one in (exact, model))
    assert got <= best * (1 + 1e-4)
    assert got <= best * (1 + 1e-6) or model.stop_reason_ == "stalled"
    assert model.coef_.dtype == np.float32


@pytest.mark.parametrize("more", [0, 1])
def test_more_products_are_left_to_lbfgs(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    if not reads_in_place(device):
        pytest.skip("kernels that work in the host's memory")
    X, y = rng.standard_normal((60, 3)).astype("f4"), np.arange(60) % 3
    monkeypatch.setattr(one_launch, "_MOST_OF_CLASSES", 60 * 12**2 - more)
    called: list[str] = []
    for name in ("newton_cholesky", "lbfgs"):
        monkeypatch.setattr(newton, name, lambda *_, name=name: (called.append(name), "tolerance")[1])
    LogReg(device).fit(X, y)
    assert called == [("newton_cholesky", "lbfgs")[more]]


def test_a_point_is_computed_once() -> None:
    points: list[np.ndarray] = []

    def function(point: np.ndarray) -> tuple[float, np.ndarray]:
        points.append(point)
        return float(point @ point), 2 * point

    once = newton._Once(function)
    for point in ([1.0, 2.0], [1.0, 2.0], [3.0, 4.0]):
        assert once.value(np.array(point)) == np.dot(point, point)
        np.testing.assert_array_equal(once.gradient(np.array(point)), 2 * np.array(point))
    assert len(points) == 2
