"""Arrays of more than 2^31 and 2^32 elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import gpuprims
from gpuprims.errors import DeviceMemoryError

from .large_order import ORDER_CALLS
from .patterns import PERIOD, counts, marked, on_host, pattern, same
from .report import Report, available_memory

SIZES = (2**31 + 7, 2**32 + 5)


def _sum(device: gpuprims.Device, x: Any, size: int) -> None:
    got = int(on_host(device, gpuprims.reduce(x, device=device, dtype=np.int64)))
    expected = int(counts(size) @ np.arange(PERIOD))
    if got != expected:
        raise AssertionError(f"the sum {expected}; got {got}")


def _exact_sum(device: gpuprims.Device, x: Any, size: int) -> None:
    """Sums that nearly cancel, with denormals: exact, rounded once, also from the end."""
    every = np.arange(PERIOD, dtype=np.uint8)
    for kind, least in (("float32", 2.0**-148), ("float64", 2.0**-1073)):
        each = (
            f"where(x % 3 == 0, ({kind}(x) - 125) * {2.0**60}, where(x % 3 == 1, {kind}(x) / 7, {kind}(x) * {least!r}))"
        )
        addends = gpuprims.map(each, every, device="reference", determinism="device")
        exact = sum(int(n) * Fraction(float(one)) for n, one in zip(counts(size), addends, strict=True))
        for ordered in (x, x[::-1]):
            got = gpuprims.reduce(ordered, map=each, device=device, determinism="order")
            if float(on_host(device, got)) != float(addends.dtype.type(float(exact))):
                raise AssertionError(f"the exact sum {float(exact)!r} of {kind}; got {got!r}")


def _last_place(device: gpuprims.Device, x: Any, size: int) -> None:
    with marked(x, size, 255):
        got = int(on_host(device, gpuprims.reduce(x, op="argmax", device=device)))
    if got != size - 1:
        raise AssertionError(f"the place {size - 1}; got {got}")


def _histogram(device: gpuprims.Device, x: Any, size: int) -> None:
    got = on_host(device, gpuprims.histogram(x, 256, (0, 256), device=device)[0])
    np.testing.assert_array_equal(got, counts(size, 256))


def _map(device: gpuprims.Device, x: Any, size: int) -> None:
    same(device, gpuprims.map("x ^ 90", x, device=device), size, lambda k: (k % PERIOD).astype(np.uint8) ^ 90)


def _scan(device: gpuprims.Device, x: Any, size: int) -> None:
    # Running sums modulo 256: whole rounds, plus the part of a round that remains.
    within = np.cumsum(np.arange(PERIOD))

    def expected(k: np.ndarray) -> np.ndarray:
        rounds, left = np.divmod(k, PERIOD)
        return np.asarray((rounds * within[-1] + within[left]) & 255, np.uint8)

    same(device, gpuprims.scan(x, dtype=np.uint8, device=device), size, expected)


# Each call, and the number of arrays of the input's size that it needs beside the input.
CALLS: dict[str, tuple[Callable[[gpuprims.Device, Any, int], None], int]] = {
    "reduce": (_sum, 0), "exact sum": (_exact_sum, 0), "argmax": (_last_place, 0), "histogram": (_histogram, 0),
    "map": (_map, 1), "scan": (_scan, 1),
    **ORDER_CALLS,
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
    here = device.driver.shares_host_memory
    for name, (call, arrays) in CALLS.items():
        label = f"{name} of {size:,} on {device.spec}"
        needed = ((x is None) + arrays * here) * size * 5 // 4
        free = available_memory()
        if free is not None and free < needed:
            report.note(f"left out: {label}: needs {needed >> 20} MiB of the host; {free >> 20} are free")
            continue
        try:
            if x is None:
                x = pattern(size) if here else device.asarray(pattern(size))
            call(device, x, size)
            report.count("calls")
        except (DeviceMemoryError, MemoryError) as error:
            report.note(f"left out: {label}: {error}")
        except Exception as error:  # whatever comes is a failure
            report.fail(label, error)
