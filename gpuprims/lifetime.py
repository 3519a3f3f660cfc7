"""Where a process may use its devices: not in a child forked from it, nor once the interpreter ends.

A driver's threads do not live on in a forked child, which then waits for them for ever. And a thread that is within a
driver's library when the interpreter ends is torn out of it, which ends the process by a signal. So the driver of each
device gives way to a stand-in, after a fork and at exit; until then there is nothing to check in a call.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from types import FrameType
from typing import Any, Generic, NoReturn, TypeVar

from gpuprims.driver import Capabilities, Driver
from gpuprims.errors import DeviceError

D = TypeVar("D", bound=Driver)

# Seconds that the end of the interpreter waits for other threads' calls.
_PATIENCE = 30.0
_PACKAGE = __name__.partition(".")[0]
_UNUSABLE_AFTER_FORK = (
    "one that this process has opened; got a child, forked from the process that opened it"
    " (start workers by multiprocessing.get_context('spawn'), or fork before the first use of a device)"
)


def refuse_after_fork(spec: str) -> NoReturn:
    """Raise the error of a device that was opened before a fork."""
    raise DeviceError(f"{spec}: {_UNUSABLE_AFTER_FORK}")


def refuse_at_exit(spec: str) -> None:
    """Raise where the interpreter is past running its exit functions: drivers cannot start or finish work then."""
    if sys.is_finalizing():
        raise DeviceError(f"{spec}: a call before the interpreter ends; got one while it ends")


def after_fork(do: Callable[[], None]) -> None:
    """Have a function called in each child that is forked, where the system has forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=do)


class Discovery(Generic[D]):
    """Finds a backend's drivers once, whichever threads ask first.

    Parameters
    ----------
    backend : str
        For the error of a child that was forked while another thread was looking.
    find : callable
        Returns the drivers; where it raises, the next caller looks again.
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
        if self._found is None:
            with self._lock:
                if self._found is None:
                    self._found = self._look()
        return self._found

    def _look(self) -> Sequence[D]:
        if self._broken:
            refuse_after_fork(self._backend)
        self._looking = True
        try:
            return self._find()
        finally:
            self._looking = False

    def _after_fork(self) -> None:
        self._lock = threading.RLock()  # another thread of the parent may have held the old one
        self._broken = self._broken or self._looking


class _StandIn:
    """What is known about a driver without using it."""

    def __init__(self, driver: Driver) -> None:
        self.real = driver
        self.backend = driver.backend
        self.index = driver.index


class ForkedDriver(_StandIn):
    """The driver of a device that was opened before a fork, in the child: every use raises."""

    @property
    def capabilities(self) -> Capabilities:
        """What was known before the fork; a trial is not made any more."""
        asked_when_first_used = isinstance(getattr(type(self.real), "capabilities", None), cached_property)
        if asked_when_first_used and "capabilities" not in vars(self.real):
            self._refuse()
        able = self.real.capabilities
        return able if "progress" in vars(able) else replace(able, tries_progress=lambda: self._refuse())

    def _refuse(self) -> NoReturn:
        refuse_after_fork(f"{self.backend}:{self.index}")

    def __getattr__(self, name: str) -> Any:
        self._refuse()


class EndingDriver(_StandIn):
    """The driver of a device while the interpreter ends: functions that run at exit use it, and daemon threads end."""

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver)
        self._thread = threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        if threading.get_ident() != self._thread:
            raise SystemExit  # which ends a thread without a traceback
        refuse_at_exit(f"{self.backend}:{self.index}")
        return getattr(self.real, name)


def wait_for_calls() -> None:
    """Wait until no other thread is within a call of this library, or ``_PATIENCE`` has passed."""
    end = time.monotonic() + _PATIENCE
    while _within_calls() and time.monotonic() < end:
        time.sleep(0.002)


def _within_calls() -> bool:
    """Whether another thread is within this library."""
    own = threading.get_ident()
    return any(_is_within(frame) for thread, frame in sys._current_frames().items() if thread != own)


def _is_within(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE:
            return True
        frame = frame.f_back
    return False
