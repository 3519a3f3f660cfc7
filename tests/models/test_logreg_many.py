"""Penalties and targets over the same samples, fitted side by side by products of matrices, beside float64 oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from newton_cases import fit_oracle
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.models import LogReg, LogRegBatch
from gpuprims.models.logreg import batch, lbfgs_side_by_side, paths, shared
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.samples import samples_of

PENALTIES = np.logspace(-3, 3, 18)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no problem fit in local memory."""
    monkeypatch.setattr(batch, "able_to_fit", lambda *_: False)
    monkeypatch.setattr(paths, "MOST_PRODUCTS", 0)
    monkeypatch.setattr(paths, "SIDE_BY_SIDE", 0)


def made(rng: np.random.Generator, n: int = 300, k: int = 7, targets: int = 18) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, k)) * np.geomspace(0.1, 10, k) + 1
    scores = (X - 1) / np.geomspace(0.1, 10, k) @ rng.standard_normal((k, targets)) + np.linspace(-2, 2, targets)
    return X.astype(np.float32), (scores + rng.logistic(size=(n, targets)) > 0).astype(int)


def assert_optimal(model: LogRegBatch, X: Any, labels: Any, C: Any, weights: Any = None, **how: Any) -> None:
    """Compare each problem with the oracle, in units of standard errors."""
    assert model.converged_.all(), model.stop_reason_
    for problem in range(len(model.coef_)):
        own = labels(problem), np.broadcast_to(C, len(model.coef_))[problem]
        given = None if weights is None else weights(problem)
        expected, errors, loss = fit_oracle(X(problem), *own, given, **how)
        got, found = model.coef_[problem], model.inference_.standard_errors[problem]
        if how.get("fit_intercept", True):
            got = np.append(got, model.intercept_[problem])
            found = np.append(found, model.inference_.intercept_standard_errors[problem])
        np.testing.assert_allclose(got / errors, expected / errors, atol=1e-4)
        np.testing.assert_allclose(found, errors, rtol=1e-3)
        np.testing.assert_allclose(model.loss_[problem], loss, rtol=2e-6)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["penalties", "targets", "weights"])
def test_a_batch_over_the_same_samples(
    device: gpuprims.Device, rng: np.random.Generator, kind: str, fit_intercept: bool
) -> None:
    X, y = made(rng)
    weights = rng.integers(0, 3, y.shape).astype(np.float32) if kind == "weights" else None
    labels = y[:, 4] if kind == "penalties" else y
    model = LogRegBatch(device, C=PENALTIES, fit_intercept=fit_intercept).fit(X, labels, weights)
    own = None if weights is None else (lambda problem: weights[:, problem])
    assert_optimal(
        model, lambda _: X, lambda problem: labels if labels.ndim == 1 else labels[:, problem], PENALTIES, own,
        fit_intercept=fit_intercept,
    )  # fmt: skip


