"""The memory of captured calls: a graph runs their launches later, in the same memory."""

from __future__ import annotations

import threading
from typing import Any, TypeVar

T = TypeVar("T")


class Captured(list[Any]):
    """The memory of a captured call, which others must not have while the graph may run.

    In a ``with`` statement, drivers allocate memory for this call alone, and put all of it here.
    """

    def __hash__(self) -> int:  # type: ignore[override] # a key of the memory that stays with a stream
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __enter__(self) -> None:
        CAPTURE.now = self

    def __exit__(self, *exception: object) -> None:
        CAPTURE.now = None


class _Capture(threading.local):
    """The captured call of each thread."""

    now: Captured | None = None


CAPTURE = _Capture()


def captured_now() -> Captured | None:
    """Return what the captured call of this thread keeps; None for other calls."""
    return CAPTURE.now


def keep(memory: T) -> T:
    """Keep memory with the captured call of this thread, if there is one, and return it."""
    if (now := CAPTURE.now) is not None:
        now.append(memory)
    return memory
