"""Forks and the end of the interpreter.

A forked child lacks the driver's threads and would wait for them for ever. A thread that is inside a driver's library
when the interpreter ends crashes the process. So after a fork and at exit, another object replaces each driver.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from traceback import walk_stack
from types import FrameType
from typing import Any, Generic, NoReturn, TypeVar

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.driver import Driver
from gpuprims.errors import DeviceError

D = TypeVar("D", bound=Driver)

_PATIENCE = 30.0  # seconds to wait at exit for calls of other threads


def refuse_after_fork(spec: str) -> NoReturn:
    """Raise DeviceError for a device that was opened before a fork."""
    raise DeviceError(
        f"{spec}: a device that this process opened; got one that the parent opened before the fork"
        " (start workers by multiprocessing.get_context('spawn'), or fork before the first use of a device)"
    )


def refuse_at_exit(spec: str) -> None:
    """Raise DeviceError once the interpreter has run its exit functions: drivers cannot work any more."""
    if sys.is_finalizing():
        raise DeviceError(f"{spec}: a call before the interpreter ends; got one while it ends")


def after_fork(do: Callable[[], None]) -> None:
    """Register a function to call in each forked child, on systems that have forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=do)


class Discovery(Generic[D]):
    """Finds a backend's drivers once for all threads. If ``find`` raises, the next call tries again.

    In a child that was forked while another thread was finding drivers, calls raise.
    """

    def __init__(self, backend: str, find: Callable[[], Sequence[D]]) -> None:
        self._backend = backend
        self._find = find
        self._found: Sequence[D] | None = None
        self._lock = threading.RLock()
        self._looking = self._broken = False
        after_fork(self._after_fork)

    def __call__(self) -> Sequence[D]:
        """Return the drivers."""
        if self._found is not None:
            return self._found
        with self._lock:
            if self._found is None:
                if self._broken:
                    refuse_after_fork(self._backend)
                self._looking = True
                try:
                    self._found = self._find()
                finally:
                    self._looking = False
            return self._found

    def _after_fork(self) -> None:
        self._lock = threading.RLock()  # another thread of the parent may have held the old one
        self._broken = self._broken or self._looking


class StandIn:
    """A replacement for a device's driver; it has the real driver, and its backend and index."""

    def __init__(self, driver: Driver) -> None:
        self.real = driver
        self.backend = driver.backend
        self.index = driver.index


class ForkedDriver(StandIn):
    """Replaces a driver in a forked child if the parent opened the device; every use raises."""

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities known before the fork; the child tries nothing on the device."""
        asked_when_first_used = isinstance(getattr(type(self.real), "capabilities", None), cached_property)
        if asked_when_first_used and "capabilities" not in vars(self.real):
            self._refuse()
        able = self.real.capabilities
        return able if "progress" in vars(able) else replace(able, tries_progress=lambda: self._refuse())

    def _refuse(self) -> NoReturn:
        refuse_after_fork(f"{self.backend}:{self.index}")

    def __getattr__(self, name: str) -> Any:
        self._refuse()


class EndingDriver(StandIn):
    """Replaces a driver at exit: exit functions may use it; a daemon thread that uses it ends."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        self._thread = threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        if threading.get_ident() != self._thread:
            raise SystemExit  # ends a thread without a traceback
        refuse_at_exit(f"{self.backend}:{self.index}")
        return getattr(self.real, name)


def wait_for_calls() -> None:
    """Wait until no other thread is inside a call of this library, or ``_PATIENCE`` seconds have passed."""
    end, own = time.monotonic() + _PATIENCE, threading.get_ident()
    while any(_is_within(frame) for thread, frame in sys._current_frames().items() if thread != own):
        if time.monotonic() >= end:
            return
        time.sleep(0.002)


def _is_within(frame: FrameType) -> bool:
    names = (str(one.f_globals.get("__name__")) for one, _ in walk_stack(frame))
    return any(name.partition(".")[0] == "gpuprims" for name in names)
