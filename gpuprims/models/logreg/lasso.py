"""Quadratic functions with an L1 penalty, minimised on the host in float64."""

from __future__ import annotations

import numpy as np
from scipy import linalg

# Most rounds of a sweep over coordinates and some exact steps; 500 coordinates take about ten rounds from zeros.
_ROUNDS = 1000
_FACE_STEPS = 8
# Added to the diagonal of a face, relative to it: equal features make the matrix singular.
_RIDGE = 1e-12


def minimise(matrix: np.ndarray, linear: np.ndarray, l1: float, start: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the minimiser of ``v @ matrix @ v / 2 - linear @ v + l1 * sum(abs(v))``.

    Rounds of coordinate descent choose which coordinates are zero and the signs of the others. Then steps to the
    minimum of the quadratic function on that face, by Cholesky factors, go as far as the first change of a sign. All of
    them descend, so they converge like coordinate descent, and end exactly once the face is right.

    Parameters
    ----------
    matrix : ndarray of shape (k, k)
        Symmetric and positive semidefinite. If rounding has left it a negative curvature, the sweeps may grow without
        bound; the last point before they overflow is returned.
    linear : ndarray of shape (k,)
    l1 : float
    start : ndarray of shape (k,)
    tolerance : float
        Stop when steps of single coordinates would lower the function by less than this in total.

    Notes
    -----
    Source: J. Friedman, T. Hastie, R. Tibshirani, "Regularization paths for generalized linear models via coordinate
    descent", 2010, for the sweeps; M. R. Osborne, B. Presnell, B. A. Turlach, "A new approach to variable selection in
    least squares problems", 2000, for the steps on faces.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models.logreg.lasso import minimise
    >>> minimise(np.diag([1.0, 2.0]), np.array([3.0, 0.5]), 1.0, np.zeros(2), 1e-12).tolist()
    [2.0, 0.0]
    """
    point = np.array(start, np.float64)
    diagonal = np.diagonal(matrix).copy()
    slope = matrix @ point - linear
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(_ROUNDS):
            before = point.copy()
            _sweep(matrix, diagonal, l1, point, slope)
            _face_steps(matrix, l1, point, slope)
            excess = np.where(point != 0, slope + l1 * np.sign(point), np.maximum(np.abs(slope) - l1, 0))
            decrease = np.sum(excess**2 / np.where(diagonal > 0, diagonal, np.inf))
            if not np.isfinite(decrease):
                return before
            if decrease <= 2 * tolerance:
                break
    return point


def _sweep(matrix: np.ndarray, diagonal: np.ndarray, l1: float, point: np.ndarray, slope: np.ndarray) -> None:
    """Minimise along each coordinate in turn that is not zero, or can lower the function; update the slope."""
    for j in np.flatnonzero(((point != 0) | (np.abs(slope) > l1)) & (diagonal > 0)).tolist():
        old, curvature = float(point[j]), float(diagonal[j])
        target = old * curvature - float(slope[j])
        new = (target - l1 if target > l1 else target + l1 if target < -l1 else 0.0) / curvature
        if new != old:
            slope += (new - old) * matrix[j]
            point[j] = new


def _face_steps(matrix: np.ndarray, l1: float, point: np.ndarray, slope: np.ndarray) -> None:
    """Go to the minimum for the signs of the point, or to where a coordinate becomes zero; update the slope."""
    for _ in range(_FACE_STEPS):
        face = np.flatnonzero(point)
        if not len(face):
            return
        block = matrix[np.ix_(face, face)]
        block[np.diag_indices(len(face))] *= 1 + _RIDGE
        now = point[face]
        try:
            step = -linalg.cho_solve(linalg.cho_factor(block), slope[face] + l1 * np.sign(now))
        except linalg.LinAlgError:  # with several equal features; the sweeps go on
            return
        turning = np.flatnonzero(np.sign(now + step) != np.sign(now))
        parts = -now[turning] / step[turning]
        moved = now + step * parts.min(initial=1.0)
        if len(turning):
            moved[turning[np.argmin(parts)]] = 0.0
        slope += matrix[:, face] @ (moved - now)
        point[face] = moved
        if not len(turning):
            return
