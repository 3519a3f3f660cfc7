"""LogRegBatch beside scikit-learn's newton-cholesky in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import on_device, on_host
from newton_cases import fit_oracle
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.models import LogRegBatch


def problems(rng: np.random.Generator, B: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    X, weights = rng.standard_normal((B, n, k)), rng.standard_normal((B, k)) / np.sqrt(k)
    return X.astype("f4"), (np.einsum("bnk,bk->bn", X, weights) + rng.logistic(size=(B, n)) > 0).astype(int)


def peer(X: Any, y: Any, C: float = 1.0, **how: Any) -> LogisticRegression:
    """Return scikit-learn's model in float64, to a much smaller gradient."""
    return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000, **how).fit(
        np.asarray(X, np.float64), y
    )


def assert_like(model: Any, problem: int, expected: LogisticRegression) -> None:
    np.testing.assert_allclose(model.coef_[problem], expected.coef_[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.intercept_[problem], expected.intercept_[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_equal_problems(device: gpuprims.Device, fit_intercept: bool, rng: np.random.Generator) -> None:
    X, y = problems(rng, 5, 150, 4)
    model = LogRegBatch(device, fit_intercept=fit_intercept).fit(X, y)
    assert model.converged_.all()
    assert model.n_features_in_ == 4
    for problem in range(5):
        expected = peer(X[problem], y[problem], fit_intercept=fit_intercept)
        assert_like(model, problem, expected)
        np.testing.assert_allclose(model.predict_proba(X)[problem], expected.predict_proba(X[problem])[:, 1], atol=1e-5)
        np.testing.assert_array_equal(model.predict(X)[problem], expected.predict(X[problem]))
        np.testing.assert_allclose(
            model.decision_function(X)[problem], expected.decision_function(X[problem]), atol=1e-4
        )


def test_shared_samples_many_targets_and_many_penalties(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, _ = problems(rng, 1, 200, 3)
    y = (X[0] @ rng.standard_normal((3, 6)) + rng.logistic(size=(200, 6)) > 0).astype(int)
    C = np.logspace(-2, 2, 6)
    model = LogRegBatch(device, C=C).fit(X[0], y)
    path = LogRegBatch(device, C=C).fit(X[0], y[:, 0])
    for problem in range(6):
        assert_like(model, problem, peer(X[0], y[:, problem], C[problem]))
        assert_like(path, problem, peer(X[0], y[:, 0], C[problem]))
    assert model.predict(X[0]).shape == (200, 6)
    np.testing.assert_array_equal(model.predict(X[0])[:, 2], peer(X[0], y[:, 2], C[2]).predict(X[0]))


def test_ragged_problems_and_weights(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = problems(rng, 1, 300, 2)
    offsets, weights = np.array([0, 60, 190, 300]), rng.integers(0, 3, 300)
    model = LogRegBatch(device).fit(X[0], y[0], weights, offsets=offsets)
    scores = model.decision_function(X[0], offsets=offsets)
    for problem in range(3):
        rows = slice(*offsets[problem : problem + 2])
        expected = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(
            X[0, rows].astype(float), y[0, rows], weights[rows]
        )
        assert_like(model, problem, expected)
        np.testing.assert_allclose(scores[rows], expected.decision_function(X[0, rows]), atol=1e-4)


def test_samples_on_the_device_stay_there(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = problems(rng, 3, 80, 4)
    given = on_device(device, X)
    for labels in (y, y.astype(bool), on_device(device, y.astype("f4"))):
        model = LogRegBatch().fit(given, labels)
        np.testing.assert_allclose(model.coef_, LogRegBatch(device).fit(X, y).coef_, rtol=1e-5, atol=1e-6)
    got = model.predict_proba(given)
    assert type(got) is type(given)
    np.testing.assert_allclose(on_host(device, got), LogRegBatch(device).fit(X, y).predict_proba(X), atol=1e-6)


def test_inference(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = problems(rng, 2, 400, 3)
    for C in (np.inf, 0.5):
        model = LogRegBatch(device, C=C).fit(X, y)
        for problem in range(2):
            weights, errors, loss = fit_oracle(X[problem], y[problem], C)
            found = model.inference_
            np.testing.assert_allclose(found.standard_errors[problem], errors[:-1], rtol=1e-3)
            np.testing.assert_allclose(found.intercept_standard_errors[problem], errors[-1], rtol=1e-3)
            np.testing.assert_allclose(found.z[problem], weights[:-1] / errors[:-1], rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(model.loss_[problem], loss, rtol=1e-5)
    known = LogRegBatch("reference", C=np.inf).fit([[[0], [0], [0], [1], [1], [1]]], [[0, 0, 1, 0, 1, 1]])
    np.testing.assert_allclose(known.inference_.standard_errors, np.sqrt(3), rtol=1e-6)
    np.testing.assert_allclose(known.inference_.p_values, 0.423492, atol=1e-6)  # of z = 2 log(2) / sqrt(3)


@pytest.mark.parametrize("C", [1e-9, 1e9])
def test_extreme_penalties(device: gpuprims.Device, C: float, rng: np.random.Generator) -> None:
    X, y = problems(rng, 2, 200, 3)
    X[1] *= np.float32([1e-3, 1, 1e3])
    model = LogRegBatch(device, C=C).fit(X, y)
    for problem in range(2):
        weights, _, _ = fit_oracle(X[problem], y[problem], C)
        np.testing.assert_allclose(model.coef_[problem], weights[:-1], rtol=1e-3, atol=1e-12)
        np.testing.assert_allclose(model.intercept_[problem], weights[-1], rtol=1e-3, atol=1e-5)


def test_problems_without_a_fit_warn(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = problems(rng, 3, 60, 2)
    y[1] = 1
    with pytest.warns(ConvergenceWarning, match="LogRegBatch: labels of both classes .* one class in problem 1, which"):
        model = LogRegBatch(device).fit(X, y)
    assert model.stop_reason_[1] == "one_class"
    assert model.converged_.tolist() == [True, False, True]
    assert np.isnan(model.coef_[1]).all()
    assert np.isnan(model.predict_proba(X)[1]).all()
    assert_like(model, 0, peer(X[0], y[0]))
    y[1] = X[1, :, 0] > 0
    with pytest.warns(ConvergenceWarning, match="a plane separates in problem 1, whose weights grow"):
        LogRegBatch(device, C=np.inf).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 iterations; got more in problems 0, 1, 2 \(raise"):
        LogRegBatch(device, max_iter=1).fit(X, y)


def test_invalid_samples_are_refused(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = problems(rng, 3, 40, 2)
    model = LogRegBatch(device)
    with pytest.raises(ArgumentError, match="finite features; got NaN or infinity in problem 2 "):
        model.fit(np.where(np.arange(3)[:, None, None] == 2, np.nan, X), y)
    with pytest.raises(ArgumentError, match="labels 0 and 1, or bools; got other ones in problems 0, 1, 2"):
        model.fit(X, y + 1)
    with pytest.raises(DtypeError, match="labels 0 and 1, or bools; got dtype <U3"):
        model.fit(X, np.where(y, "yes", "no"))
    with pytest.raises(ArgumentError, match="sample_weight= of finite numbers that are not negative"):
        model.fit(X, y, -np.ones(40))
    with pytest.raises(ShapeError, match=r"y of shape \(3, 40\) or \(40,\), for X of \(3, 40, 2\); got \(3, 39\)"):
        model.fit(X, y[:, :-1])
    with pytest.raises(ArgumentError, match="C= above 0"):
        LogRegBatch(device, C=[1, 0, 1]).fit(X, y)
    with pytest.raises(ShapeError, match="2 features, as in the fit; got 1"):
        model.fit(X, y).predict(X[:, :, :1])
    with pytest.raises(NotFittedError):
        LogRegBatch().predict(X)


def test_it_is_an_estimator() -> None:
    model = LogRegBatch("reference", C=[1, 2], tol=1e-3)
    assert clone(model).get_params() == model.get_params()
    assert "tol=0.001" in repr(model)
    with pytest.raises(ArgumentError, match="parameters among"):
        model.set_params(c=1)
