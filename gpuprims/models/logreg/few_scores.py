"""The log loss by NumPy, for so few samples on the host that launches of kernels take longer."""

from __future__ import annotations

from functools import cached_property
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
# Most numbers of the rows whose products are a Hessian, one for each sample and weight (measurements.md, few weights).
_MOST_TERMS = 2**19


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
        self._own = samples.codes.astype(np.intp) * samples.size + np.arange(
            samples.size
        )  # places of the classes' scores
        self._signs = (1 - 2 * samples.codes).reshape(1, -1)  # of two classes: 1 for the first, -1 for the second
        n, k = samples.features.shape
        self.has_hessian = samples.features.dense is not None and n * outputs * (k + 1) <= _MOST_TERMS

    def loss(self, flat: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return the summed log loss and its gradient, for flat weights in the samples' dtype."""
        outputs, inner = self._outputs, self._outputs * self._features.shape[1]
        with np.errstate(all="ignore"):  # as in kernels
            losses, residuals = (self._logistic if outputs == 1 else self._softmax)(self._scores(flat))
            if self._weights is not None:
                losses *= self._weights
                residuals *= self._weights
        gradient = np.empty_like(flat)
        self._features.write_gradient(residuals.T, gradient[:inner].reshape(outputs, -1))
        if inner < len(flat):
            residuals.sum(axis=1, out=gradient[inner:])
        return losses.sum(dtype=np.float64), gradient

    def hessian(self, flat: np.ndarray) -> np.ndarray:
        """Return the Hessian of the summed log loss, in float64 whatever the samples' dtype."""
        outputs, inputs = self._outputs, self._inputs[: len(flat) // self._outputs]
        with np.errstate(all="ignore"):
            scores = self._scores(flat).astype(np.float64)
            if outputs == 1:  # the same for both classes, and exact for probabilities near 1
                powers = np.exp(-np.abs(scores))
                terms = inputs * self._weighted(powers / (1 + powers) ** 2)
                return np.asarray(terms @ inputs.T)
            powers = np.exp(scores - scores.max(axis=0))
            probabilities = powers / powers.sum(axis=0)
        terms = (probabilities[:, None] * inputs).reshape(len(flat), -1)
        weighted = self._weighted(terms)
        found = -(weighted @ terms.T)
        each, width = np.arange(outputs), len(inputs)
        own = (weighted @ inputs.T).reshape(outputs, width, width)
        found.reshape(outputs, width, outputs, width)[each, :, each] += own
        places = np.arange(len(flat)).reshape(outputs, width)
        k = self._features.shape[1]
        order = np.concatenate([places[:, :k].ravel(), places[:, k:].ravel()])
        return np.asarray(found[np.ix_(order, order)])

    @cached_property
    def _inputs(self) -> np.ndarray:
        """The features as rows of float64, and a row of 1 for the intercept."""
        features: Any = self._features.dense
        return np.vstack([features.T, np.ones(len(features))], dtype=np.float64)

    def _weighted(self, rows: np.ndarray) -> np.ndarray:
        return rows if self._weights is None else rows * self._weights

    def _scores(self, flat: np.ndarray) -> np.ndarray:
        """Return scores of shape (outputs, n): a row has few, and NumPy's loops then run along the samples."""
        inner = self._outputs * self._features.shape[1]
        coefficients, intercepts = flat[:inner].reshape(self._outputs, -1), flat[inner:]
        constants = intercepts.reshape(-1, 1) if intercepts.size else flat.dtype.type(0)
        return np.asarray(np.add(self._features.scores(coefficients).T, constants, order="C"))

    def _logistic(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss of each sample of two classes, and its slopes by the scores."""
        wrong = scores * self._signs  # the score of the other class
        powers = np.exp(-np.abs(wrong))
        losses = np.maximum(wrong, 0) + np.log1p(powers)
        return losses, np.where(wrong > 0, self._signs, self._signs * powers) / (1 + powers)

    def _softmax(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the loss of each sample of several classes, and its slopes by the scores, which it overwrites."""
        flat = scores.reshape(-1)
        largest, own = scores.max(axis=0), flat[self._own]
        scores -= largest
        residuals = np.exp(scores, out=scores)
        total = residuals.sum(axis=0)
        residuals /= total
        flat[self._own] -= 1
        return np.log(total) + largest - own, residuals
