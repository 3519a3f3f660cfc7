"""Oracles of batches of logistic regressions: Newton's method in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.primitives.newton import ENDS


def fit_oracle(
    X: Any, y: Any, C: float = 1.0, sample_weight: Any = None, *, fit_intercept: bool = True
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return weights, standard errors and loss of one problem; the intercept is the last weight."""
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    mean = X.mean(axis=0) if fit_intercept else np.zeros(X.shape[1])
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    rows = np.hstack([(X - mean) / scale, np.ones((len(X), int(fit_intercept)))])
    counts = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    ridge = np.append(scale**-2.0 / C, np.zeros(int(fit_intercept)))

    def function(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = rows @ w
        residuals = counts * (np.exp(-np.logaddexp(0, -z)) - y)
        return counts @ (np.logaddexp(0, z) - y * z) + ridge @ w**2 / 2, rows.T @ residuals + ridge * w

    def hessian(w: np.ndarray) -> Any:
        z = rows @ w
        slopes = counts * np.exp(-np.logaddexp(0, -z) - np.logaddexp(0, z))
        return rows.T @ (rows * slopes[:, None]) + np.diag(ridge)

    def inverse(matrix: np.ndarray) -> Any:
        units = np.diag(matrix) ** -0.5  # of the rows and columns, so that features of any size are alike
        return np.linalg.inv(matrix * np.outer(units, units)) * np.outer(units, units)

    weights = np.zeros(rows.shape[1])
    for _ in range(100):
        loss, gradient = function(weights)
        step = inverse(hessian(weights)) @ gradient
        part = 1.0
        while part > 1e-9 and not function(weights - part * step)[0] <= loss:
            part /= 2
        weights = weights - part * step
    back = np.diag(np.append(1 / scale, np.ones(int(fit_intercept))))
    if fit_intercept:
        back[-1, :-1] = -mean / scale
    variances = np.diag(back @ inverse(hessian(weights)) @ back.T)
    return back @ weights, np.sqrt(variances), function(weights)[0]


def assert_fitted(got: Any, X: Any, y: Any, C: Any = 1.0, sample_weight: Any = None, **how: Any) -> None:
    """Compare the results of a batch with the oracle: weights within a part of their standard errors."""
    weights, losses, ends = (np.asarray(one) for one in got)
    wide = np.float64 if weights.dtype == np.float64 else np.float32
    assert weights.dtype == losses.dtype == wide
    fine = X.dtype == np.float64
    for problem in range(len(weights)):
        rows = X if X.ndim == 2 else X[problem]
        labels = y if np.ndim(y) == 1 else y[problem]
        counts = sample_weight if np.ndim(sample_weight) < 2 else sample_weight[problem]
        own = C if np.ndim(C) == 0 else C[problem]
        expected, errors, loss = fit_oracle(rows, labels, own, counts, **how)
        assert ENDS[ends[problem, 0]] in ("tolerance", "rounding")
        assert 0 <= ends[problem, 1] < 50
        np.testing.assert_allclose(weights[problem, 0] / errors, expected / errors, atol=1e-6 if fine else 1e-4)
        np.testing.assert_allclose(weights[problem, 1], errors, rtol=1e-4 if fine else 1e-3)
        np.testing.assert_allclose(losses[problem], loss, rtol=1e-7 if fine else 2e-6)
