"""Stochastic gradient descent by single samples, sequential ("sgd") or concurrent ("hogwild")."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gpuprims.models.logreg.descent import run_epochs
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings
from gpuprims.primitives.hogwild import logistic_hogwild
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.sgd import logistic_sgd

# A step's share of the penalty in units of the dtype's eps. Below this it would be rounded too coarsely, and the
# penalty is applied once an epoch.
_COARSE = 256


def sgd(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Descend along the gradients of single samples, one after the other, in a new random order each epoch.

    Source: see :func:`minibatch`; an epoch is one call of :func:`gpuprims.primitives.sgd.logistic_sgd`.
    """
    return run_epochs(SampleSteps(logistic_sgd, objective, settings).epoch, objective, start, settings, monitor)


def hogwild(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Descend as :func:`sgd` does, by several samples at a time whose updates are added without locks.

    Source: F. Niu, B. Recht, C. Re and S. Wright, "HOGWILD!: A Lock-Free Approach to Parallelizing Stochastic Gradient
    Descent", 2011.
    """
    return run_epochs(SampleSteps(logistic_hogwild, objective, settings).epoch, objective, start, settings, monitor)


class SampleSteps:
    """Steps by each sample of nonzero weight, once an epoch, in random order, for an objective of two classes.

    ``descent`` is :func:`gpuprims.primitives.sgd.logistic_sgd` or a function with its arguments. An automatic learning
    rate follows from the largest curvature of one sample's loss.
    """

    def __init__(self, descent: Callable[..., Any], objective: Objective, settings: Settings) -> None:
        self._descent, self._objective = descent, objective
        self._random, self._rate = settings.random, settings.learning_rate
        samples = objective.samples
        self._weights = objective.device.to_host(samples.weights)
        self._weighted = np.flatnonzero(self._weights).astype(np.int32)
        self._epoch_penalty = objective.penalty * samples.total
        self._penalty = self._epoch_penalty / len(self._weighted)
        self._auto_rate = 1 / (self._max_curvature() + self._penalty)

    @cached_property
    def _codes(self) -> np.ndarray:
        return self._objective.device.to_host(self._objective.samples.codes)

    def epoch(self, weights: Any, done: int) -> Any:
        """Take one step by each sample, after ``done`` epochs."""
        objective, samples = self._objective, self._objective.samples
        rate = self._auto_rate / np.sqrt(1 + done) if self._rate is None else self._rate
        decay = rate * self._penalty
        decay_once = decay < _COARSE * np.finfo(objective.dtype).eps
        how = {"rate": rate, "keep": 1 - decay * (not decay_once), "device": objective.device}
        order = self._random.permutation(self._weighted)
        if samples.features.dense is None:
            weights = self._sparse_steps(samples.features, weights, order, how)
        else:
            given = samples.features.dense, samples.codes, weights, objective.device.asarray(order)
            weights = self._descent(*given, sample_weight=samples.sample_weight, **how)
        return self._decay(weights, rate) if decay_once else weights

    def _sparse_steps(self, features: Any, weights: Any, order: np.ndarray, how: dict[str, Any]) -> Any:
        """Take the steps of sparse samples, a slab of dense rows at a time."""
        device = self._objective.device
        for rows, slab in features.slabs(order):
            codes, counts = (device.asarray(part[rows]) for part in (self._codes, self._weights))
            steps = device.asarray(np.arange(len(rows), dtype=np.int32))
            weights = self._descent(slab, codes, weights, steps, sample_weight=counts, **how)
        return weights

    def _decay(self, weights: Any, rate: float) -> Any:
        """Apply the penalty of an epoch."""
        objective = self._objective
        kept = np.where(objective.zero_intercepts(np.ones(objective.size)) == 0, 1, 1 - rate * self._epoch_penalty)
        return map_elements("w*k", weights, objective.to_device(kept), device=objective.device)

    def _max_curvature(self) -> float:
        """Return the largest second derivative of one sample's loss: a quarter of its squared norm."""
        samples, device, constant = self._objective.samples, self._objective.device, int(self._objective.fit_intercept)
        given = samples.features.squared_norms(), samples.weights
        largest = reduce(*given, map=lambda q, s: s * (q + constant), op="max", device=device)
        return float(device.to_host(largest)) / 4
