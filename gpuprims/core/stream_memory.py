"""Memory that stays with a stream or a queue from launch to launch."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.geometry import power_of_two

# Tags are 32-bit numbers and a launch uses two, so fresh statuses replace these long before tags run out.
_MOST_LAUNCHES = 2**30
# Bytes for partial values that stay with a stream: the fewest, and the most. The fewest counters.
_FEWEST_BYTES, MOST_BYTES, _FEWEST_COUNTERS = 1 << 16, 1 << 20, 1024


class Room(NamedTuple):
    """Bytes for partial values, and counters, for one kernel."""

    nbytes: int
    counters: int

    @classmethod
    def of(cls, nbytes: int, counters: int) -> Room:
        """Return at least so much room, of few different sizes."""
        return cls(
            power_of_two(max(nbytes, _FEWEST_BYTES)) if nbytes else 0, power_of_two(max(counters, _FEWEST_COUNTERS))
        )


class StreamMemory:
    """Counters and tile statuses of one device; see :class:`gpuprims.core.driver.Driver`.

    Launches in one stream follow each other, so each stream has its own. ``zeros`` allocates a number of entries of a
    dtype; ``stream`` returns a key of the stream that work goes to now.

    Attributes
    ----------
    turn : threading.Lock
        Threads that start several kernels on the same memory of :meth:`beside`, in one stream, take turns.
    """

    def __init__(self, zeros: Callable[[int, np.dtype[Any]], Any], stream: Callable[[], Hashable]) -> None:
        self._zeros, self._stream = zeros, stream
        self.turn = Lock()
        self._counters: dict[Hashable, tuple[int, Any]] = {}
        self._statuses: dict[Hashable, tuple[int, Any, int]] = {}
        self._beside: dict[tuple[Hashable, Room], tuple[Any, Any]] = {}

    def counters(self, count: int) -> Any:
        """Return at least ``count`` 32-bit zeros, which launches leave zero."""
        stream = self._stream()
        size, memory = self._counters.get(stream, (-1, None))
        if size < count:
            size = max(count, 1024)
            memory = self._zeros(size, np.dtype(np.uint32))
            self._counters[stream] = size, memory
        return memory

    def beside(self, room: Room) -> tuple[Any, Any]:
        """Return bytes for the partial values of one kernel or turn, and 32-bit zeros, which it leaves zero.

        All of this memory stays, because launches in C know where it lies.
        """
        key = self._stream(), room
        kept = self._beside.get(key)
        if kept is None:
            zeros = self._zeros(room.counters, np.dtype(np.uint32))
            kept = self._beside[key] = (self._zeros(room.nbytes, np.dtype(np.uint8)) if room.nbytes else zeros, zeros)
        return kept

    def tile_statuses(self, entries: int) -> Any:
        """Return at least ``entries`` tile statuses; each launch leaves higher tags than it found."""
        stream = self._stream()
        size, memory, launches = self._statuses.get(stream, (-1, None, 0))
        if size < entries or launches == _MOST_LAUNCHES:
            size, launches = max(entries, 4096), 0
            memory = self._zeros(size, np.dtype(np.uint64))
        self._statuses[stream] = size, memory, launches + 1
        return memory

    def forget(self, stream: Hashable) -> None:
        """Drop the memory of a stream; a captured call keeps its own."""
        self._counters.pop(stream, None)
        self._statuses.pop(stream, None)
        for key in [key for key in self._beside if key[0] is stream]:
            del self._beside[key]
