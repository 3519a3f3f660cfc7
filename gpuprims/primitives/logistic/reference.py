"""The logistic gradient in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.logistic.spec import LogisticSpec


def logistic_numpy(spec: LogisticSpec, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, parts: int) -> None:
    """Compute the scores and the gradient as products of matrices."""
    rows, labels, weights, *sample_weights = memories[: len(spec.inputs) - spec.by_columns]
    loss, gradient = memories[len(spec.inputs) : -2]
    k = spec.features
    scores = rows @ weights[:k] + sum(weights[k:])
    losses, residuals = spec.map(scores, labels, *(sample_weights or [np.ones_like(labels)]))
    loss[...] = losses.sum()
    gradient[:k], gradient[k:] = residuals @ rows, residuals.sum()
