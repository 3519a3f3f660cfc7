"""Losses and derivatives of many two-class problems over the same dense samples, by products of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpuprims.models.features import DenseFeatures
from gpuprims.models.gram import gram_by_products
from gpuprims.models.logreg.samples import Samples
from gpuprims.primitives.logistic.labelled import curvature_of_row, loss_and_residual
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.take import take

# Bytes of the scores of a slab of rows, and of a slab's products of two features.
_SCORE_BYTES, _PAIR_BYTES = 512 << 20, 512 << 20
# Columns of a block of products of two features; the blocks below the diagonal are known by symmetry.
_PAIR_COLUMNS = 32
# Fewest problems and most features for Hessians by shared products of two features. With fewer problems, reading these
# products takes longer than reading the features; with more features, each Gram matrix is large enough by itself.
_FEWEST_SHARING, _MOST_PAIRED = 16, 256


class SharedRows:
    """Problems that share features, on a device with a vendor's products of matrices.

    Parameters
    ----------
    samples : Samples
        With dense features, labels and weights that serve all problems.
    codes, weights : array of shape (n, problems), optional
        Labels and weights of each problem, instead of those of the samples.
    fit_intercept : bool
        The last of a problem's flat weights is an intercept.
    """

    def __init__(self, samples: Samples, codes: Any = None, weights: Any = None, *, fit_intercept: bool) -> None:
        self.samples, self.device, self.fit_intercept = samples, samples.device, fit_intercept
        self._features: Any = samples.features
        self._product: Any = product_of(samples)
        self._codes = samples.codes.reshape(-1, 1) if codes is None else codes
        self._weights = samples.weights.reshape(-1, 1) if weights is None else weights
        self.alike = codes is None and weights is None  # problems differ in their penalties alone
        self.columns = samples.features.shape[1] + fit_intercept

    def of(self, problems: np.ndarray) -> SharedRows:
        """Return some of the problems."""
        if self.alike:
            return self
        places = self.device.asarray(problems.astype(np.int32))
        own = [one if one.shape[1] == 1 else take(one, places, axis=1) for one in (self._codes, self._weights)]
        return SharedRows(self.samples, *own, fit_intercept=self.fit_intercept)

    def sums(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the summed losses, and their gradients, for flat weights of shape (problems, columns)."""
        found = []
        for features, codes, weights, scores in self._slabs(flat):
            losses = self._reduce(scores, codes, weights, map=_loss, axis=0)
            residuals = map_elements(_residual, scores, codes, weights, device=self.device)
            slopes = self._product(residuals.T, features)
            found.append((losses, slopes, self._reduce(residuals, axis=0) if self.fit_intercept else None))
        total, gradient = np.zeros(len(flat)), np.zeros(flat.shape)
        for losses, slopes, constants in found:  # after all of them have been launched
            total += self.device.to_host(losses)
            gradient[:, : slopes.shape[1]] += self.device.to_host(slopes)
            if constants is not None:
                gradient[:, -1] += self.device.to_host(constants)
        return total, gradient

    def hessians(self, flat: np.ndarray) -> np.ndarray:
        """Return the second derivatives of the summed losses, of shape (problems, columns, columns)."""
        k, found = self._features.shape[1], np.zeros((*flat.shape, flat.shape[1]))
        for features, _, weights, scores in self._slabs(flat):
            curvatures = map_elements(curvature_of_row, scores, weights, device=self.device)
            if len(flat) >= _FEWEST_SHARING and k <= _MOST_PAIRED:
                self._add_pairs(features, curvatures, found)
            else:
                for own, matrix in enumerate(found):
                    given = features, curvatures[:, own : own + 1], self._product
                    matrix[:k, :k] += gram_by_products(self.device, *given)
            if self.fit_intercept:
                found[:, :k, k] += self.device.to_host(self._product(curvatures.T, features))
                found[:, k, k] += self.device.to_host(self._reduce(curvatures, axis=0))
        if self.fit_intercept:
            found[:, k, :k] = found[:, :k, k]
        return found

    def wrong(self, flat: np.ndarray) -> np.ndarray:
        """Return, for each problem, the number of rows of positive weight on the wrong side of the plane or on it."""
        found = np.zeros(len(flat))
        for _, codes, weights, scores in self._slabs(flat):
            found += self.device.to_host(self._reduce(scores, codes, weights, map=_is_wrong, axis=0))
        return found

    def _slabs(self, flat: np.ndarray) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Yield features, labels, weights and scores of some rows at a time."""
        n, k = self._features.shape
        dtype = self.samples.dtype
        coefficients = self.device.asarray(np.ascontiguousarray(flat[:, :k], dtype))
        constants = self.device.asarray(np.ascontiguousarray(flat[:, k:].T, dtype)) if self.fit_intercept else None
        rows = max(_SCORE_BYTES // (len(flat) * dtype.itemsize), 1)
        for start in range(0, n, rows):
            some = slice(start, start + rows)
            features = self._features.array[some]
            scores = self._product(features, coefficients.T)
            if constants is not None:
                scores = map_elements("z + b", scores, constants, out=scores, device=self.device)
            yield features, self._codes[some], self._weights[some], scores

    def _add_pairs(self, features: Any, curvatures: Any, found: np.ndarray) -> None:
        """Add the features' part of Hessians: a product of the problems' curvatures and of pairs of features.

        All problems share the pairs, which are one half of the multiplications of a Gram matrix for each.
        """
        n, k = features.shape
        blocks = [(start, min(start + _PAIR_COLUMNS, k)) for start in range(0, k, _PAIR_COLUMNS)]
        for number, (first, last) in enumerate(blocks):
            for begin, end in blocks[: number + 1]:
                high, wide = last - first, end - begin
                rows = max(_PAIR_BYTES // (high * wide * features.dtype.itemsize), 1)
                parts = []
                for start in range(0, n, rows):
                    some = features[start : start + rows]
                    count = some.shape[0]
                    given = some[:, first:last].reshape(count, high, 1), some[:, begin:end].reshape(count, 1, wide)
                    pairs = map_elements("x*y", *given, device=self.device).reshape(count, high * wide)
                    parts.append(self._product(curvatures[start : start + rows].T, pairs))
                block = sum(self.device.to_host(one).astype(np.float64) for one in parts)
                block = np.reshape(block, (len(found), high, wide))
                found[:, first:last, begin:end] += block
                if first != begin:
                    found[:, begin:end, first:last] += block.transpose(0, 2, 1)

    def _reduce(self, *arrays: Any, **how: Any) -> Any:
        return reduce(*arrays, device=self.device, **how)


def product_of(samples: Samples) -> Any:
    """Return a vendor's product of dense features and matrices of their dtype; None if there is none."""
    if not isinstance(samples.features, DenseFeatures) or samples.features.scale is not None:
        return None
    return getattr(samples.device.driver, "matmul", None)


# Functions of elements, defined once so that their kernels are found by identity.


def _loss(score: Any, label: Any, weight: Any) -> Any:
    return loss_and_residual(score, label, weight)[0]


def _residual(score: Any, label: Any, weight: Any) -> Any:
    return loss_and_residual(score, label, weight)[1]


def _is_wrong(score: Any, label: Any, weight: Any) -> Any:
    return np.where((weight > 0) & (score * (label + label - 1) <= 0), 1, 0)
