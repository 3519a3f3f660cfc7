"""Principal directions of samples with more features than there are samples, from the samples' inner products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuprims.models.decomposition.moments import Moments, moments_of, principal
from gpuprims.models.features import DenseFeatures
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Bytes of a block of columns, copied around the mean.
_BLOCK_BYTES = 64 << 20


@dataclass(frozen=True)
class WideMoments:
    """The mean of samples, and the inner products of their deviations from it, of shape (n_samples, n_samples).

    They have the same nonzero eigenvalues as the scatter of the features, which is a larger matrix if there are more
    features than samples (I. T. Jolliffe, "Principal Component Analysis", 2002, section 3.5).
    """

    samples: DenseFeatures
    mean: np.ndarray
    inner: np.ndarray

    @property
    def size(self) -> int:
        """Number of samples."""
        return len(self.inner)

    @property
    def features(self) -> int:
        """Number of features."""
        return len(self.mean)

    @property
    def total(self) -> float:
        """The sum of all squares."""
        return float(np.trace(self.inner))

    def principal(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``most`` largest eigenvalues of the scatter, not below 0, and their vectors as rows."""
        values, vectors = principal(self.inner, most)
        lost = float(np.finfo(self.samples.array.dtype).eps) * self.size * values[0]
        kept = int(np.count_nonzero(values > lost))
        rows = _combined(self.samples, self.mean, vectors[:kept] / np.sqrt(values[:kept, None]))
        return np.where(values > lost, values, 0.0), _completed(rows, most)


def narrow_or_wide(samples: DenseFeatures) -> Moments | WideMoments | None:
    """Return the moments that take less memory; None if they are not finite."""
    n, k = samples.shape
    return wide_moments_of(samples) if n < k else moments_of(samples)


def wide_moments_of(samples: DenseFeatures) -> WideMoments | None:
    """Return the moments of samples; None if they are not finite."""
    device, n = samples.device, samples.shape[0]
    mean = device.to_host(reduce(samples.array, op="mean", axis=0, device=device))
    product, inner, shifts = _product_of(samples), np.zeros((n, n)), []
    for _, block in _centred(samples, mean):
        shifts.append(device.to_host(reduce(block, op="mean", axis=0, device=device)))  # the mean's rounding
        inner += product(block, block.T)
    if not np.isfinite(inner).all():
        return None
    inner -= inner.mean(axis=0)
    inner -= inner.mean(axis=1, keepdims=True)
    return WideMoments(samples, mean.astype(np.float64) + np.concatenate(shifts), (inner + inner.T) / 2)


def _centred(samples: DenseFeatures, mean: np.ndarray) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of columns: which ones, and their deviations from a mean, on the device."""
    device, array, (n, k) = samples.device, samples.array, samples.shape
    there = device.asarray(mean.astype(array.dtype).reshape(1, k))
    columns = max(_BLOCK_BYTES // (n * array.dtype.itemsize), 1)
    for part in (slice(start, min(start + columns, k)) for start in range(0, k, columns)):
        yield part, map_elements("x - a", array[:, part], there[:, part], device=device)


def _combined(samples: DenseFeatures, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ``weights @ (X - mean)`` on the host in float64."""
    if not len(weights):
        return np.zeros((0, samples.shape[1]))
    device, product = samples.device, _product_of(samples)
    there = device.asarray(np.ascontiguousarray(weights, samples.array.dtype))
    found = np.empty((len(weights), samples.shape[1]))
    for part, block in _centred(samples, mean):
        found[:, part] = product(there, block)
    return found


def _product_of(samples: DenseFeatures) -> Callable[[Any, Any], np.ndarray]:
    """Return a function that multiplies two matrices on the device, and returns the result on the host in float64."""
    device = samples.device
    vendors: Callable[[Any, Any], Any] | None = getattr(device.driver, "matmul", None)

    def product(one: Any, other: Any) -> np.ndarray:
        if device.capabilities.kind in ("cpu", "reference"):
            found = device.to_host(one) @ device.to_host(other)
        elif vendors is not None:
            found = device.to_host(vendors(one, other))
        else:
            (m, c), n = one.shape, other.shape[1]
            beside = one.reshape(m, 1, c), other.T.reshape(1, n, c)
            found = device.to_host(reduce(*beside, map="x*y", axis=2, device=device))
        return np.asarray(found, np.float64)

    return product


def _completed(rows: np.ndarray, most: int) -> np.ndarray:
    """Return orthonormal rows with further ones orthogonal to them, ``most`` in all."""
    missing = most - len(rows)
    if not missing:
        return rows
    further = np.random.default_rng(0).standard_normal((missing, rows.shape[1]))
    for _ in range(2):  # once leaves rounding
        further -= (further @ rows.T) @ rows
    return np.concatenate([rows, np.linalg.qr(further.T)[0].T])
