"""The watcher that a profile is made of."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from gpuprims.core.clock import Span
from gpuprims.core.current_call import Call, current_call
from gpuprims.core.watched import Built, Copied, Launched, WatchedDriver
from gpuprims.core.watching import begin_watching, end_watching
from gpuprims.profiling.records import Compile, Copy, Launch, Seen, phases_of

# Launches whose ends nobody has waited for: each holds two events of the device.
_MOST_RUNNING = 1024
_MOST_COUNTED = 16  # with sums of ticks, which take memory
# The one recorder that this thread's work is for, while a limit is measured.
_ONLY: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


@dataclass
class _Noted:
    happened: Launched | Copied | Built
    call: Call
    driver: WatchedDriver
    thread: str
    span: Span
    ticks: dict[str, int] = field(default_factory=dict)


class Recorder:
    """Remembers what the devices do while it watches, with ``counters`` also how long kernels' steps take."""

    def __init__(self, *, counters: bool = False) -> None:
        self.counters = counters
        self._noted: list[_Noted] = []
        self._running: deque[_Noted] = deque()
        self._began = 0.0

    def begin(self) -> None:
        """Watch from now on."""
        self._began = time.perf_counter()
        begin_watching(self)

    def end(self) -> None:
        """Watch no longer, and wait for the launches seen."""
        end_watching(self)
        self._settle(0)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Watch in a block whose work in this thread no other recorder sees."""
        token = _ONLY.set(self)
        self.begin()
        try:
            yield
        finally:
            self.end()
            _ONLY.reset(token)

    def note(self, driver: WatchedDriver, happened: Launched | Copied | Built) -> None:
        """See :class:`gpuprims.core.watched.Watcher`."""
        if _ONLY.get() not in (None, self):
            return
        noted = _Noted(happened, current_call(), driver, threading.current_thread().name, happened.host)
        self._noted.append(noted)
        if isinstance(happened, Launched):
            self._running.append(noted)
            self._settle(_MOST_COUNTED if self.counters else _MOST_RUNNING)

    def _settle(self, most: int) -> None:
        """Wait until at most ``most`` launches still run."""
        while len(self._running) > most:
            try:
                noted = self._running.popleft()
            except IndexError:  # another thread has taken the last one
                return
            launched: Any = noted.happened  # only launches run
            noted.span = launched.finish()
            if self.counters and launched.sums is not None:
                noted.ticks = launched.sums.ticks()

    def devices(self) -> dict[str, WatchedDriver]:
        """Return the drivers of all devices seen, by their specs."""
        return {_spec(noted.driver): noted.driver for noted in self._noted}

    def seen(self, limit_of: Callable[[str], float | None]) -> list[Seen]:
        """Return the records, in the order in which the host noted them."""
        caches = {spec: driver.clock.cache for spec, driver in self.devices().items()}
        return [self._record(noted, limit_of, caches) for noted in self._noted]

    def _record(self, noted: _Noted, limit_of: Callable[[str], float | None], caches: dict[str, int]) -> Seen:
        spec, (start, end), happened = _spec(noted.driver), noted.span, noted.happened
        told = noted.call.label, noted.call.number, spec, noted.thread, start - self._began, max(end - start, 0.0)
        if isinstance(happened, Built):
            return Compile(*told, happened.kernel, "disk" if happened.from_disk else "compiler")
        if isinstance(happened, Copied):
            return Copy(*told, "to device" if happened.up else "to host", happened.nbytes, happened.overlapping)
        host = happened.host.start - self._began, happened.host.end - happened.host.start
        about = happened.kernel, happened.nbytes, happened.prepared
        return Launch(*told, *about, *host, limit_of(spec), happened.nbytes <= caches[spec], phases_of(noted.ticks))


def _spec(driver: WatchedDriver) -> str:
    return f"{driver.backend}:{driver.index}"
