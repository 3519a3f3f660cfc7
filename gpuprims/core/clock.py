"""Clocks: when a device runs each launch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from gpuprims.core.driver import Driver, Kernel


class Span(NamedTuple):
    """The begin and the end of a launch, in seconds of :func:`time.perf_counter`."""

    start: float
    end: float


# Starts a kernel as a Launch does. The function returned waits for its end, and returns when the device ran it.
TimedLaunch = Callable[[Sequence[Any]], Callable[[], Span]]


class Clock(Protocol):
    """Times the launches of one device, in order with the rest of its work."""

    @property
    def name(self) -> str:
        """How the clock measures time."""

    @property
    def cache(self) -> int:
        """Bytes of the device's last cache; 0 if the driver does not tell."""

    def prepare(self, kernel: Any, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> TimedLaunch:
        """Fix a launch as :meth:`gpuprims.core.driver.Kernel.prepare` of the driver's own kernel does."""


class HostClock:
    """The host's clock, around a launch and the wait for its end: for drivers that bring no clock."""

    name, cache = "host clock", 0

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def prepare(self, kernel: Kernel, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> TimedLaunch:
        """Fix a launch that begins after all earlier work."""
        launch, wait = kernel.prepare(groups, layout, *numbers, local=local), self._driver.synchronize

        def start(memories: Sequence[Any]) -> Callable[[], Span]:
            wait()
            began = time.perf_counter()
            launch(memories)
            wait()
            span = Span(began, time.perf_counter())
            return lambda: span

        return start


def clock_of(driver: Any) -> Clock:
    """Return the clock that a driver brings, or the host's."""
    if not hasattr(driver, "clock"):
        return HostClock(driver)
    clock: Clock = driver.clock()
    return clock
