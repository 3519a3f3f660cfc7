"""probe: how long a device's basic operations take, by loops of one group and by copies."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import gpuprims
from gpuprims.core.clock import clock_of
from gpuprims.core.device import Device, pick_device
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.kernel_spec import KernelSpec, unchanged
from gpuprims.core.layout import Layout, contiguous, starts_of
from gpuprims.core.variant import Variant
from gpuprims.core.watched import unwatched
from gpuprims.errors import ArgumentError
from gpuprims.primitives.map import map as map_arrays
from gpuprims.profiling.limit import copy_rate

_WORD = np.dtype(np.uint32)
_LINE = 32  # words between loads of a chase: 128 bytes, so that no two of them are in one line of a cache
# Work-items of a group in barriers and atomics, and the operations in the kernel's order.
_BLOCK = 256
_OPERATIONS = (
    *("nothing", "chase", "chase in local memory", "barrier", "atomic in local memory, one address"),
    *("atomic in local memory, an address each", "atomic in global memory, one address"),
    *("atomic in global memory, an address each", "shuffle"),
)
_ALONE = ("nothing", "chase", "chase in local memory")  # by one work-item
_TABLES = {"gpu": (2**14, 2**18, 2**22, 2**26, 2**28), "cpu": (2**14, 2**18, 2**22, 2**26)}  # bytes
# Seconds of a launch that is long enough to time, the most rounds, and how often each is timed; the least counts.
_LONG, _FEWEST_ROUNDS, _MOST_ROUNDS, _TRIES = 2e-3, 256, 1 << 20, 5


@dataclass(frozen=True)
class Measured:
    """A number of a device: ``kind`` is latency, bandwidth, operation or launch."""

    kind: str
    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Probe:
    """What :func:`probe` measured; ``str`` formats a table.

    Attributes
    ----------
    device, name, driver, clock : str
        The device, and what timed it.
    measured : tuple of Measured
        ``kind``, ``name``, ``value`` and ``unit`` of each number.
    """

    device: str
    name: str
    driver: str
    clock: str
    measured: tuple[Measured, ...]

    def __str__(self) -> str:
        width = max(len(one.name) for one in self.measured)
        lines = [f"{self.device} {self.name}, {self.driver}, times by {self.clock}"]
        kind = ""
        for one in self.measured:
            if one.kind != kind:
                kind = one.kind
                lines += ["", _TITLES[kind]]
            lines.append(f"  {one.name:{width}}  {one.value:10.4g} {one.unit}")
        return "\n".join(lines)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write all numbers to a file."""
        Path(path).write_text(json.dumps({"gpuprims": gpuprims.__version__, **asdict(self)}, indent=1) + "\n")


_TITLES = {
    "latency": "a load that waits for the one before",
    "operation": f"an operation of each work-item of a group of {_BLOCK}, one after the other; shuffles in a warp",
    "bandwidth": "bytes read and written",
    "launch": "an empty launch",
}


@dataclass(frozen=True, eq=False)
class ProbeSpec(KernelSpec):
    """Macros for a loop of one operation."""

    operation: int = 0

    maps: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False
    exchanges: ClassVar[bool] = True

    def macros(self) -> dict[str, int | str]:
        """Define the number of the operation."""
        return {"OPERATION": self.operation}


def probe(device: str | Device | None = None) -> Probe:
    """Measure latencies and bandwidths of a device's memories, its barriers, atomics, shuffles, and launches.

    Parameters
    ----------
    device : str or Device, optional
        Default: the best device.

    Returns
    -------
    Probe

    Raises
    ------
    ArgumentError
        The reference device, which runs no kernels.

    Notes
    -----
    An operation's time is the slope of a loop's time over its rounds, the least of several tries, on one group. On a
    CPU a thread runs the work-items of a group in turn, and its compiler may join their additions. Other programs slow
    the loops down. Copies are timed as for :func:`gpuprims.profile`.

    Source: J. Selig, "Hardware Accelerated Machine Learning Via Parallel Programming on GPUs", 2017, sections 3.3.2 and
    4.2, which times parts of a kernel by probes; H. Wong et al., "Demystifying GPU Microarchitecture through
    Microbenchmarking", 2010, for chains of loads.

    Examples
    --------
    >>> from gpuprims.profiling.probe import probe
    >>> print(probe())  # doctest: +SKIP
    """
    chosen = pick_device(None, device)
    if chosen.backend == "reference":
        raise ArgumentError(f"probe: a device that runs kernels; got {chosen.spec!r} (gpuprims info lists devices)")
    able = chosen.capabilities
    found = (*_latencies(chosen), *_operations(chosen), *_bandwidths(chosen), *_launches(chosen))
    clock = clock_of(unwatched(chosen.driver)).name
    return Probe(chosen.spec, able.name, able.driver, clock, found)


