"""Drivers that report each launch, copy and compilation to watchers, such as the profiler.

While there are watchers, a :class:`WatchedDriver` replaces the driver of each device. Without watchers, calls pay
nothing: they use the real drivers, and launches prepared for watchers are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpuprims.core.clock import Clock, Span, clock_of
from gpuprims.core.compile_cache import found_within
from gpuprims.core.current_call import in_current_call
from gpuprims.core.driver import Driver, Kernel, Launch
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.lifetime import StandIn
from gpuprims.core.stamps import NO_CLOCK, StampedSpec, Sums
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, BuildError


class Launched(NamedTuple):
    """A launch of a kernel. ``host`` is the time at which the host started it; ``finish`` waits for its end.

    ``prepared`` numbers the calls of :meth:`Kernel.prepare`; repeated launches share a number.
    """

    kernel: str
    prepared: int
    nbytes: int  # of its operands
    host: Span
    finish: Callable[[], Span]
    sums: Sums | None = None  # clock cycles of each phase, of kernels that read a clock


class Copied(NamedTuple):
    """A copy between host and device; the time of an ``overlapping`` copy may include other work."""

    up: bool
    nbytes: int
    host: Span
    overlapping: bool


class Built(NamedTuple):
    """A kernel that was compiled or loaded ``from_disk``."""

    kernel: str
    host: Span
    from_disk: bool


class Watcher(Protocol):
    """Receives events, in the thread that causes them; with ``counters`` also times of phases within kernels."""

    counters: bool

    def note(self, driver: WatchedDriver, happened: Launched | Copied | Built) -> None:
        """Record an event of a driver's device."""


WATCHERS: list[Watcher] = []
_PREPARED = count(1)


def watched(driver: Driver) -> Driver:
    """Return the driver, or while there are watchers its :class:`WatchedDriver`."""
    return WatchedDriver(driver) if WATCHERS else driver


def unwatched(driver: Driver) -> Driver:
    """Return the real driver."""
    return driver.real if isinstance(driver, WatchedDriver) else driver


