"""L-BFGS of many problems over the same samples: each pass over the samples serves all problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.shared import SharedRows

# Steps that are remembered, and most passes over the samples; unfinished problems are then fitted one by one.
_HISTORY, _MOST_PASSES = 10, 40
# Most problems at once, since their directions are computed on the host.
MOST_TOGETHER = 256
# Halvings of a step, and the share of the expected decrease that it must reach (Armijo's condition).
_HALVINGS, _SUFFICIENT = 20, 1e-4
# Most features for which the Hessian at the start is decomposed into eigenvectors.
_MOST_ROTATED = 512
# An eigenvalue below this many roundings of the largest one counts as zero.
_LOST = 64
# The intercept starts from the share of the second class, clipped to [_RARE, 1 - _RARE].
_RARE = 1e-6

# A function that returns a mask of the problems that have ended, given the objective, the gradient and twice the
# expected decrease of each.
Ends = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Minima(NamedTuple):
    """The flat weights of each problem, with the objective and gradient per unit of sample weight, and iterations."""

    flat: np.ndarray
    values: np.ndarray
    gradients: np.ndarray
    n_iter: np.ndarray
    ended: np.ndarray  # False for problems that must be fitted one by one


class _Start:
    """The weights to start from, which are zero but for intercepts, and the Hessians there, which precondition L-BFGS.

    At the start all rows of a problem have the same curvature ``c``. So its Hessian is ``c * X.T @ X`` plus the
    penalty, and one eigendecomposition of ``X.T @ X`` inverts the Hessians of all problems.
    """

    def __init__(self, rows: SharedRows, totals: np.ndarray, penalties: np.ndarray) -> None:
        self._intercept, k = rows.fit_intercept, rows.columns - rows.fit_intercept
        self.flat = np.zeros((len(penalties), rows.columns))
        shares = np.full(len(penalties), 0.5)
        if self._intercept:
            _, gradients = rows.sums(self.flat)
            shares = np.clip(0.5 - gradients[:, -1] / totals, _RARE, 1 - _RARE)
            self.flat[:, -1] = np.log(shares / (1 - shares))
        self._curvature = (shares * (1 - shares))[:, None]
        one = Objective(rows.samples, 1, 0.0, fit_intercept=self._intercept)
        squares = 4 * one.hessian(np.zeros(rows.columns))
        self._mean = squares[:k, k] / squares[k, k] if self._intercept else np.zeros(k)
        inner = squares[:k, :k] - np.outer(self._mean, self._mean) * (squares[k, k] if self._intercept else 0)
        self._whole = squares[k, k] if self._intercept else 1.0
        if k <= _MOST_ROTATED:
            values, self._vectors = linalg.eigh(inner)
        else:
            values, self._vectors = np.diagonal(inner), np.ones((1, 1))
        # Without a penalty, combinations of features that the samples do not determine stay as they are.
        least = _LOST * np.finfo(rows.samples.dtype).eps * max(values.max(), 0.0)
        curved = self._curvature * np.maximum(values, least) + penalties[:, None]
        decided = ((values > least) | (penalties[:, None] > 0)) & (curved > 0)
        self._inverses = np.where(decided, 1 / np.where(decided, curved, 1), 0.0)

    def keep(self, kept: np.ndarray) -> None:
        """Keep the given problems only."""
        self._curvature, self._inverses = self._curvature[kept], self._inverses[kept]

    def solve(self, gradients: np.ndarray) -> np.ndarray:
        """Multiply each gradient by the inverse of its problem's Hessian."""
        k = len(self._mean)
        inner = gradients[:, :k] - (gradients[:, k:] * self._mean if self._intercept else 0)
        if len(self._vectors) == k:
            inner = (inner @ self._vectors * self._inverses) @ self._vectors.T
        else:
            inner = inner * self._inverses
        if self._intercept:
            own = gradients[:, k:] / (self._curvature * self._whole) - (inner @ self._mean)[:, None]
            inner = np.hstack([inner, own])
        found: np.ndarray = inner
        return found


