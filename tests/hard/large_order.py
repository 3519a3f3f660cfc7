"""Calls that put a long pattern in order, or search in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gpuprims

from .patterns import PERIOD, counts, marked, on_host, same

_EVERY = np.arange(256, dtype=np.uint8)


def _value(size: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from an index to the element there of the sorted pattern."""
    ends = np.cumsum(counts(size))
    return lambda k: np.searchsorted(ends, k, "right").astype(np.uint8)


def _sort(device: gpuprims.Device, x: Any, size: int) -> None:
    same(device, gpuprims.sort(x, device=device), size, _value(size))


def _argsort(device: gpuprims.Device, x: Any, size: int) -> None:
    value, begins = _value(size), np.cumsum(counts(size)) - counts(size)

    def expected(k: np.ndarray) -> np.ndarray:
        element = value(k).astype(np.int64)
        return element + PERIOD * (k - begins[element])

    same(device, gpuprims.argsort(x, device=device), size, expected)


def _top_k(device: gpuprims.Device, x: Any, size: int) -> None:
    for k in (10, 1000):
        with marked(x, size, 255):
            greatest = gpuprims.top_k(x, k, device=device)
            least = gpuprims.top_k(x, k, largest=False, device=device)
            places = np.array([size - 1, *(np.arange(k - 1) * PERIOD + PERIOD - 1)])
            _equal(device, greatest, (np.uint8([255] + [PERIOD - 1] * (k - 1)), places))
            _equal(device, least, (np.zeros(k, np.uint8), np.arange(k) * PERIOD))


def _unique(device: gpuprims.Device, x: Any, size: int) -> None:
    with marked(x, size, 255):
        got = gpuprims.unique(x, return_counts=True, device=device)
        _equal(device, got, (np.uint8([*range(PERIOD), 255]), np.array([*counts(size - 1), 1])))


def _unique_with_indices(device: gpuprims.Device, x: Any, size: int) -> None:
    with marked(x, size, 255):
        distinct, first, inverse = gpuprims.unique(x, return_index=True, return_inverse=True, device=device)
        _equal(device, (distinct, first), (np.uint8([*range(PERIOD), 255]), np.array([*range(PERIOD), size - 1])))
        same(device, inverse, size, lambda k: np.where(k == size - 1, PERIOD, k % PERIOD))


def _median(device: gpuprims.Device, x: Any, size: int) -> None:
    value, middle = _value(size), np.array([(size - 1) // 2, size // 2])
    _equal(device, (gpuprims.median(x, device=device),), (np.mean(value(middle)),))
    for q in (0.25, 0.999):
        rank = np.array([int(np.floor(q * (size - 1)))])
        got = gpuprims.quantile(x, q, method="lower", device=device)
        _equal(device, (got,), (value(rank)[0],))


def _partition(device: gpuprims.Device, x: Any, size: int) -> None:
    ranks = (size // 3, size - 2)
    got = gpuprims.partition(x, list(ranks), device=device)
    value = _value(size)
    pivots, begins = value(np.array(ranks)), np.cumsum(counts(size)) - counts(size)
    edges = np.array([0, *begins[pivots], size])
    # Places at both sides of each edge and of each rank, and some between.
    around = np.concatenate([edges, ranks, np.linspace(0, size - 1, 1001).astype(np.int64)])
    places = np.unique(np.clip(around[:, None] + np.arange(-3, 4), 0, size - 1))
    found = on_host(device, gpuprims.take(got, _there(device, x, places), device=device))
    np.testing.assert_array_equal(found[np.isin(places, ranks)], value(places[np.isin(places, ranks)]))
    for pivot, begin in zip(pivots, edges[1:-1], strict=True):
        end = begin + counts(size)[pivot]
        np.testing.assert_array_equal(found < pivot, places < begin)
        np.testing.assert_array_equal(found > pivot, places >= end)
    sums = [int(on_host(device, gpuprims.reduce(one, dtype=np.int64, device=device))) for one in (x, got)]
    if sums[0] != sums[1]:
        raise AssertionError(f"the elements of the input, whose sum is {sums[0]}; got {sums[1]}")


def _searchsorted(device: gpuprims.Device, x: Any, size: int) -> None:
    ordered, before = gpuprims.sort(x, device=device), np.cumsum(np.insert(counts(size, 256), 0, 0))
    for side, expected in (("left", before[:-1]), ("right", before[1:])):
        _equal(device, (gpuprims.searchsorted(ordered, _there(device, x, _EVERY), side, device=device),), (expected,))


def _many_keys(device: gpuprims.Device, x: Any, size: int) -> None:
    steps = _there(device, x, _EVERY[::2].copy())
    same(device, gpuprims.searchsorted(steps, x, "right", device=device), size, lambda k: k % PERIOD // 2 + 1)


def _merge(device: gpuprims.Device, x: Any, size: int) -> None:
    ordered = gpuprims.sort(x, device=device)
    for cut in (size // 3, size - 5):
        same(device, gpuprims.merge(ordered[cut:], ordered[:cut], device=device), size, _value(size))


def _take(device: gpuprims.Device, x: Any, size: int) -> None:
    indices = np.array([size - 1, 0, size // 2, min(2**31, size - 2), -1, -size, -(size // 3)])
    got = gpuprims.take(x, _there(device, x, indices), device=device)
    _equal(device, (got,), ((indices % size % PERIOD).astype(np.uint8),))


def _there(device: gpuprims.Device, x: Any, array: np.ndarray) -> Any:
    """Return a short array where the long one is."""
    return array if isinstance(x, np.ndarray) else device.asarray(array)


def _equal(device: gpuprims.Device, got: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(on_host(device, one), other)


# As ``CALLS`` of large.py. A sort needs its result and room for two rows; for indices of 8 bytes, 8 times as much.
ORDER_CALLS: dict[str, tuple[Callable[[gpuprims.Device, Any, int], None], int]] = {
    "sort": (_sort, 3), "argsort": (_argsort, 26), "top_k": (_top_k, 0), "unique": (_unique, 13),
    "unique with indices": (_unique_with_indices, 52), "median": (_median, 0), "partition": (_partition, 4),
    "searchsorted": (_searchsorted, 3),
    "searchsorted of many keys": (_many_keys, 8), "merge": (_merge, 3), "take": (_take, 0),
}  # fmt: skip
