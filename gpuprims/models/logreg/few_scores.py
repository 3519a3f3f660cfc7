"""The log loss by NumPy, for so few samples on the host that launches of kernels take longer."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.models.features import DenseFeatures
from gpuprims.models.logreg.samples import Samples

# Most rows and scores whose loss NumPy computes. For two classes a kernel reads dense features once, so NumPy is faster
# only for few rows per feature, and up to a number of elements. All are four times as large where a launch wakes
# threads (measurements.md, few scores).
_MOST_ROWS, _MOST_SCORES = 2**14, 2**16
_ROWS_PER_FEATURE, _MOST_ELEMENTS = 16, 2**20


def has_few_scores(samples: Samples, outputs: int) -> bool:
    """Return True for samples on the host whose loss NumPy computes before kernels do."""
    features, (n, k), few = samples.features, samples.features.shape, samples.features.home.has_few
    if features.by_primitives or features.integers is not None or asks_for_device():
        return False
    if not (few(n, _MOST_ROWS) and few(n * outputs, _MOST_SCORES)):
        return False
    at_once = outputs == 1 and isinstance(features, DenseFeatures)
    return not at_once or (few(n, _ROWS_PER_FEATURE * k) and few(n * k, _MOST_ELEMENTS))


class FewScores:
    """Samples on the host whose loss and gradient NumPy computes."""

    def __init__(self, samples: Samples, outputs: int) -> None:
        self._features, self._weights, self._outputs = samples.features, samples.sample_weight, outputs
        self._codes = samples.codes.astype(np.intp), np.arange(samples.size)
        self._signs = (1 - 2 * samples.codes).reshape(1, -1)  # of two classes: 1 for the first, -1 for the second

    def loss(self, flat: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return the summed log loss and its gradient, for flat weights in the samples' dtype."""
        features, outputs = self._features, self._outputs
        inner = outputs * features.shape[1]
        coefficients, intercepts = flat[:inner].reshape(outputs, -1), flat[inner:]
        constants = intercepts.reshape(-1, 1) if intercepts.size else flat.dtype.type(0)
        with np.errstate(all="ignore"):  # as in kernels
            # A row has few scores, so they are transposed: NumPy's loops then run along the samples.
            scores = np.add(features.scores(coefficients).T, constants, order="C")
            losses, residuals = (self._logistic if outputs == 1 else self._softmax)(scores)
            if self._weights is not None:
                losses *= self._weights
                residuals *= self._weights
        gradient = np.empty_like(flat)
        features.write_gradient(residuals.T, gradient[:inner].reshape(outputs, -1))
        if intercepts.size:
            residuals.sum(axis=1, out=gradient[inner:])
        return losses.sum(dtype=np.float64), gradient

    def _logistic(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss of each sample of two classes, and its slopes by the scores."""
        wrong = scores * self._signs  # the score of the other class
        powers = np.exp(-np.abs(wrong))
        losses = np.maximum(wrong, 0) + np.log1p(powers)
        return losses, np.where(wrong > 0, self._signs, self._signs * powers) / (1 + powers)

    def _softmax(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the same for several classes; overwrites the scores."""
        largest, own = scores.max(axis=0), scores[self._codes]
        scores -= largest
        residuals = np.exp(scores, out=scores)
        total = residuals.sum(axis=0)
        residuals /= total
        residuals[self._codes] -= 1
        return np.log(total) + largest - own, residuals