def _latencies(device: Device) -> Iterator[Measured]:
    for nbytes in _TABLES["gpu" if device.capabilities.kind == "gpu" else "cpu"]:
        if 4 * nbytes > (device.driver.room or 4 * nbytes):
            continue
        seconds = _round(device, "chase", nbytes)
        yield Measured("latency", f"global memory, within {_size(nbytes)}", 1e9 * seconds, "ns")
    yield Measured("latency", "local memory", 1e9 * _round(device, "chase in local memory"), "ns")


def _operations(device: Device) -> Iterator[Measured]:
    for name in _OPERATIONS[len(_ALONE) :]:
        if name != "shuffle" or device.capabilities.warp:
            yield Measured("operation", name, 1e9 * _round(device, name), "ns")


def _bandwidths(device: Device) -> Iterator[Measured]:
    rate = copy_rate(device)
    if rate is not None:
        yield Measured("bandwidth", "copy from and to global memory", rate / 1e9, "GB/s")


def _launches(device: Device) -> Iterator[Measured]:
    x = device.driver.zeros((1,), np.dtype(np.float32))
    times = []
    for _ in range(50):
        device.synchronize()
        begin = time.perf_counter()
        map_arrays("x", x, out=x, device=device)
        device.synchronize()
        times.append(time.perf_counter() - begin)
    yield Measured("launch", "a call of map, and the wait for it", 1e6 * min(times), "us")


def _round(device: Device, operation: str, nbytes: int = 0) -> float:
    """Return the seconds of a round, without those of a launch's begin and end."""
    run = _Loop(device, operation, nbytes)
    rounds: int = _FEWEST_ROUNDS
    while run(rounds) < _LONG and rounds < _MOST_ROUNDS:
        rounds *= 2
    times = [(run(rounds), run(2 * rounds)) for _ in range(_TRIES)]  # in turn, so that drift affects both alike
    shorter, longer = (min(pair[k] for pair in times) for k in (0, 1))
    return (longer - shorter if longer > shorter else longer / 2) / rounds


def kernel_of(operation: str, backend: str, block: int, words: int) -> tuple[Variant, ProbeSpec, Layout]:
    """Return variant, spec and layout of a loop's kernel, for a table of ``words`` words."""
    layout = starts_of([contiguous(_WORD, (words,), 16), contiguous(_WORD, (block,), 16)])
    inputs, results = layout.accesses[:1], layout.accesses[1:]
    number = _OPERATIONS.index(operation)
    spec = ProbeSpec(inputs, results, (_WORD,), unchanged((_WORD,)), operation=number)
    return Variant("probe", "rounds", backend, _KERNEL, 0, Geometry(block, 1), refuse=first_refusal()), spec, layout


class _Loop:
    """Runs rounds of an operation, and returns the device's seconds; a chain of loads goes on where it was."""

    def __init__(self, device: Device, operation: str, nbytes: int) -> None:
        warp = device.capabilities.warp or 1
        block = warp if operation in _ALONE else min(_BLOCK, device.capabilities.group_limit)
        self._order = _chain(nbytes)
        table, driver = _table(self._order), unwatched(device.driver)
        variant, spec, self._layout = kernel_of(operation, device.backend, block, table.size)
        self._kernel, self._clock = driver.build(variant, spec), clock_of(driver)
        self.results: Any = driver.zeros((block,), _WORD)
        self._memories, self._done = [driver.asarray(table), self.results], 0

    def __call__(self, rounds: int) -> float:
        first = int(self._order[self._done % len(self._order)])
        launch = self._clock.prepare(self._kernel, 1, self._layout.pack(0), first, rounds)
        span = launch(self._memories)()
        self._done += rounds
        return float(span.end - span.start)


_KERNEL = Path(__file__).parent / "kernels" / "probe_rounds.cl"


def _chain(nbytes: int) -> np.ndarray:
    """Return the elements of a table, _LINE apart, in random order."""
    lines = max(nbytes // (4 * _LINE), 1)
    return np.random.default_rng(0).permutation(lines).astype(_WORD) * np.uint32(_LINE)


def _table(order: np.ndarray) -> np.ndarray:
    """Return a table in which each of these elements has the number of the next one, and the last that of the first."""
    table = np.zeros(order.size * _LINE, _WORD)
    table[order] = np.roll(order, -1)
    return table


def _size(nbytes: int) -> str:
    return f"{nbytes >> 20} MiB" if nbytes >= 1 << 20 else f"{nbytes >> 10} KiB"
