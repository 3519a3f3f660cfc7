"""Gram matrices of dense features, by reductions, by NumPy's products or by a vendor's."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.models.blas import one_thread
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_BLOCK = 2**20  # elements multiplied at once on a CPU (measurements.md, gram block)
# Bytes of a slab of rows that a vendor's product takes at once.
_SLAB_BYTES = 256 << 20
# The same of rows that need no copy (measurements.md, gram of rows).
_LARGE_SLAB_BYTES = 1 << 30
# Columns of a slab around a centre are a multiple of this, so that the vendor's kernels load aligned vectors.
_ALIGNED = 4


def gram_by_reduce(device: Device, array: Any, weights: Any) -> np.ndarray:
    """Return ``array.T @ (weights * array)`` with one reduction per element."""
    n, k = array.shape
    three = weights.reshape(n, 1, 1), array.reshape(n, k, 1), array.reshape(n, 1, k)
    return device.to_host(reduce(*three, map="d*x*y", axis=0, device=device)).astype(np.float64)


def gram_by_blocks(device: Device, array: Any, weights: Any) -> np.ndarray:
    """Return ``array.T @ (weights * array)`` by NumPy's BLAS, for devices that are the host's CPU.

    Blocks of rows fit in the cache; their products are added in float64. Each thread multiplies its own blocks, since
    the threads of one product wait for each other, for a long time if other programs use the cores.
    """
    n, k = array.shape
    rows = max(_BLOCK // k, 1)
    starts = range(0, n, rows)

    def some(thread: int) -> np.ndarray:
        total = np.zeros((k, k))
        for start in starts[thread::threads]:
            block, own = (device.to_host(one[start : start + rows]) for one in (array, weights))
            weighted = own * block  # has the weights' dtype, also for features in fewer bits
            total += block.astype(weighted.dtype, copy=False).T @ weighted
        return total

    threads = min(len(starts), os.cpu_count() or 1)
    if threads < 2:
        return some(0)
    with one_thread(), ThreadPoolExecutor(threads) as pool:
        found: np.ndarray = np.sum(list(pool.map(some, range(threads))), axis=0)
    return found


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


# Around a centre -----------------------------------------------------------------------------------------------------


def centred_by_reduce(device: Device, array: Any, centre: np.ndarray) -> np.ndarray:
    """Return ``Z.T @ Z`` for ``Z = [array - centre, 1]``, with one reduction per element."""
    (n, k), there = array.shape, device.asarray(centre.astype(array.dtype))
    pair = array.reshape(n, 1, k), there.reshape(1, 1, k), array.reshape(n, k, 1), there.reshape(1, k, 1)
    squares = reduce(*pair, map="(x - a) * (y - b)", axis=0, device=device)
    sums = reduce(array, there.reshape(1, k), map="x - a", axis=0, device=device)
    return _bordered(device.to_host(squares).astype(np.float64), device.to_host(sums).astype(np.float64), n)


def centred_by_blocks(device: Device, array: Any, centre: np.ndarray) -> np.ndarray:
    """Return :func:`centred_by_reduce`'s matrix by NumPy's BLAS, block by block, as :func:`gram_by_blocks`."""
    (n, k), squares = array.shape, np.zeros((array.shape[1],) * 2)
    sums, centre = np.zeros(k), centre.astype(array.dtype)
    for start in range(0, n, rows := max(_BLOCK // k, 1)):
        block = device.to_host(array[start : start + rows]) - centre
        squares += block.T @ block
        sums += block.sum(axis=0, dtype=np.float64)
    return _bordered(squares, sums, n)


def centred_by_products(
    device: Device, array: Any, centre: np.ndarray, product: Callable[[Any, Any], Any]
) -> np.ndarray:
    """Return :func:`centred_by_reduce`'s matrix by a vendor's products of slabs, as :func:`gram_by_products`."""
    if not centre.any():
        return _by_products_of_rows(device, array, product)
    (n, k), dtype = array.shape, np.dtype(array.dtype)
    width = -(-(k + 1) // _ALIGNED) * _ALIGNED
    rows = min(max(_SLAB_BYTES // (width * dtype.itemsize), 1), n)
    there, slab = device.asarray(centre.astype(dtype).reshape(1, k)), device.driver.zeros((rows, width), dtype)
    map_elements("z + 1", slab[:, k : k + 1], out=slab[:, k : k + 1], device=device)
    products = []
    for start in range(0, n, rows):
        part = slab[: min(rows, n - start)]
        map_elements("x - a", array[start : start + rows], there, out=part[:, :k], device=device)
        products.append(product(part.T, part))
    total = np.zeros((width, width))
    for one in products:  # after all of them have been launched
        total += device.to_host(one)
    return total[: k + 1, : k + 1]


def _by_products_of_rows(device: Device, array: Any, product: Callable[[Any, Any], Any]) -> np.ndarray:
    """Return the matrix for a centre of zero, by products of the rows where they lie in memory."""
    n, k = array.shape
    rows = max(_LARGE_SLAB_BYTES // (k * array.dtype.itemsize), 1)
    slabs = [array[start : start + rows] for start in range(0, n, rows)]
    products = [product(slab.T, slab) for slab in slabs]
    sums = [reduce(slab, axis=0, device=device) for slab in slabs]
    total, along = np.zeros((k, k)), np.zeros(k)
    for one, some in zip(products, sums, strict=True):  # after all of them have been launched
        total += device.to_host(one)
        along += device.to_host(some)
    return _bordered(total, along, n)


def _bordered(squares: np.ndarray, sums: np.ndarray, count: int) -> np.ndarray:
    return np.block([[squares, sums[:, None]], [sums[None, :], np.full((1, 1), float(count))]])
