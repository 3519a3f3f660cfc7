"""Hessians of some of the samples, for steps that need not be exact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.models.features import DenseFeatures
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.samples import Samples
from gpuprims.primitives.map import map as map_elements

# Rows of a Hessian for each weight, and at least; it then differs from that of all rows by a few per cent
# (measurements.md, rows of a hessian).
_ROWS_PER_WEIGHT, _FEWEST_ROWS = 256, 2**15


def thinning(objective: Objective, times: int = 1) -> int:
    """Return how many samples there are per row of a Hessian with ``times`` the fewest rows."""
    return objective.samples.size // (times * max(_FEWEST_ROWS, _ROWS_PER_WEIGHT * objective.size))


def of_few_rows(objective: Objective, times: int = 1) -> Objective | None:
    """Return the objective of some of the samples, copied; None if all of them are needed.

    All are needed for samples in parts, for few samples, for results that may not depend on the order of samples, and
    if the chosen samples have less than half of their share of the weight.
    """
    if objective.in_parts or asks_for_device() or (step := thinning(objective, times)) <= 1:
        return None
    few = _thinned(objective.samples, step)
    return objective.of(few) if few.total > objective.samples.total / (2 * step) else None


def _thinned(samples: Samples, step: int) -> Samples:
    """Return every ``step``-th sample, copied."""
    device, features = samples.device, samples.features
    codes, weights = map_elements("x", samples.codes[::step], device=device), samples.sample_weight
    if weights is not None:
        weights = map_elements("x", weights[::step], device=device)
    if isinstance(features, DenseFeatures):
        some: Any = type(features)(device, map_elements("x", features.array[::step], device=device), features.scale)
    else:
        some = type(features)(device, features.matrix[::step])
    total = float(codes.shape[0] if weights is None else np.sum(device.to_host(weights), dtype=np.float64))
    return replace(samples, features=some, codes=codes, sample_weight=weights, total=total)