@pytest.mark.usefixtures("large")
def test_batches_of_own_and_of_ragged_samples(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = made(rng, targets=1)
    model = LogRegBatch(device, C=[1, 2, np.inf]).fit(X.reshape(3, 100, 7), y.reshape(3, 100))
    assert_optimal(model, lambda b: X.reshape(3, 100, 7)[b], lambda b: y.reshape(3, 100)[b], [1, 2, np.inf])
    offsets = [0, 80, 80, 300]
    with pytest.warns(ConvergenceWarning, match="one class in problem 1"):
        ragged = LogRegBatch(device).fit(X, y[:, 0], offsets=offsets)
    for problem in (0, 2):
        some = slice(*offsets[problem : problem + 2])
        expected, errors, _ = fit_oracle(X[some], y[some, 0])
        np.testing.assert_allclose(ragged.coef_[problem] / errors[:-1], (expected / errors)[:-1], atol=1e-4)


@pytest.mark.usefixtures("large")
def test_features_far_from_zero_are_fitted_in_float64(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    X, y = made(rng, targets=2)
    X = X + np.float32(3e3)
    assert_optimal(LogRegBatch(device, C=np.inf).fit(X, y), lambda _: X, lambda problem: y[:, problem], np.inf)


@pytest.mark.usefixtures("large")
def test_problems_without_a_fit(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = made(rng, targets=4)
    y[:, 1], y[:, 2] = 1, X[:, 0] > np.median(X[:, 0])
    with pytest.warns(ConvergenceWarning) as told:
        model = LogRegBatch(device, C=np.inf).fit(X, y)
    assert model.stop_reason_.tolist() == ["tolerance", "one_class", "separable", "tolerance"]
    assert "one class in problem 1," in str(told[0].message)
    assert np.isnan(model.coef_[1]).all()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations"):
        LogRegBatch(device, max_iter=1).fit(X, y[:, [0, 3]])
    constant = np.hstack([X, np.full((len(X), 1), 3, np.float32)])
    model = LogRegBatch(device, C=np.inf).fit(constant, y[:, :1])
    assert np.isnan(model.inference_.standard_errors[0, -1])
    np.testing.assert_allclose(model.coef_[0, :-1], fit_oracle(X, y[:, 0], np.inf)[0][:-1], rtol=1e-3)
    for wrong, message in (
        ((np.where(np.arange(7) == 3, np.nan, X), y), "finite features; got NaN or infinity in problem"),
        ((X, y + 1), "labels 0 and 1, or bools; got other ones in problems 0"),
        ((X, y, -np.ones(len(X))), "sample_weight= of finite numbers"),
    ):
        with pytest.raises(ArgumentError, match=message):
            LogRegBatch(device).fit(*wrong)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_path_side_by_side(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    X, y = made(rng, n=500)
    weights = rng.random(500) + 0.1
    seen: list[int] = []
    own = lbfgs_side_by_side.minimise
    monkeypatch.setattr(lbfgs_side_by_side, "minimise", lambda *given: seen.append(len(given[2])) or own(*given))
    monkeypatch.setattr(lbfgs_side_by_side, "MOST_TOGETHER", 10)
    path = LogReg("reference", tol=1e-6, max_iter=300).path(X.astype(dtype), y[:, 9], PENALTIES, sample_weight=weights)
    assert seen == [10, 8]
    assert set(path.stop_reason) == {"tolerance"}
    for at, C in enumerate(PENALTIES):
        peer = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10).fit(X.astype(float), y[:, 9], weights)
        scores = X @ path.coef[at, 0].astype(float) + path.intercept[at], X @ peer.coef_[0] + peer.intercept_
        np.testing.assert_allclose(*scores, atol=2e-3)


def test_what_many_passes_leave_goes_on_alone(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lbfgs_side_by_side, "_MOST_PASSES", 2)
    monkeypatch.setattr(paths, "MOST_PRODUCTS", 0)
    X, y = made(rng)
    path = LogReg(device, tol=1e-5, max_iter=300).path(X, y[:, 0], PENALTIES)
    assert set(path.stop_reason) == {"tolerance"}
    last = LogReg(device, tol=1e-5, max_iter=300, C=PENALTIES[-1]).fit(X, y[:, 0])
    assert path.loss[-1] == pytest.approx(last.loss_curve_[-1], rel=1e-5)


@pytest.mark.parametrize("problems", [3, 17])
def test_sums_and_hessians_by_slabs(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, problems: int) -> None:
    monkeypatch.setattr(shared, "_SCORE_BYTES", 70 * problems * 8)
    monkeypatch.setattr(shared, "_PAIR_BYTES", 40 * 9 * 8)
    monkeypatch.setattr(shared, "_PAIR_COLUMNS", 3)
    X, y = made(rng, targets=problems)
    model = LogReg("reference")
    samples = samples_of(model, X.astype(float), y[:, 0], None)
    rows = shared.SharedRows(samples, y.astype(float), fit_intercept=True)
    flat = rng.standard_normal((problems, 8)) / 5
    losses, gradients = rows.sums(flat)
    hessians = rows.hessians(flat)
    for at in range(problems):
        one = Objective(samples_of(model, X.astype(float), y[:, at], None), 1, 0.0, fit_intercept=True)
        value, gradient = one.loss_gradient(flat[at])
        np.testing.assert_allclose(losses[at], value * 300, rtol=1e-9)
        np.testing.assert_allclose(gradients[at], gradient * 300, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(hessians[at], one.hessian(flat[at]) * 300, rtol=1e-7, atol=1e-6)
