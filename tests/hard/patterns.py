"""Long arrays of one byte an element, whose order, sums and counts are known without computing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import gpuprims

# Period of the elements: a prime, so that no two slabs or tiles begin with the same element.
PERIOD = 251
_CHUNK = PERIOD << 16


def pattern(size: int) -> np.ndarray:
    """Return 0 ... 250, repeated."""
    return np.resize(np.arange(PERIOD, dtype=np.uint8), size) if size < _CHUNK else _repeated(size)


def _repeated(size: int) -> np.ndarray:
    array, chunk = np.empty(size, np.uint8), np.resize(np.arange(PERIOD, dtype=np.uint8), _CHUNK)
    for start in range(0, size, _CHUNK):
        array[start : start + _CHUNK] = chunk[: min(_CHUNK, size - start)]
    return array


def counts(size: int, bins: int = PERIOD) -> np.ndarray:
    """Return how often each number is in the pattern."""
    rounds, left = divmod(size, PERIOD)
    return np.asarray(rounds * (np.arange(bins) < PERIOD) + (np.arange(bins) < left), np.int64)


@contextmanager
def marked(x: Any, size: int, value: int) -> Iterator[None]:
    """Have another value at the last place."""
    _put(x, size - 1, value)
    try:
        yield
    finally:
        _put(x, size - 1, (size - 1) % PERIOD)


def _put(x: Any, place: int, value: int) -> None:
    """Set an element of an array of the host or of a device; assigning to pyopencl's would compile a kernel."""
    if isinstance(x, np.ndarray):
        x[place] = value
    else:
        x[place : place + 1].set(np.array([value], np.uint8))


def same(device: gpuprims.Device, got: Any, size: int, expected: Callable[[np.ndarray], np.ndarray]) -> None:
    """Compare both ends, the neighbourhoods of 2^31 and 2^32, and places between, with a function of the index."""
    if got.shape != (size,):
        raise AssertionError(f"{size} elements; got {got.shape}")
    step = max(size // 64, 1)
    for middle in {0, size, 2**31, 2**32, *range(0, size, step)}:
        low, high = max(middle - 70_000, 0), min(middle + 70_000, size)
        if low < high:
            np.testing.assert_array_equal(on_host(device, got[low:high]), expected(np.arange(low, high)))


def on_host(device: gpuprims.Device, array: Any) -> Any:
    """Return an array of the host, or a number."""
    return array if isinstance(array, (np.ndarray, np.generic, int)) else device.to_host(array)
