"""Steps by single samples, each once a round, as the solvers "sgd" and "hogwild" take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.models.objective import Objective
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Of a step's share of the penalty, in roundings of the dtype, below which it would be rounded too coarsely: the shares
# of a whole round are then taken together.
_COARSE = 256


class Epochs:
    """The samples that count, and steps by each of them once a round, in an order that chance gives.

    Parameters
    ----------
    descent : callable
        :func:`gpuprims.primitives.sgd.logistic_sgd`, or another of its arguments.
    objective : Objective
        Of two classes, and features as they are.
    rate : float or None
        For the gradient of a sample; by default one that the steepest of them allows, which falls with the square root
        of the rounds.
    random : RandomState
    """

    def __init__(
        self, descent: Callable[..., Any], objective: Objective, rate: float | None, random: np.random.RandomState
    ) -> None:
        self._descent, self._objective, self._random, self._given = descent, objective, random, rate
        samples = objective.samples
        self._live = np.flatnonzero(objective.device.to_host(samples.weights)).astype(np.int32)
        self._whole = objective.penalty * samples.total
        self._penalty = self._whole / len(self._live)
        self._auto = 1 / (self._steepest() + self._penalty)

    def once(self, weights: Any, before: int) -> Any:
        """Take a step by each sample, after so many rounds."""
        objective, samples = self._objective, self._objective.samples
        rate = self._auto / np.sqrt(1 + before) if self._given is None else self._given
        lost = rate * self._penalty
        together = lost < _COARSE * np.finfo(objective.dtype).eps
        order = objective.device.asarray(self._random.permutation(self._live))
        weights = self._descent(
            samples.features, samples.codes, weights, order, rate=rate, keep=1 - lost * (not together),
            sample_weight=samples.weights, device=objective.device,
        )  # fmt: skip
        return self._decayed(weights, rate) if together else weights

    def _decayed(self, weights: Any, rate: float) -> Any:
        objective = self._objective
        kept = np.where(objective.penalised(np.ones(objective.size)) == 0, 1, 1 - rate * self._whole)
        return map_elements("w*k", weights, objective.bring(kept), device=objective.device)

    def _steepest(self) -> float:
        """Return the largest second derivative that the loss of a sample can have: a quarter of its squares' sum."""
        samples, device, constant = self._objective.samples, self._objective.device, int(self._objective.fit_intercept)
        squares = reduce(samples.features, map="x*x", axis=1, device=device)
        largest = reduce(squares, samples.weights, map=lambda q, s: s * (q + constant), op="max", device=device)
        return float(device.to_host(largest)) / 4
