"""Steps by single samples, each once a round, as the solvers "sgd" and "hogwild" take them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gpuprims.models.logreg.objective import Objective
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
        Of two classes.
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
        self._shares = objective.device.to_host(samples.weights)
        self._live = np.flatnonzero(self._shares).astype(np.int32)
        self._whole = objective.penalty * samples.total
        self._penalty = self._whole / len(self._live)
        self._auto = 1 / (self._steepest() + self._penalty)

    @cached_property
    def _codes(self) -> np.ndarray:
        return self._objective.device.to_host(self._objective.samples.codes)

    def once(self, weights: Any, before: int) -> Any:
        """Take a step by each sample, after so many rounds."""
        objective, samples = self._objective, self._objective.samples
        rate = self._auto / np.sqrt(1 + before) if self._given is None else self._given
        lost = rate * self._penalty
        together = lost < _COARSE * np.finfo(objective.dtype).eps
        how = {"rate": rate, "keep": 1 - lost * (not together), "device": objective.device}
        order = self._random.permutation(self._live)
        if samples.features.dense is None:
            weights = self._by_slabs(samples.features, weights, order, how)
        else:
            given = samples.features.dense, samples.codes, weights, objective.device.asarray(order)
            weights = self._descent(*given, sample_weight=samples.shares, **how)
        return self._decayed(weights, rate) if together else weights

    def _by_slabs(self, features: Any, weights: Any, order: np.ndarray, how: dict[str, Any]) -> Any:
        """Take the steps of sparse samples, of which some are written out at a time, in their order."""
        device = self._objective.device
        for some, slab in features.slabs(order):
            codes, shares = (device.asarray(part[some]) for part in (self._codes, self._shares))
            steps = device.asarray(np.arange(len(some), dtype=np.int32))
            weights = self._descent(slab, codes, weights, steps, sample_weight=shares, **how)
        return weights

    def _decayed(self, weights: Any, rate: float) -> Any:
        objective = self._objective
        kept = np.where(objective.penalised(np.ones(objective.size)) == 0, 1, 1 - rate * self._whole)
        return map_elements("w*k", weights, objective.bring(kept), device=objective.device)

    def _steepest(self) -> float:
        """Return the largest second derivative that the loss of a sample can have: a quarter of its squares' sum."""
        samples, device, constant = self._objective.samples, self._objective.device, int(self._objective.fit_intercept)
        given = samples.features.squares(), samples.weights
        largest = reduce(*given, map=lambda q, s: s * (q + constant), op="max", device=device)
        return float(device.to_host(largest)) / 4
