"""Quadratic models of proximal Newton: Hessians of some samples, each used for several steps and penalties."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from gpuprims.models.logreg.few_rows import of_few_rows, thinning
from gpuprims.models.logreg.lasso import minimise
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.samples import Samples

# A second derivative that the intercept reduces to this many roundings is lost, as for constant features.
_LOST = 256


class Curvature:
    """The Hessian of an objective, which serves for several steps and penalties of the same samples."""

    def __init__(self, objective: Objective) -> None:
        self._size, self._step, self._times = objective.size, thinning(objective), 1
        self._few: Samples | None = None  # the rows of the Hessian, ``times`` the fewest
        self._matrix: np.ndarray | None = None
        self._last: tuple[np.ndarray, Any, float, np.ndarray] | None = None
        self.fresh = False  # True if computed for the current weights
        self.gap_of_share = 0.0  # the last duality gap, in units of the share that scaling takes from a dual point

    @property
    def cheap(self) -> bool:
        """True if a Hessian takes less time than a gradient of all rows."""
        return self._step // self._times > self._size

    def loss_gradient(self, objective: Objective, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient; those of the last weights are known for any penalty."""
        inner = np.where(objective.penalised, weights, 0.0)
        squares = float(inner @ inner) / 2
        if self._last is None or self._last[0] is not weights or self._last[1] != objective.dtype:
            value, gradient = objective.loss_gradient(weights)
            plain = value - objective.penalty * squares, gradient - objective.penalty * inner
            self._last = weights, objective.dtype, *plain
        *_, value, gradient = self._last
        return value + objective.penalty * squares, gradient + objective.penalty * inner

    def update(self, objective: Objective, weights: np.ndarray) -> np.ndarray:
        """Compute the Hessian for some weights, without the penalty."""
        if self._few is None:
            self._few = (of_few_rows(objective, self._times) or objective).samples
        smooth = Objective(self._few, objective.outputs, 0.0, fit_intercept=objective.fit_intercept)
        self._matrix, self.fresh = smooth.hessian(weights), True
        return self._matrix

    def use_more_rows(self) -> bool:
        """Use four times as many rows in the next Hessian; return False if it had all rows already."""
        more, self._few = self._step // self._times > 1, None
        self._times *= 4
        return more

    def target(
        self, objective: Objective, weights: np.ndarray, gradient: np.ndarray, l1: float, tolerance: float
    ) -> np.ndarray:
        """Return the weights that minimise the quadratic model with the L1 penalty.

        Coefficients of features that are constant, up to rounding, are zero.
        """
        whole = self.update(objective, weights) if self._matrix is None else self._matrix
        inner = objective.penalised
        matrix, linear, moved = whole[np.ix_(inner, inner)].copy(), gradient[inner], weights.copy()
        mixed, corner = whole[np.ix_(inner, ~inner)], whole[np.ix_(~inner, ~inner)]
        free = linalg.pinvh(corner) if corner.size else corner  # without curvature, an intercept stays
        lost = _LOST * np.finfo(objective.dtype).eps * np.diagonal(matrix)
        matrix -= mixed @ free @ mixed.T
        linear = linear - mixed @ (free @ gradient[~inner])
        decided = np.diagonal(matrix) > lost
        matrix[np.diag_indices(len(matrix))] += objective.penalty
        own, found = weights[inner], np.zeros(len(matrix))
        block, start = matrix[np.ix_(decided, decided)], own[decided]
        found[decided] = minimise(block, (matrix @ own - linear)[decided], l1, start, tolerance)
        moved[inner] = found
        moved[~inner] -= free @ (gradient[~inner] + mixed.T @ (found - own))
        return moved
