"""Products of centred samples with a matrix, by reductions, by NumPy's products or by a vendor's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.models.features import DenseFeatures
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Elements multiplied at once on a CPU, and bytes of a slab on a GPU, as of Gram matrices (measurements.md, gram block).
_BLOCK, _SLAB_BYTES = 2**20, 64 << 20


def centred_product(features: DenseFeatures, centre: np.ndarray, matrix: np.ndarray) -> Any:
    """Return ``(X - centre) @ matrix.T`` on the device, in the dtype of the features.

    The centre is subtracted before the products, so that features far from zero keep their digits.
    """
    device, array = features.device, features.array
    centre, matrix = centre.astype(array.dtype), np.ascontiguousarray(matrix, array.dtype)
    if device.capabilities.kind in ("cpu", "reference"):
        return by_blocks(device, array, centre, matrix)
    product: Callable[[Any, Any], Any] | None = getattr(device.driver, "matmul", None)
    if product is None:
        return by_reduce(device, array, centre, matrix)
    return by_products(device, array, centre, matrix, product)


def by_blocks(device: Device, array: Any, centre: np.ndarray, matrix: np.ndarray) -> Any:
    """Return the product by NumPy's BLAS, for devices that are the host's CPU; blocks of rows fit in the cache."""
    (n, k), dtype = array.shape, array.dtype
    host, rows = np.empty((n, len(matrix)), dtype), max(_BLOCK // k, 1)
    for start in range(0, n, rows):
        block = device.to_host(array[start : start + rows]) - centre
        np.matmul(block, matrix.T, out=host[start : start + rows])
    return device.asarray(host)


def by_reduce(device: Device, array: Any, centre: np.ndarray, matrix: np.ndarray) -> Any:
    """Return the product with one reduction per element."""
    (n, k), outputs = array.shape, len(matrix)
    there, beside = device.asarray(centre.reshape(1, 1, k)), device.asarray(matrix.reshape(1, outputs, k))
    return reduce(array.reshape(n, 1, k), there, beside, map="(x - a) * w", axis=2, device=device)


def by_products(
    device: Device, array: Any, centre: np.ndarray, matrix: np.ndarray, product: Callable[[Any, Any], Any]
) -> Any:
    """Return the product by a vendor's products of slabs of rows."""
    (n, k), dtype = array.shape, np.dtype(array.dtype)
    there, beside = device.asarray(centre.reshape(1, k)), device.asarray(matrix)
    found, rows = device.driver.empty((n, len(matrix)), dtype), max(_SLAB_BYTES // (k * dtype.itemsize), 1)
    for start in range(0, n, rows):
        block = map_elements("x - a", array[start : start + rows], there, device=device)
        map_elements("z", product(block, beside.T), out=found[start : start + rows], device=device)
    return found
