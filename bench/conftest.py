"""One measurement, checked before it is timed, and the table of GB/s that a run ends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import Contender, Work, check, random_array

import gpuprims


class Arrays:
    """The input of one size, on the host and on the device; the last size asked for is kept."""

    def __init__(self) -> None:
        self._key: tuple[str, int] | None = None
        self._pair: tuple[np.ndarray, Any] | None = None

    def of(self, device: gpuprims.Device, size: int) -> tuple[np.ndarray, Any]:
        """Return both copies."""
        if self._pair is None or self._key != (device.spec, size):
            self._pair = None  # before the next is allocated
            host = random_array(size)
            self._key, self._pair = (device.spec, size), (host, device.driver.asarray(host))
        return self._pair


@pytest.fixture(scope="session")
def arrays() -> Arrays:
    """The input of the current size."""
    return Arrays()


@pytest.fixture
def measure(benchmark: Any, arrays: Arrays) -> Callable[..., None]:
    """Check a contender's result, then time it until its work is done."""

    def run(device: gpuprims.Device, size: int, work: Work, contender: Contender) -> None:
        shape = work.shape(size)
        host, resident = (array.reshape(shape) for array in arrays.of(device, size))
        x = host if contender.on_host else resident
        result = contender.run(x)
        device.synchronize()
        check(work, on_host(device, result), host)
        del result

        def call() -> None:
            contender.run(x)
            device.synchronize()

        nbytes = work.bytes_per_element * size
        benchmark.group = f"{work.name}, 2^{size.bit_length() - 1} float32"
        benchmark(call)
        if benchmark.stats:  # none with --benchmark-disable
            rate = nbytes / benchmark.stats.stats.median / 1e9
            benchmark.extra_info.update(device=device.capabilities.name, contender=contender.name)
            benchmark.extra_info.update(bytes=nbytes, gb_per_s=round(rate, 2))

    return run


def on_host(device: gpuprims.Device, result: Any) -> np.ndarray:
    return np.asarray(result if isinstance(result, np.ndarray | np.generic) else device.driver.download(result))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print a row for each piece of work and size, one for each contender: GB/s where bytes are moved, and the time."""
    measured = [bench for bench in config._benchmarksession.benchmarks if "contender" in bench.extra_info]
    for device in dict.fromkeys(bench.extra_info["device"] for bench in measured):
        terminalreporter.section(f"medians on {device}")
        rows = [bench for bench in measured if bench.extra_info["device"] == device]
        for group in dict.fromkeys(bench.group for bench in rows):
            terminalreporter.line(group)
            for bench in (bench for bench in rows if bench.group == group):
                rate = bench.extra_info.get("gb_per_s")
                moved = f"{rate:>10.2f} GB/s" if rate else " " * 15
                name, median = bench.extra_info["contender"], bench.stats.median
                terminalreporter.line(f"    {name:30}{moved}{median * 1e6:>12.1f} us")
