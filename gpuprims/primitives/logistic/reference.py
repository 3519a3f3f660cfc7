"""The logistic gradient in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.core.kernel_spec import Definitions


def logistic_numpy(
    definitions: Definitions, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, parts: int
) -> None:
    """Score all rows by a product of matrices, and add them up by its transpose."""
    samples = definitions.logistic
    if samples is None:
        raise TypeError(f"logistic_numpy: samples; got {samples}")
    rows, labels, weights, *shares = memories[: len(definitions.inputs)]
    loss, gradient = memories[len(definitions.inputs) : -2]
    k = samples.features
    scores = rows @ weights[:k] + sum(weights[k:])
    losses, errors = definitions.map(scores, labels, *(shares or [np.ones_like(labels)]))
    loss[...] = losses.sum()
    gradient[:k], gradient[k:] = errors @ rows, errors.sum()
