"""Similarities of samples to a few rows, and the base of classifiers that use them."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands
from gpuprims.models.checks import CheckedParameters, check_fitted
from gpuprims.models.features import DenseFeatures
from gpuprims.models.inputs import all_finite, dense_features_of
from gpuprims.models.logreg.prediction import LinearScores
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

METRICS = ("cosine", "l2", "dot")
# Cosines lie between -1 and 1, too close together for a softmax (S. Gidaris and N. Komodakis, "Dynamic few-shot visual
# learning without forgetting", 2018, begin with this factor).
_COSINE_SCALE = 10.0
# Bytes of the similarities of a block of samples.
_BLOCK_BYTES = 256 << 20


class Rows(NamedTuple):
    """Rows on a device to compare samples with, and their lengths for cosines."""

    array: Any  # of shape (rows, features)
    lengths: Any  # of shape (1, rows)


class BySimilarity(LinearScores, CheckedParameters, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of classifiers whose scores of a block of samples come from similarities to rows."""

    class_weight: ClassVar[None] = None
    feature_dtype: ClassVar[None] = None
    threshold: float = 0.5
    metric: str
    scale: Any

    def _class_scores(self, features: DenseFeatures, rows: Rows) -> Any:
        """Return the score of each class for some samples, of shape (n, classes)."""
        raise NotImplementedError

    def _scores(self, X: Any) -> tuple[Operands, Any, Any]:
        """Return scores of shape (n_samples, classes), or (n_samples, 1) for two classes, and zeros to add to them."""
        check_fitted(self)
        operands, features = dense_features_of(self, X, reset=False, finite=False)
        device, (n, _), classes = features.device, features.shape, len(self.classes_)
        rows = rows_on(device, getattr(self, self._fitted_array))
        found = device.driver.empty((n, classes), self.fit_dtype)
        step = max(_BLOCK_BYTES // (rows.array.shape[0] * self.fit_dtype.itemsize), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, n, step):
                block = self._class_scores(features.rows(start, min(start + step, n)), rows)
                map_elements("z", block, out=found[start : start + step], device=device)
        if not all_finite(found, device):  # for example from NaN or infinity in the samples
            dense_features_of(self, X, reset=False)
        if classes == 2:
            found = map_elements("b - a", found[:, 1:], found[:, :1], device=device)
        return operands, found, device.asarray(np.zeros((1, found.shape[1]), found.dtype))

    def _similarities(self, features: DenseFeatures, rows: Rows) -> Any:
        """Return similarities times the scale, of shape (n, rows)."""
        scale = self.scale
        if isinstance(scale, str):
            scale = _COSINE_SCALE if self.metric == "cosine" else 1.0
        return similarities(features, rows, self.metric, float(scale))


def rows_on(device: Device, rows: np.ndarray) -> Rows:
    """Copy rows and their lengths to a device. Rows of zeros get length 1, so that their cosines are 0."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    lengths[lengths == 0] = 1
    return Rows(device.asarray(rows), device.asarray(lengths.astype(rows.dtype).reshape(1, -1)))


def similarities(features: DenseFeatures, rows: Rows, metric: str, scale: float) -> Any:
    """Return the similarities of samples and rows on the device, times a scale.

    They are cosines, negative squared distances, or inner products. Distances come from differences, not from a
    formula of products, so samples far from zero keep their digits.
    """
    device, array, (n, k) = features.device, features.array, features.shape
    factor = array.dtype.type(scale)
    if metric == "l2":
        beside = array.reshape(n, 1, k), rows.array.reshape(1, -1, k)
        squares = reduce(*beside, map="(x - c) * (x - c)", axis=2, device=device)
        return map_elements(lambda d: -factor * d, squares, device=device)
    products = features.scores(rows.array)
    if metric == "dot":
        return map_elements(lambda d: factor * d, products, device=device)
    squares = features.squared_norms().reshape(n, 1)
    return map_elements(
        lambda d, own, length: factor * d / (np.where(own > 0, np.sqrt(own), 1) * length),
        products, squares, rows.lengths, device=device,
    )  # fmt: skip


def of_class(weight: Any, code: Any, number: Any) -> Any:
    """Return the weight of a sample in the class, and 0 for other samples: a function of elements."""
    return np.where(code == number, weight, 0)
