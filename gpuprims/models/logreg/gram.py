"""The weighted Gram matrix of dense features, by reductions, by NumPy's products or by a vendor's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_BLOCK = 2**20  # elements multiplied at once on a CPU (measurements.md, gram block)
# Bytes of a slab of rows that a vendor's product takes at once.
_SLAB_BYTES = 64 << 20


def gram_by_reduce(device: Device, array: Any, weights: Any) -> np.ndarray:
    """Return ``array.T @ (weights * array)`` with one reduction per element."""
    n, k = array.shape
    three = weights.reshape(n, 1, 1), array.reshape(n, k, 1), array.reshape(n, 1, k)
    return device.to_host(reduce(*three, map="d*x*y", axis=0, device=device)).astype(np.float64)


def gram_by_blocks(device: Device, array: Any, weights: Any) -> np.ndarray:
    """Return ``array.T @ (weights * array)`` by NumPy's BLAS, for devices that are the host's CPU.

    Blocks of rows fit in the cache; their products are added in float64.
    """
    n, k = array.shape
    rows, total = max(_BLOCK // k, 1), np.zeros((k, k))
    for start in range(0, n, rows):
        block, own = (device.to_host(one[start : start + rows]) for one in (array, weights))
        weighted = own * block  # has the weights' dtype, also for features in fewer bits
        total += block.astype(weighted.dtype, copy=False).T @ weighted
    return total


def gram_by_products(device: Device, array: Any, weights: Any, product: Callable[[Any, Any], Any]) -> np.ndarray:
    """Return ``array.T @ (weights * array)`` by a vendor's matrix products of slabs of rows, added in float64.

    Their rounding, some 1e-6 of the largest element, changes Newton's steps, not where they end.
    """
    n, k = array.shape
    rows, total = max(_SLAB_BYTES // (k * array.dtype.itemsize), 1), np.zeros((k, k))
    products = []
    for start in range(0, n, rows):
        slab = array[start : start + rows]
        weighted = map_elements("w*x", weights[start : start + rows], slab, device=device)
        products.append(product(slab.T, weighted))
    for one in products:  # after all of them have been launched
        total += device.to_host(one)
    return total
