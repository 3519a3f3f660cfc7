"""Newton's method with standard errors, for one problem of a batch that is too large for one work-group."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from gpuprims.models.logreg.objective import Objective

# The loss may be this far above the minimum after "rounding", relative to it.
_RELATIVE_GAP = 1e-6
# Share of the expected decrease that a step must reach (Armijo's condition), and how often a step is halved.
_SUFFICIENT, _HALVINGS = 1e-4, 30
# Consecutive iterations that may lower the loss by less than its rounding error.
_IDLE_ITERATIONS = 3
# A pivot below this many roundings of its diagonal element is lost: the feature depends on the others.
_LOST = 64


class Point(NamedTuple):
    """Some flat weights, and the summed loss with the penalty, its gradient and its Hessian there."""

    flat: np.ndarray
    loss: float
    gradient: np.ndarray
    hessian: np.ndarray


class Fit(NamedTuple):
    """The flat weights with their standard errors, the summed loss, why the fit ended, and its iterations."""

    flat: np.ndarray
    errors: np.ndarray
    loss: float
    reason: str
    n_iter: int


class _Solved(NamedTuple):
    """A Newton step, the square of its length in standard errors, and the standard errors."""

    step: np.ndarray
    squared: float
    errors: np.ndarray
    exact: bool  # False if a pivot may be due to rounding


def point_at(objective: Objective, flat: np.ndarray) -> Point:
    """Compute the loss and its derivatives at some flat weights."""
    value, gradient = objective.loss_gradient(flat)
    total = objective.samples.total
    return Point(flat, value * total, gradient * total, objective.hessian(flat) * total)


def minimise(objective: Objective, point: Point, n_iter: int, tol: float, max_iter: int) -> Fit:
    """Minimise by Newton's method in the samples' dtype, then in float64 if rounding ends that.

    A fit ends with the first step that is at most ``tol`` standard errors long, as in ``newton/kernels/newton.h``.
    """
    fit, exact = _newton(objective, point, n_iter, tol, max_iter)
    wide = objective.as_float64()
    if (exact and fit.reason not in ("rounding", "stalled")) or wide is None or wide is objective:
        return fit
    return _newton(wide, point_at(wide, fit.flat), fit.n_iter, tol, max_iter)[0]


def _newton(objective: Objective, point: Point, n_iter: int, tol: float, max_iter: int) -> tuple[Fit, bool]:
    rounding, idle = float(np.finfo(objective.dtype).eps), 0
    separates = objective.penalty == 0
    while True:
        solved = _solve(point, rounding, penalised=not separates, intercept=objective.fit_intercept)
        near = "rounding" if solved.squared <= 2 * _RELATIVE_GAP * point.loss else "stalled"
        if solved.squared <= tol**2 * min(point.loss, 1):
            return Fit(point.flat + solved.step, solved.errors, point.loss, "tolerance", n_iter), solved.exact
        # A row on the wrong side, or on the plane, has a loss of log(2) at least.
        if separates and point.loss <= _RELATIVE_GAP * objective.samples.total and point.loss < _least_wrong(objective):
            return Fit(point.flat, solved.errors, point.loss, "separable", n_iter), True
        if idle >= _IDLE_ITERATIONS or n_iter >= max_iter:
            return Fit(point.flat, solved.errors, point.loss, near if idle else "max_iter", n_iter), solved.exact
        moved = _line_search(objective, point, solved, rounding)
        if moved is None:
            return Fit(point.flat, solved.errors, point.loss, near, n_iter), solved.exact
        idle = 0 if moved.loss < point.loss - rounding * abs(point.loss) else idle + 1
        point, n_iter = moved, n_iter + 1


def _least_wrong(objective: Objective) -> float:
    """Return the least loss that a row on the wrong side of the plane can have."""
    weights = objective.device.to_host(objective.samples.weights)
    return float(np.log(2) * weights[weights > 0].min(initial=np.inf))


def _line_search(objective: Objective, point: Point, solved: _Solved, rounding: float) -> Point | None:
    """Halve the step until the loss falls, up to rounding; return None if it never does."""
    total = objective.samples.total
    for halvings in range(_HALVINGS):
        part = 0.5**halvings
        flat = point.flat + part * solved.step
        value, gradient = objective.loss_gradient(flat)
        allowed = 0.0 if halvings else 16 * rounding * point.loss
        if value * total <= point.loss - _SUFFICIENT * part * solved.squared + allowed:
            return Point(flat, value * total, gradient * total, objective.hessian(flat) * total)
    return None


def _solve(point: Point, rounding: float, *, penalised: bool, intercept: bool) -> _Solved:
    """Solve for Newton's step.

    Weights that the samples do not determine stay as they are, and their standard errors are NaN.
    """
    size = len(point.flat)
    step, errors = np.zeros(size), np.full(size, np.nan)
    diagonal = np.diagonal(point.hessian)
    kept = np.flatnonzero(diagonal > 0)
    kept = np.roll(kept, intercept)  # so that constant features depend on the intercept, not it on them
    units = diagonal[kept] ** -0.5  # of rows and columns, so that the scales of features do not matter
    matrix = point.hessian[np.ix_(kept, kept)] * np.outer(units, units)
    factor, exact = _factor(matrix), True
    if factor is None or (np.diagonal(factor) ** 2).min(initial=1) <= _LOST * rounding:
        exact = False
        if penalised and factor is not None:
            decided = np.ones(len(kept), bool)
        else:
            decided = _independent(matrix, _LOST * rounding)
        kept, units = kept[decided], units[decided]
        factor = _factor(matrix[np.ix_(decided, decided)])
    if factor is None:
        return _Solved(step, np.inf, errors, exact)
    inverse = linalg.lapack.dtrtri(factor, lower=1)[0]
    half = inverse @ (point.gradient[kept] * units)
    step[kept] = -(inverse.T @ half) * units
    errors[kept] = np.sqrt((inverse**2).sum(axis=0)) * units
    return _Solved(step, float(half @ half), errors, exact)


def _factor(matrix: np.ndarray) -> np.ndarray | None:
    """Return the lower Cholesky factor, or None."""
    try:
        found: np.ndarray = linalg.cholesky(matrix, lower=True)
    except linalg.LinAlgError:
        return None
    return found


def _independent(matrix: np.ndarray, least: float) -> np.ndarray:
    """Return a mask of the columns that do not depend linearly on earlier ones, for a matrix with a unit diagonal."""
    left, found = matrix.copy(), np.ones(len(matrix), bool)
    for j in range(len(matrix)):
        found[j] = left[j, j] > least
        if found[j]:
            left[j + 1 :, j + 1 :] -= np.outer(left[j + 1 :, j], left[j, j + 1 :]) / left[j, j]
    return found
