"""Copy large host arrays through pinned memory: several threads fill buffers while the device's engine transfers.

Memory of a program can be paged out, so a driver copies it through one pinned buffer, in one thread: 10.9 GB/s to an
H200 over PCIe 5, which moves 55. Eight threads with buffers of 4 MiB reach 46 (driver 580.159, 16 cores, 2026-11-21).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

import numpy as np

# Bytes of a pinned buffer: large enough that Python's time for a piece is small beside its transfer.
CHUNK = 4 << 20
# Lanes to a device, and from it. These also touch the pages of new arrays, which takes them longer: with 12 of them,
# new arrays come from an H200 at 31.7 GB/s, with 16 at 38.3 (16 cores, threads in C, 2026-11-23).
LANES_UP, LANES_DOWN = 8, 16
# Bytes of a page: the system maps new memory when a byte of its page is first written.
_PAGE = 4096

L = TypeVar("L")
T = TypeVar("T")
Pieces = deque[tuple[np.ndarray, int]]


class Lanes(Generic[L]):
    """The lanes of one device, in one direction: each is a pinned buffer with a queue, and has a thread of its own.

    Threads take arrays in the order in which these come, so calls of several threads share the lanes.
    """

    def __init__(self, make: Callable[[], L], most: int) -> None:
        self._count = min(most, os.cpu_count() or 1)
        self._make, self._lock, self._free = make, threading.Lock(), list[L]()
        self._own = threading.local()
        self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="gpuprims-staging")
        self._made = False

    def start(self, host: np.ndarray, move: Callable[[L, np.ndarray, int], T]) -> Moves[T]:
        """Start to call ``move`` with a lane, each piece of a host array, and the byte at which the piece begins."""
        with self._lock:
            if not self._made:  # by one thread, because some drivers fail where several make queues
                self._free = [self._make() for _ in range(self._count)]
                self._made = True
        left = deque(pieces(host))
        # A task takes several pieces, because it costs the interpreter more time (10 us) than a piece.
        count = min(self._count, len(left))
        return Moves(left, [self._threads.submit(self._run, move, left) for _ in range(count)])

    def _run(self, move: Callable[[L, np.ndarray, int], T], left: Pieces) -> T | None:
        """Move pieces until none is left, and return what the last move returned."""
        if not hasattr(self._own, "lane"):
            self._own.lane = self._free.pop()
        last = None
        try:
            while (piece := _next(left)) is not None:
                last = move(self._own.lane, *piece)
        except BaseException:
            left.clear()
            raise
        return last


class Moves(Generic[T]):
    """The moves of one array's pieces."""

    def __init__(self, left: Pieces, tasks: Sequence[Future[T | None]]) -> None:
        self._left, self._tasks = left, tasks

    def done(self) -> list[T]:
        """Wait for all moves, and return the last result of each lane or raise the first error; then no move runs."""
        try:
            for task in self._tasks:
                task.exception()  # waits
        except BaseException:
            self._left.clear()
            for task in self._tasks:
                task.exception()
            raise
        return [last for task in self._tasks if (last := task.result()) is not None]


def _next(left: Pieces) -> tuple[np.ndarray, int] | None:
    try:
        return left.popleft()
    except IndexError:
        return None


def pieces(host: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
    """Yield parts of an array of at most ``CHUNK`` bytes, each with its first byte in a C-contiguous copy."""
    yield from _pieces(host.reshape(-1) if host.flags.c_contiguous else host, 0)


def _pieces(host: np.ndarray, first: int) -> Iterator[tuple[np.ndarray, int]]:
    if host.nbytes <= CHUNK:
        yield host, first
        return
    row = host.nbytes // len(host)
    if row > CHUNK:
        for k in range(len(host)):
            yield from _pieces(host[k], first + k * row)
        return
    step = CHUNK // row
    for k in range(0, len(host), step):
        yield host[k : k + step], first + k * row


def fill(buffer: np.ndarray, part: np.ndarray) -> None:
    """Copy a part of a host array to the bytes of a buffer, in C order."""
    _as(buffer, part)[...] = part


def empty_into(part: np.ndarray, buffer: np.ndarray) -> None:
    """Copy the bytes of a buffer to a part of a host array."""
    part[...] = _as(buffer, part)


def _as(buffer: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the first bytes of a buffer as an array like another."""
    return buffer[: part.nbytes].view(part.dtype).reshape(part.shape)


def touch(part: np.ndarray) -> None:
    """Write a byte of each page of a contiguous array, so that the system maps them all.

    Copies into new memory wait for that: 22 GB/s in place of 43 with eight threads (H200's host, 2026-11-23).
    """
    if part.flags.c_contiguous:
        part.reshape(-1).view(np.uint8)[::_PAGE] = 0