class WatchedDriver(StandIn):
    """Forwards to the real driver, and reports events to the watchers."""

    @cached_property
    def clock(self) -> Clock:
        """The clock that times the device's launches."""
        return clock_of(self.real)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)  # raises for what the real driver lacks
        return partial(_WATCHED[name], self, found) if name in _WATCHED else found

    def build(self, variant: Variant, spec: KernelSpec) -> Kernel:
        """Compile a variant, and report it unless it is a Python function."""
        began = time.perf_counter()
        with found_within() as found:
            kernel = self.real.build(variant, spec)
        if isinstance(variant.source, Path):
            self.tell(Built(_name(variant), Span(began, time.perf_counter()), bool(found)))
        return kernel

    def watch(self, kernel: Kernel, variant: Variant, spec: KernelSpec) -> Kernel:
        """Return a kernel that reports its launches."""
        operands, counting = len(spec.inputs) + max(len(spec.outputs), 1), any(one.counters for one in WATCHERS)
        stamping = self._stamping(variant, spec) if counting and isinstance(variant.source, Path) else None
        return _WatchedKernel(self, kernel, _name(variant), operands, stamping)

    @cached_property
    def _stamped(self) -> dict[tuple[Variant, KernelSpec], Stamping]:
        return {}

    def _stamping(self, variant: Variant, spec: KernelSpec) -> Stamping:
        """Return the kernel that reads a clock, and the names of its phases."""
        if (found := self._stamped.get((variant, spec))) is not None:
            return found
        stamped: Any = StampedSpec(spec, variant)
        try:
            kernel = self.real.build(variant, stamped)
        except BuildError as error:
            if NO_CLOCK not in str(error):
                raise
            name = self.real.capabilities.name
            raise ArgumentError(
                f"profile: counters=True with a device whose kernels read a clock; got {name} (leave counters= out)"
            ) from error
        return self._stamped.setdefault((variant, spec), Stamping(kernel, stamped.phases))

    def watch_numpy(self, name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
        """Return a NumPy function that replaces a kernel, wrapped to be reported as a launch."""
        number = next(_PREPARED)

        def told(*arrays: np.ndarray) -> Any:
            began = time.perf_counter()
            found = compute(*arrays)
            if WATCHERS and found is not NotImplemented:
                span = Span(began, time.perf_counter())
                results = found if isinstance(found, tuple) else (found,)
                nbytes = sum(map(_nbytes, (*arrays, *results)))
                self.tell(Launched(f"{name}/NumPy", number, nbytes, span, lambda: span))
            return found

        return told

    def tell(self, happened: Launched | Copied | Built) -> None:
        """Report an event to all watchers."""
        for watcher in tuple(WATCHERS):
            watcher.note(self, happened)

    @property
    def captures(self) -> bool:
        """True during a graph capture: nothing runs then, so there is nothing to time."""
        return hasattr(self.real, "is_capturing") and self.real.is_capturing()


class Stamping(NamedTuple):
    """A kernel that reads a clock, and the names of its phases."""

    kernel: Kernel
    phases: tuple[str, ...]


class _WatchedKernel(NamedTuple):
    driver: WatchedDriver
    kernel: Kernel
    name: str
    operands: int
    stamping: Stamping | None

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        """Fix a launch."""
        driver, name, operands, number = self.driver, self.name, self.operands, next(_PREPARED)
        plain = self.kernel.prepare(groups, layout, *numbers, local=local)
        stamping = self.stamping
        runs = self.kernel if stamping is None else stamping.kernel
        timed = driver.clock.prepare(runs, groups, layout, *numbers, local=local)

        def launch(memories: Sequence[Any]) -> None:
            if not WATCHERS or driver.captures:  # watching ended during the call, or a graph captures it
                plain(memories)
                return
            sums = None if stamping is None else Sums(driver.real, stamping.phases, groups)
            nbytes, began = sum(map(_nbytes, memories[:operands])), time.perf_counter()
            finish = timed(memories if sums is None else [*memories, sums.memory])
            driver.tell(Launched(name, number, nbytes, Span(began, time.perf_counter()), finish, sums))

        return launch


def _name(variant: Variant) -> str:
    return f"{variant.primitive}/{variant.name}"


def _nbytes(memory: Any) -> int:
    """Return the bytes of an array or a buffer; 0 for other memory, which belongs to the library."""
    return int(getattr(memory, "nbytes", getattr(memory, "size", 0)))


def _settle(driver: WatchedDriver) -> None:
    """Wait for earlier work, to time a copy alone; not during a capture, where the copy itself raises."""
    if not driver.captures:
        driver.real.synchronize()


def _asarray(driver: WatchedDriver, copy: Callable[[np.ndarray], Any], host: np.ndarray) -> Any:
    _settle(driver)
    began = time.perf_counter()
    array = copy(host)
    if array is not host and host.nbytes:
        _settle(driver)
        driver.tell(Copied(True, host.nbytes, Span(began, time.perf_counter()), False))
    return array


def _to_host(driver: WatchedDriver, copy: Callable[[Any], np.ndarray], array: Any) -> np.ndarray:
    _settle(driver)
    began = time.perf_counter()
    host = copy(array)
    if host is not array and host.nbytes:
        driver.tell(Copied(False, host.nbytes, Span(began, time.perf_counter()), False))
    return host


def _begin_asarray(driver: WatchedDriver, begin: Callable[[np.ndarray], Any], host: np.ndarray) -> Callable[[], Any]:
    began = time.perf_counter()
    return partial(_finish, driver, begin(host), True, host.nbytes, began)


def _begin_to_host(
    driver: WatchedDriver, begin: Callable[..., Any], array: Any, host: np.ndarray, *, new: bool
) -> Callable[[], Any]:
    began = time.perf_counter()
    return partial(_finish, driver, begin(array, host, new=new), False, host.nbytes, began)


def _begin_few(
    driver: WatchedDriver, begin: Callable[[Any], Callable[[], np.ndarray]], array: Any
) -> Callable[[], Any]:
    began = time.perf_counter()
    return partial(_finish, driver, begin(array), False, int(array.nbytes), began)


def _finish(driver: WatchedDriver, finish: Callable[[], Any], up: bool, nbytes: int, began: float) -> Any:
    result = finish()
    if nbytes:
        driver.tell(Copied(up, nbytes, Span(began, time.perf_counter()), True))
    return result


def _alongside(
    driver: WatchedDriver, alongside: Callable[..., Callable[[], Any]], function: Callable[[], Any]
) -> Callable[[], Any]:
    return alongside(in_current_call(function))


# Replacements for methods that the real driver has.
_WATCHED: dict[str, Callable[..., Any]] = {
    "asarray": _asarray,
    "to_host": _to_host,
    "begin_asarray": _begin_asarray,
    "begin_to_host": _begin_to_host,
    "begin_few": _begin_few,
    "alongside": _alongside,
}