class _History:
    """The last steps of each problem, and the changes of the gradient along them."""

    def __init__(self) -> None:
        self._steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Remember a step of each problem; steps without positive curvature count as none."""
        products = _dot(step, change)
        inverses = np.where(products > 0, 1 / np.where(products > 0, products, 1), 0)
        self._steps = [*self._steps[1 - _HISTORY :], (step, change, inverses)]

    def keep(self, kept: np.ndarray) -> None:
        """Keep the given problems only."""
        self._steps = [(step[kept], change[kept], inverse[kept]) for step, change, inverse in self._steps]

    def direction(self, gradients: np.ndarray, start: _Start) -> np.ndarray:
        """Return the direction of each problem by the two loops of L-BFGS."""
        left, parts = gradients.copy(), []
        for step, change, inverse in reversed(self._steps):
            parts.append(inverse * _dot(step, left))
            left -= parts[-1][:, None] * change
        found = start.solve(left)
        if self._steps:
            _, change, inverse = self._steps[-1]
            curved = _dot(change, start.solve(change)) * inverse
            found /= np.where(curved > 0, curved, 1)[:, None]
        for (step, change, inverse), part in zip(self._steps, reversed(parts), strict=True):
            found += (part - inverse * _dot(change, found))[:, None] * step
        return -found


def minimise(rows: SharedRows, totals: np.ndarray, penalties: np.ndarray, ends: Ends, most: int) -> Minima:
    """Minimise the objectives of all problems by L-BFGS, preconditioned by the Hessians at the start.

    Parameters
    ----------
    rows : SharedRows
    totals : ndarray of shape (problems,)
        Sums of the sample weights.
    penalties : ndarray of shape (problems,)
        Twice the factor of the sum of squared coefficients, per unit of sample weight.
    ends : function
        Returns a mask of the problems that have ended, given the summed objective of each, its gradient per unit of
        sample weight, and twice the summed decrease that the step promises.
    most : int
        Most iterations of a problem.

    Returns
    -------
    Minima

    Notes
    -----
    Source: J. Nocedal and S. J. Wright, "Numerical Optimization", 2006, chapter 7.2; other initial matrices than a
    multiple of the unit matrix are allowed there.
    """
    start, history, count = _Start(rows, totals, penalties), _History(), len(penalties)
    flat = start.flat
    values, gradients = _objectives(rows, flat, totals, penalties)
    done = Minima(flat.copy(), values.copy(), gradients.copy(), np.zeros(count, int), np.zeros(count, bool))
    at = np.arange(count)  # the numbers of unfinished problems

    def leave(gone: np.ndarray, *, ended: bool) -> None:
        nonlocal at, rows, flat, values, gradients, totals, penalties
        for kept, own in zip(done, (flat, values, gradients), strict=False):
            kept[at[gone]] = own[gone]
        done.ended[at[gone]] = ended
        left = ~gone
        history.keep(left)
        start.keep(left)
        rows, at = rows.of(np.flatnonzero(left)), at[left]
        flat, values, gradients = flat[left], values[left], gradients[left]
        totals, penalties = totals[left], penalties[left]

    for done_before in range(min(most, _MOST_PASSES) + 1):
        directions = history.direction(gradients, start)
        if np.any(gone := ends(values * totals, gradients, -_dot(gradients, directions) * totals)):
            leave(gone, ended=True)
            directions = directions[~gone]
        if not len(at) or done_before == min(most, _MOST_PASSES):
            break
        moved = _search(rows, flat, values, gradients, directions, totals, penalties)
        history.add(moved[0] - flat, moved[2] - gradients)
        flat, values, gradients, failed = moved
        done.n_iter[at[~failed]] += 1
        if np.any(failed):
            leave(failed, ended=False)
    if len(at):
        leave(np.ones(len(at), bool), ended=False)
    return done


def _search(
    rows: SharedRows,
    flat: np.ndarray,
    values: np.ndarray,
    gradients: np.ndarray,
    directions: np.ndarray,
    totals: np.ndarray,
    penalties: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Halve the step of each problem until its objective falls.

    Return the new weights, objectives and gradients, and a mask of the problems for which no step is small enough.
    """
    slopes = _dot(gradients, directions)
    rounding = 16 * float(np.finfo(rows.samples.dtype).eps) * np.abs(values)
    moved, found, changed = flat.copy(), values.copy(), gradients.copy()
    left = np.flatnonzero(slopes < 0)
    for halvings in range(_HALVINGS):
        part = 0.5**halvings
        tried = flat[left] + part * directions[left]
        some = rows if len(left) == len(flat) else rows.of(left)
        value, gradient = _objectives(some, tried, totals[left], penalties[left])
        allowed = values[left] + _SUFFICIENT * part * slopes[left] + (0.0 if halvings else rounding[left])
        good = value <= allowed
        moved[left[good]], found[left[good]], changed[left[good]] = tried[good], value[good], gradient[good]
        left = left[~good]
        if not len(left):
            break
    failed = ~(slopes < 0)
    failed[left] = True
    return moved, found, changed, failed


def _objectives(
    rows: SharedRows, flat: np.ndarray, totals: np.ndarray, penalties: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return objectives and gradients per unit of sample weight."""
    losses, slopes = rows.sums(flat)
    inner = flat.copy()
    if rows.fit_intercept:
        inner[:, -1] = 0
    values = losses / totals + penalties / 2 * _dot(inner, inner)
    return values, slopes / totals[:, None] + penalties[:, None] * inner


def _dot(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.einsum("bk,bk->b", one, other)
    return found
