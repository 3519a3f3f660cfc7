"""descent in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.logistic.spec import SamplesSpec


def descent_numpy(spec: SamplesSpec, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, steps: int) -> None:
    """Run the iterations, each by products of matrices."""
    rows, labels, before, *sample_weights, rates = memories[: len(spec.inputs)]
    weights = before.astype(np.float64)  # float32 would round off small changes
    k, (decay, rate) = spec.features, rates
    count = sample_weights[0] if sample_weights else np.ones_like(labels)
    for _ in range(steps):
        now = weights.astype(before.dtype)
        _, residuals = spec.map(rows @ now[:k] + sum(now[k:]), labels, count)
        weights[:k] -= decay * weights[:k] + rate * (residuals @ rows)
        weights[k:] -= rate * residuals.sum()
    memories[len(spec.inputs)][...] = weights
