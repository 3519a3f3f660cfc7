"""Arrays of more than 2^31 and 2^32 elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gpuprims
from gpuprims.errors import DeviceMemoryError

from .report import Report, available_memory

SIZES = (2**31 + 8, 2**32 + 5)
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


def total(size: int) -> int:
    """Return the sum of the pattern."""
    rounds, left = divmod(size, PERIOD)
    return rounds * (PERIOD * (PERIOD - 1) // 2) + left * (left - 1) // 2


def _sum(device: gpuprims.Device, x: Any, size: int) -> None:
    got = int(_host(device, gpuprims.reduce(x, device=device, dtype=np.int64)))
    if got != total(size):
        raise AssertionError(f"the sum {total(size)}; got {got}")


def _last_place(device: gpuprims.Device, x: Any, size: int) -> None:
    _put(x, size - 1, 255)
    try:
        got = int(_host(device, gpuprims.reduce(x, op="argmax", device=device)))
    finally:
        _put(x, size - 1, (size - 1) % PERIOD)
    if got != size - 1:
        raise AssertionError(f"the place {size - 1}; got {got}")


def _put(x: Any, place: int, value: int) -> None:
    """Set an element of an array of the host or of a device; assigning to pyopencl's would compile a kernel."""
    if isinstance(x, np.ndarray):
        x[place] = value
    else:
        x[place : place + 1].set(np.array([value], np.uint8))


def _histogram(device: gpuprims.Device, x: Any, size: int) -> None:
    got = _host(device, gpuprims.histogram(x, 256, (0, 256), device=device)[0])
    rounds, left = divmod(size, PERIOD)
    expected = rounds * (np.arange(256) < PERIOD) + (np.arange(256) < left)
    np.testing.assert_array_equal(got, expected)


def _map(device: gpuprims.Device, x: Any, size: int) -> None:
    _same(device, gpuprims.map("x ^ 90", x, device=device), size, lambda k: (k % PERIOD).astype(np.uint8) ^ 90)


def _scan(device: gpuprims.Device, x: Any, size: int) -> None:
    # Running sums modulo 256: whole rounds, plus the part of a round that remains.
    within = np.cumsum(np.arange(PERIOD))

    def expected(k: np.ndarray) -> np.ndarray:
        rounds, left = np.divmod(k, PERIOD)
        return np.asarray((rounds * within[-1] + within[left]) & 255, np.uint8)

    _same(device, gpuprims.scan(x, dtype=np.uint8, device=device), size, expected)


def _same(device: gpuprims.Device, got: Any, size: int, expected: Callable[[np.ndarray], np.ndarray]) -> None:
    """Compare both ends, the neighbourhoods of 2^31 and 2^32, and places between."""
    if got.shape != (size,):
        raise AssertionError(f"{size} elements; got {got.shape}")
    step = max(size // 64, 1)
    for middle in {0, size, 2**31, 2**32, *range(0, size, step)}:
        low, high = max(middle - 70_000, 0), min(middle + 70_000, size)
        if low < high:
            np.testing.assert_array_equal(_host(device, got[low:high]), expected(np.arange(low, high)))


def _host(device: gpuprims.Device, array: Any) -> Any:
    return array if isinstance(array, (np.ndarray, np.generic, int)) else device.to_host(array)


# Each call, and the number of arrays of the input's size that it needs beside the input.
CALLS: dict[str, tuple[Callable[[gpuprims.Device, Any, int], None], int]] = {
    "reduce": (_sum, 0), "argmax": (_last_place, 0), "histogram": (_histogram, 0), "map": (_map, 1), "scan": (_scan, 1),
}  # fmt: skip


def large(devices: Sequence[gpuprims.Device], sizes: Sequence[int] = SIZES) -> Report:
    """Call each primitive on arrays of each size, where there is memory for them."""
    report = Report("large arrays")
    for device in devices:
        for size in sizes:
            _each(report, device, size)
    return report


def _each(report: Report, device: gpuprims.Device, size: int) -> None:
    x: Any = None
    for name, (call, arrays) in CALLS.items():
        label = f"{name} of {size:,} on {device.spec}"
        needed = (arrays + 1 + (x is None)) * size * 5 // 4 - (0 if x is None else size)
        free = available_memory()
        if free is not None and free < needed:
            report.note(f"left out: {label}: needs {needed >> 20} MiB of the host; {free >> 20} are free")
            continue
        try:
            if x is None:
                x = pattern(size) if device.driver.shares_host_memory else device.asarray(pattern(size))
            call(device, x, size)
            report.count("calls")
        except (DeviceMemoryError, MemoryError) as error:
            report.note(f"left out: {label}: {error}")
        except Exception as error:  # whatever comes is a failure
            report.fail(label, error)
