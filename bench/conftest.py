"""One measurement, checked before it is timed, and the table of GB/s that a run ends on."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from cases import Contender, Work, check, expectation, random_array

import gpuprims

os.environ["GPUPRIMS_TUNING"] = "off"  # what is measured is what the library ships


class Arrays:
    """What a work takes at one size, on the host and on the device, and what it gives; the last asked for is kept."""

    def __init__(self) -> None:
        self._key: tuple[Any, ...] | None = None
        self._pair: tuple[list[np.ndarray], list[Any]] | None = None
        self._expected: tuple[str, Any] | None = None

    def of(self, device: gpuprims.Device, size: int, work: Work) -> tuple[list[np.ndarray], list[Any]]:
        """Return both copies of each array."""
        key = device.spec, size, work.dtype, work.steps, work.beside, work.spread
        if self._pair is None or self._key != key:
            self._pair = None  # before the next is allocated
            host = [random_array(size, work.dtype, steps=work.steps)]
            if work.spread:
                host[0] = work.spread(host[0])
            resident = [device.asarray(host[0])]
            if work.beside:
                host.append(work.beside(host[0]))
                resident.append(host[1] if work.beside_on_host else device.asarray(host[1]))
            self._key, self._pair, self._expected = key, (host, resident), None
        return self._pair

    def expected(self, work: Work, *given: np.ndarray) -> Any:
        """Return what NumPy makes of the arrays last asked for."""
        if self._expected is None or self._expected[0] != work.name:
            self._expected = work.name, expectation(work, *given)
        return self._expected[1]


@pytest.fixture(scope="session")
def arrays() -> Arrays:
    """What the current work takes."""
    return Arrays()


@pytest.fixture
def measure(benchmark: Any, arrays: Arrays) -> Callable[..., None]:
    """Check a contender's result, then time it until its work is done."""

    def run(device: gpuprims.Device, size: int, work: Work, contender: Contender) -> None:
        shape = work.shape(size)
        (host, *host_beside), (resident, *beside) = arrays.of(device, size, work)
        given = [host.reshape(shape), *host_beside] if contender.on_host else [resident.reshape(shape), *beside]
        result = contender.run(*given)
        device.synchronize()
        check(work, on_host(device, result), arrays.expected(work, host.reshape(shape), *host_beside))
        del result

        def call() -> None:
            contender.run(*given)
            device.synchronize()

        nbytes = work.bytes_per_element * size
        benchmark.group = group_of(work, size)
        benchmark(call)
        if benchmark.stats:  # none with --benchmark-disable
            rate = nbytes / benchmark.stats.stats.median / 1e9
            benchmark.extra_info.update(device=device.capabilities.name, contender=contender.name)
            benchmark.extra_info.update(bytes=nbytes, gb_per_s=round(rate, 2))

    return run


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    device: str
    group: str
    contender: str
    median: float
    rate: float | None = None


# What programs of their own have measured.
ROWS = pytest.StashKey[list[Row]]()


@pytest.fixture(scope="session")
def tell(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Add a line to the table: a work at a size, by a contender that is timed elsewhere, and its seconds."""

    def add(device: gpuprims.Device, size: int, work: Work, contender: str, seconds: float) -> None:
        rate = work.bytes_per_element * size / seconds / 1e9
        rows = request.config.stash.setdefault(ROWS, [])
        rows.append(Row(device.capabilities.name, group_of(work, size), contender, seconds, rate))

    return add


def group_of(work: Work, size: int) -> str:
    return f"{work.name}, 2^{size.bit_length() - 1} {work.dtype}"


def on_host(device: gpuprims.Device, result: Any) -> np.ndarray:
    return np.asarray(result if isinstance(result, np.ndarray | np.generic) else device.driver.download(result))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print a row for each piece of work and size, one for each contender: GB/s where bytes are moved, and the time."""
    benches = [bench for bench in config._benchmarksession.benchmarks if "contender" in bench.extra_info]
    measured = [
        Row(info["device"], bench.group, info["contender"], bench.stats.median, info.get("gb_per_s"))
        for bench in benches
        for info in [bench.extra_info]
    ]
    measured += config.stash.get(ROWS, [])
    for device in dict.fromkeys(row.device for row in measured):
        terminalreporter.section(f"medians on {device}")
        rows = [row for row in measured if row.device == device]
        for group in dict.fromkeys(row.group for row in rows):
            terminalreporter.line(group)
            for row in (row for row in rows if row.group == group):
                moved = f"{row.rate:>10.2f} GB/s" if row.rate else " " * 15
                terminalreporter.line(f"    {row.contender:30}{moved}{row.median * 1e6:>12.1f} us")
