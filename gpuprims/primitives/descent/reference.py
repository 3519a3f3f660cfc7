"""descent in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.descent.spec import DescentSpec


def descent_numpy(spec: DescentSpec, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, steps: int) -> None:
    """Take one step after the other, by products of matrices."""
    rows, labels, before, *shares, rates = memories[: len(spec.inputs)]
    weights = before.astype(np.float64)  # to which small steps are not rounded off
    k, (decay, rate) = spec.features, rates
    count = shares[0] if shares else np.ones_like(labels)
    for _ in range(steps):
        now = weights.astype(before.dtype)
        _, errors = spec.map(rows @ now[:k] + sum(now[k:]), labels, count)
        weights[:k] -= decay * weights[:k] + rate * (errors @ rows)
        weights[k:] -= rate * errors.sum()
    memories[len(spec.inputs)][...] = weights
