"""Faults that a device reports after the calls that made them have returned (docs/decisions/0021)."""

from __future__ import annotations

import warnings
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from gpuprims.core.driver import Report
from gpuprims.errors import GpuprimsError, GpuprimsWarning

# Makes an error of the number that a device reported.
Fault = Callable[[int], Exception]
# Most open reports: then the oldest is waited for.
_MOST_OPEN = 64
# Most arrays that are known to be right.
_MOST_KNOWN = 64


class Faults:
    """Reports of calls that have returned; other numbers than 0 are faults."""

    def __init__(self) -> None:
        self._open: deque[tuple[Report, Fault]] = deque()  # the oldest first; threads may pop and append at any time

    def add(self, report: Report, fault: Fault) -> None:
        """Add the report of a call, marked."""
        self._open.append((report, fault))

    def check(self, *, wait: bool = False) -> None:
        """Raise the first fault that is known; with ``wait``, wait until all are."""
        while self._open:
            try:
                report, fault = self._open.popleft()
            except IndexError:  # another thread took the last one
                return
            number = report.read() if wait or len(self._open) >= _MOST_OPEN else report.peek()
            if number is None:
                self._open.appendleft((report, fault))
                return
            if number:
                raise fault(number)

    def warn(self) -> None:
        """Wait, and warn of a fault: for the end of the interpreter, when nobody is left to catch an error."""
        try:
            self.check(wait=True)
        except GpuprimsError as error:
            warnings.warn(str(error), GpuprimsWarning, stacklevel=2)


class KnownArrays:
    """Arrays that calls found right, for as long as they live."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Any]] = {}

    def __contains__(self, array: Any) -> bool:
        known = self._known.get(id(array))
        return known is not None and known() is array

    def add(self, array: Any) -> None:
        """Add an array."""
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[id(array)] = weakref.ref(array)

    def forget(self) -> None:
        """Forget all arrays."""
        self._known.clear()
