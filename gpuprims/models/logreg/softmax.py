"""Scores, probabilities of several classes from them, and the slopes of their loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.models.sparse_features import Features
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce


def row_terms(device: Device, scores: Any) -> tuple[Any, Any, Any]:
    """Return each row's maximum, ``exp(scores - maximum)`` if it was stored, and the sum of it, which is finite.

    CPUs compute exponentials faster alone than within a sum of few elements (measurements.md, predictions in place).
    """
    largest = reduce(scores, op="max", axis=1, keepdims=True, device=device)
    if not isinstance(scores, np.ndarray):
        return largest, None, reduce(scores, largest, map="exp(z - m)", axis=1, keepdims=True, device=device)
    powers = map_elements("exp(z - m)", scores, largest, device=device)
    return largest, powers, reduce(powers, axis=1, keepdims=True, device=device)


def softmax(device: Device, scores: Any) -> Any:
    """Return the probability of each class."""
    largest, powers, total = row_terms(device, scores)
    if powers is None:
        return map_elements("exp(z - m) / t", scores, largest, total, device=device)
    return map_elements("e / t", powers, total, device=device)


# Functions of elements, defined once so that their kernels are found by identity.


def residual_of_score(z: Any, m: Any, t: Any, y: Any, c: Any, s: Any) -> Any:
    """Return the slope of a row's loss by the score of class ``c``, of a row with class ``y`` and weight ``s``."""
    return s * (np.exp(z - m) / t - (y == c))


def residual_of_power(e: Any, t: Any, y: Any, c: Any, s: Any) -> Any:
    """Return the slope of :func:`residual_of_score` from the score's exponential ``e``."""
    return s * (e / t - (y == c))


def of_class(z: Any, y: Any, c: Any) -> Any:
    """Return the score of class ``c`` if it is the row's, else 0."""
    return np.where(y == c, z, 0)


def scores_of(features: Features, coefficients: Any, intercepts: Any) -> Any:
    """Return ``X @ coefficients.T + intercepts`` of shape (n, outputs)."""
    scores = features.scores(coefficients)
    if intercepts is None:
        return scores
    return map_elements("z + b", scores, intercepts.reshape(1, -1), device=features.device)
