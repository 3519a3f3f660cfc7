"""sgd and hogwild in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.fixed_lanes import lanes_of, settled, summed_by_lanes
from gpuprims.primitives.logistic.spec import SamplesSpec


def sgd_numpy(spec: SamplesSpec, memories: Sequence[np.ndarray], layout: np.ndarray, steps: int, stretch: int) -> None:
    """Change the weights by one sample after the other."""
    rows, labels, before, *sample_weights, order, paces = memories[: len(spec.inputs)]
    weights, k = memories[len(spec.inputs)], spec.features
    weights[...] = before
    for step, number in enumerate(order.tolist()):
        rate, keep = paces[step // stretch]
        score = summed_by_lanes(rows[number] * weights[:k], lanes_of(k))
        (probability,) = spec.map(score + sum(weights[k:]))
        moved = rate * (sample_weights[0][number] if sample_weights else 1) * (probability - labels[number])
        weights[:k] = keep * weights[:k] - moved * rows[number]
        weights[k:] -= moved
    weights[...] = settled(weights.dtype)(weights)[0]


def hogwild_numpy(spec: SamplesSpec, memories: Sequence[np.ndarray], layout: np.ndarray, *numbers: int) -> None:
    """Change the weights as a single worker does."""
    steps, stretch, _, part = numbers
    if part:
        sgd_numpy(spec, memories, layout, steps, stretch)
