"""LogReg on bad data: no fit ends far above the minimum without a warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from logreg_cases import Data, fit, need_float64
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.models import LogReg, LogRegCV

HARD = ("plain", "separable", "constant", "twins", "one of a class", "scales", "wide", "far")
HOW = ({"solver": "lbfgs"}, {"solver": "newton-cholesky"}, {"l1_ratio": 1.0}, {"l1_ratio": 0.5, "solver": "fista"})


def hard_data(kind: str) -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    y = (X[:, 0] - X[:, 1] + rng.logistic(size=300) > 0).astype(int)
    if kind == "separable":
        y = (X[:, 0] > 0).astype(int)
    elif kind == "constant":
        X[:, 2], X[:, 3] = 3.0, 0.0
    elif kind == "twins":
        X[:, 3] = X[:, 4] = X[:, 0]
    elif kind == "one of a class":
        y = (np.arange(300) == 7).astype(int)
    elif kind == "scales":
        X = X * [1e-8, 1e8, 1, 1e-4, 1e4, 1]
    elif kind == "wide":
        X, y = rng.standard_normal((5, 36)), np.array([0, 1, 0, 1, 1])
    elif kind == "far":
        X = X + 1e4
    return X, y


def objective(X: np.ndarray, y: np.ndarray, model: Any, C: float, ratio: float) -> float:
    coef = model.coef_[0].astype(np.float64)
    scores = X.astype(np.float64) @ coef + float(model.intercept_[0])
    penalty = ratio * np.abs(coef).sum() + (1 - ratio) / 2 * (coef @ coef)
    return float((np.logaddexp(0, scores) - y * scores).sum() + penalty / C) / len(y)


def fit_and_warn(device: Any, X: np.ndarray, y: np.ndarray, **how: Any) -> tuple[LogReg, bool]:
    """Return a model and whether its fit warned; any other warning is an error."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = LogReg(device, **how).fit(X, y)
    assert all(issubclass(one.category, ConvergenceWarning) for one in seen), [str(one.message) for one in seen]
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    return model, bool(seen)


@pytest.mark.parametrize("how", HOW, ids=lambda how: how.get("solver", "newton-cd"))
@pytest.mark.parametrize("C", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_optimum_or_a_warning(
    device: gpuprims.Device, kind: str, dtype: str, C: float, how: dict[str, Any]
) -> None:
    need_float64(device)
    X, y = hard_data(kind)
    X = X.astype(dtype)
    model, warned = fit_and_warn(device, X, y, C=C, **how)
    ratio = how.get("l1_ratio", 0.0)
    found = objective(X, y, model, C, ratio)
    if ratio:
        assert warned or model.dual_gap_ <= 1e-4 * np.log(2) + 1e-12
        # Any point is above the minimum, so one that is lower by more than the gap would refute it.
        other = fit("reference", X.astype("f8"), y, C=C, l1_ratio=ratio, tol=1e-9, max_iter=500)
        assert found - objective(X, y, other, C, ratio) <= model.dual_gap_ + 1e-6
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(X.astype("f8"), y)
        best = objective(X, y, peer, C, 0.0)
        # A gradient of tol=1e-4 is at most this far above the minimum where classes are separable and nearly free.
        assert warned or found <= best * (1 + 1e-4) + (2e-3 if C == 1e9 else 1e-7)


@pytest.mark.parametrize("how", [*HOW, {"solver": "gd"}], ids=lambda how: how.get("solver", "newton-cd"))
def test_twins_share_and_constants_are_nothing(how: dict[str, Any]) -> None:
    X, y = hard_data("twins")
    X[:, 5] = 2.0
    model, _ = fit_and_warn("reference", X, y, max_iter=500, **how)
    if how.get("l1_ratio", 0) == 0:
        np.testing.assert_allclose(model.coef_[0, [3, 4]], model.coef_[0, 0], atol=1e-3)
    exact = how.get("solver") == "newton-cholesky" or "l1_ratio" in how
    assert model.coef_[0, 5] == pytest.approx(0, abs=1e-6 if exact else 0.1)


@pytest.mark.parametrize("kind", [LogReg, LogRegCV])
def test_weights_that_are_not_finite(cancer: Data, kind: Any) -> None:
    for wrong, words in ((np.nan, "NaN"), (np.inf, "infinity"), (-1.0, "not negative")):
        weight = np.ones(len(cancer[1]))
        weight[3] = wrong
        with pytest.raises(ArgumentError, match=words):
            kind("reference").fit(*cancer, sample_weight=weight)


def test_labels_that_no_class_has(cancer: Data) -> None:
    X, y = cancer
    model = LogReg("reference").partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy()
    for labels in (np.full(len(y), 2), np.where(y > 0, 1, -1), np.full(len(y), 0.5)):
        with pytest.raises(ArgumentError, match=r"labels among 0, 1; got|Unknown label type"):
            model.partial_fit(X, labels)
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ArgumentError, match=r"labels of the classes' type|labels among"):
        model.partial_fit(X, y.astype(str))


def test_more_classes_than_samples_of_some(device: gpuprims.Device) -> None:
    need_float64(device)
    X = np.random.default_rng(0).standard_normal((7, 20))
    y = np.array([0, 1, 2, 3, 3, 3, 3])
    for how in ({}, {"l1_ratio": 1.0}, {"l1_ratio": 0.5, "solver": "fista", "max_iter": 1000}):
        model, _ = fit_and_warn(device, X, y, C=10.0, **how)
        assert model.score(X, y) == 1.0
