"""descent in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.kernel_spec import Definitions


def descent_numpy(
    definitions: Definitions, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, steps: int
) -> None:
    """Take one step after the other, by products of matrices."""
    samples = definitions.logistic
    if samples is None:
        raise TypeError(f"descent_numpy: samples; got {samples}")
    rows, labels, before, *shares, rates = memories[: len(definitions.inputs)]
    weights = before.astype(np.float64)  # to which small steps are not rounded off
    k, (decay, rate) = samples.features, rates
    count = shares[0] if shares else np.ones_like(labels)
    for _ in range(steps):
        now = weights.astype(before.dtype)
        _, errors = definitions.map(rows @ now[:k] + sum(now[k:]), labels, count)
        weights[:k] -= decay * weights[:k] + rate * (errors @ rows)
        weights[k:] -= rate * errors.sum()
    memories[len(definitions.inputs)][...] = weights
