"""sgd in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.kernel_spec import Definitions


def sgd_numpy(
    definitions: Definitions, memories: Sequence[np.ndarray], layout: np.ndarray, steps: int, stretch: int
) -> None:
    """Move the weights by one sample after the other."""
    samples = definitions.logistic
    if samples is None:
        raise TypeError(f"sgd_numpy: samples; got {samples}")
    rows, labels, before, *shares, order, paces = memories[: len(definitions.inputs)]
    weights, k = memories[len(definitions.inputs)], samples.features
    weights[...] = before
    for step, number in enumerate(order.tolist()):
        rate, keep = paces[step // stretch]
        (probability,) = definitions.map(rows[number] @ weights[:k] + sum(weights[k:]))
        moved = rate * (probability - labels[number]) * (shares[0][number] if shares else 1)
        weights[:k] = keep * weights[:k] - moved * rows[number]
        weights[k:] -= moved
