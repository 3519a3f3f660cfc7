"""Samples for logistic regression, and oracles: gradients, descent, and descent by single samples."""

from __future__ import annotations

from typing import Any

import numpy as np


def samples(rng: np.random.Generator, n: int, k: int, dtype: Any, *, intercept: bool = False) -> list[np.ndarray]:
    """Return X, y and weights of margins around 1."""
    X, weights = rng.standard_normal((n, k)), rng.standard_normal(k + intercept) / np.sqrt(k)
    return [a.astype(dtype) for a in (X, rng.random(n) < 0.4, weights)]


def logistic_oracle(X: Any, y: Any, weights: Any, shares: Any = None) -> tuple[Any, np.ndarray]:
    """Return a logistic loss and its gradient in float64; an extra weight is the intercept."""
    X, y, weights = (np.asarray(a, np.float64) for a in (X, y, weights))
    X = np.concatenate([X, np.ones((len(X), len(weights) - X.shape[1]))], axis=1)
    shares = np.ones(len(y)) if shares is None else np.asarray(shares, np.float64)
    z = X @ weights
    small = np.exp(-np.abs(z))
    errors = np.where(z >= 0, 1, small) / (1 + small) - y
    return (shares * (np.logaddexp(0, z) - y * z)).sum(), X.T @ (shares * errors)


def assert_logistic(got: Any, X: np.ndarray, *others: Any) -> None:
    """Compare a loss and a gradient with NumPy in float64, within some roundings of the terms."""
    loss, gradient = (np.asarray(one) for one in got)
    assert loss.dtype == gradient.dtype == others[0].dtype
    assert loss.shape == ()
    expected = logistic_oracle(X, *others)
    eps = float(np.finfo(others[0].dtype).eps)
    np.testing.assert_allclose(loss, expected[0], rtol=64 * eps)
    room = 16 * eps * (1 + np.abs(X.astype(np.float64)).sum(0).max())
    np.testing.assert_allclose(gradient, expected[1], atol=room, rtol=64 * eps)


def descent_oracle(
    X: Any, y: Any, weights: Any, shares: Any = None, *, rate: float, steps: int, decay: float = 0.0
) -> np.ndarray:
    """Return the weights after gradient descent in float64."""
    weights = np.array(weights, np.float64)
    coefficients = np.arange(len(weights)) < np.shape(X)[1]
    for _ in range(steps):
        weights -= decay * coefficients * weights + rate * logistic_oracle(X, y, weights, shares)[1]
    return weights


def assert_descended(got: Any, *given: Any, **how: Any) -> None:
    """Compare weights after gradient descent with NumPy in float64, within some roundings of the largest."""
    expected = descent_oracle(*given, **how)
    assert got.dtype == given[0].dtype
    np.testing.assert_allclose(got, expected, rtol=0, atol=32 * np.finfo(got.dtype).eps * np.abs(expected).max())


def descended(
    X: Any, y: Any, weights: Any, order: Any, *, rate: Any, keep: Any = 1.0, shares: Any = None
) -> np.ndarray:
    """Return the weights after descent by single samples in float64; an extra weight is the intercept."""
    X, y, weights = (np.array(a, np.float64) for a in (X, y, weights))
    rates, keeps = np.broadcast_arrays(np.atleast_1d(rate), np.atleast_1d(keep))
    shares, k = np.ones(len(y)) if shares is None else np.asarray(shares, np.float64), X.shape[1]
    for step, number in enumerate(order):
        pace = step * len(rates) // len(order)
        z = X[number] @ weights[:k] + weights[k:].sum()
        moved = rates[pace] * shares[number] * (np.exp(-np.logaddexp(0, -z)) - y[number])
        weights[:k] = keeps[pace] * weights[:k] - moved * X[number]
        weights[k:] -= moved
    return weights


def assert_descent(got: Any, X: np.ndarray, y: Any, weights: Any, order: Any, **how: Any) -> None:
    """Compare weights after descent by single samples with NumPy, within some roundings of the largest."""
    expected = descended(X, y, weights, order, **how)
    got = np.asarray(got)
    assert got.dtype == X.dtype
    assert got.shape == expected.shape
    went = 1 + float(np.abs(weights).max()) + float(np.abs(expected).max())
    np.testing.assert_allclose(got, expected, atol=64 * float(np.finfo(X.dtype).eps) * went)
