"""newton in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.primitives.newton.ends import ENDS

_HALVINGS, _IDLE, _GAP = 30, 3, 1e-6


def newton_numpy(
    spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, problems: int, n: int, *more: int
) -> None:
    """Fit the problems one after the other, in float64."""
    samples, labels, settings, *others = memories[: len(spec.inputs)]
    fits, losses, ends = memories[len(spec.inputs) :]
    weights = others.pop(0) if spec.weighted else None
    tolerated, penalties = float(settings[0]), settings[1:]
    for problem in range(problems):
        if spec.ragged:
            rows = slice(*others[0][problem : problem + 2])
            X, y, s = samples[rows], labels[rows], None if weights is None else weights[rows]
        else:
            X = samples if samples.ndim == 2 else samples[problem]
            y = labels if labels.ndim == 1 else labels[problem]
            s = weights if weights is None or weights.ndim == 1 else weights[problem]
        penalty = float(penalties[problem * more[3]])
        end, iterations, loss, fit = _fit(X, y, s, penalty, tolerated, more[-1], intercept=spec.intercept)
        fits[problem], losses[problem], ends[problem] = fit, loss, (ENDS.index(end), iterations)


def _fit(
    X: Any, y: Any, s: Any, penalty: float, tolerated: float, most: int, *, intercept: bool
) -> tuple[str, int, float, Any]:
    """Return why a fit ends, its iterations and loss, and weights above standard errors."""
    labels, weights = np.asarray(y, np.float64), np.ones(len(X)) if s is None else s.astype(np.float64)
    bad = _unfitted(X, labels, weights)
    if bad is not None:
        return bad, 0, np.nan, np.nan
    rows, shift, scale = _standardised(X.astype(np.float64), intercept=intercept)
    problem = _Problem(rows, 1 - 2 * labels, weights, penalty * np.append(scale, np.zeros(int(intercept))) ** 2)
    problem.scaled = penalty > 0
    end, iterations = problem.minimise(tolerated, most)
    back = np.diag(np.append(scale, np.ones(int(intercept))))
    if intercept:
        back[-1, :-1] = -shift * scale
    errors = problem.errors(back)
    return end, iterations, problem.loss, (back @ problem.weights, errors)


def _unfitted(X: Any, labels: np.ndarray, weights: np.ndarray) -> str | None:
    """Return why a problem has no fit, or None."""
    if not np.all((weights >= 0) & np.isfinite(weights)):
        return "bad_weight"
    if not np.all((labels == 0) | (labels == 1)):
        return "bad_label"
    if not np.isfinite(X).all():
        return "bad_feature"
    return "one_class" if len({*labels[weights > 0]}) < 2 else None


def _standardised(X: np.ndarray, *, intercept: bool) -> tuple[np.ndarray, Any, np.ndarray]:
    """Return the rows, with a column of ones for an intercept, and the mean and scale of each feature."""
    mean = X[0] + (X - X[0]).mean(axis=0) if intercept else np.zeros(X.shape[1])
    sizes = np.abs(X - X[0] * intercept).mean(axis=0)
    scale = 1 / np.where(sizes > 0, sizes, 1)
    return np.hstack([(X - mean) * scale, np.ones((len(X), int(intercept)))]), mean, scale


class _Problem:
    """A problem in standardised features; see ``kernels/newton.h``."""

    scaled = True

    def __init__(self, rows: np.ndarray, signs: np.ndarray, counts: np.ndarray, penalties: np.ndarray) -> None:
        self._rows, self._signs, self._counts, self._penalties = rows, signs, counts, penalties
        self.weights = np.zeros(rows.shape[1])
        self.loss = np.inf

    def _pass(self, weights: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, bool]:
        """Return loss, gradient and Hessian, and whether no row is on the wrong side."""
        against = self._signs * (self._rows @ weights)
        small = np.exp(-np.abs(against))
        share = 1 / (1 + small)
        loss = self._counts @ (np.maximum(against, 0) + np.log1p(small)) + self._penalties @ weights**2 / 2
        slopes = self._counts * self._signs * np.where(against >= 0, share, small * share)
        curved = self._rows * (self._counts * small * share**2)[:, None]
        hessian = self._rows.T @ curved + np.diag(self._penalties)
        apart = not np.any((against >= 0) & (self._counts > 0))
        return float(loss), slopes @ self._rows + self._penalties * weights, hessian, apart

    def minimise(self, tolerated: float, most: int) -> tuple[str, int]:
        """Set weights and loss; return why Newton's method ends, and its iterations."""
        self.loss, gradient, hessian, apart = self._pass(self.weights)
        idle = iterations = 0
        while True:
            self._factor(hessian)
            step = -self._solved(gradient)
            squared = float(-(gradient @ step))
            if squared <= tolerated**2 * min(self.loss, 1):
                self.weights = self.weights + step
                return "tolerance", iterations
            if not self.scaled and apart and self.loss <= _GAP * self._counts.sum():
                return "separable", iterations
            near = "rounding" if squared <= 2 * _GAP * self.loss else "stalled"
            if idle >= _IDLE:
                return near, iterations
            if iterations >= most:
                return "max_iter", iterations
            for halvings in range(_HALVINGS + 1):
                part = 0.5**halvings
                moved = self._pass(self.weights + part * step)
                rounding = 0 if halvings else 16 * np.finfo(np.float64).eps * self.loss
                if moved[0] <= self.loss - 1e-4 * part * squared + rounding:
                    break
            else:
                return near, iterations
            iterations += 1
            idle = 0 if moved[0] < self.loss * (1 - np.finfo(np.float64).eps) else idle + 1
            self.weights = self.weights + part * step
            self.loss, gradient, hessian, apart = moved

    def _factor(self, hessian: np.ndarray) -> None:
        """Set the factors of L D L', with zero for the inverse of a pivot whose weight stays as it is."""
        left, size = np.array(hessian), len(hessian)
        self._lower, self._inverses = np.eye(size), np.zeros(size)
        for j in range(size):
            least = 64 * np.finfo(np.float64).eps * hessian[j, j]
            if left[j, j] > least:
                self._inverses[j] = 1 / left[j, j]
            elif least > 0 and self.scaled:
                self._inverses[j] = 1 / least
            self._lower[j + 1 :, j] = left[j + 1 :, j] * self._inverses[j]
            left[j + 1 :, j + 1 :] -= np.outer(self._lower[j + 1 :, j], left[j, j + 1 :])

    def _solved(self, right: np.ndarray) -> Any:
        return np.linalg.solve(self._lower.T, np.linalg.solve(self._lower, right) * self._inverses)

    def errors(self, back: np.ndarray) -> np.ndarray:
        """Return standard errors of weights that are ``back`` times those of the problem; NaN for a kept one."""
        variances = (np.linalg.solve(self._lower, back.T) ** 2).T @ self._inverses
        return np.where(self._inverses != 0, np.sqrt(variances), np.nan)
