"""Memory that stays with a stream or a queue from launch to launch."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

# Tags are 32-bit numbers and a launch uses two, so fresh statuses replace these long before tags run out.
_MOST_LAUNCHES = 2**30


class StreamMemory:
    """Counters and tile statuses of one device; see :class:`gpuprims.core.driver.Driver`.

    Launches in one stream follow each other, so each stream has its own. ``zeros`` allocates a number of entries of a
    dtype; ``stream`` returns a key of the stream that work goes to now.
    """

    def __init__(self, zeros: Callable[[int, np.dtype[Any]], Any], stream: Callable[[], Hashable]) -> None:
        self._zeros = zeros
        self._stream = stream
        self._counters: dict[Hashable, tuple[int, Any]] = {}
        self._statuses: dict[Hashable, tuple[int, Any, int]] = {}

    def counters(self, count: int) -> Any:
        """Return at least ``count`` 32-bit zeros, which launches leave zero."""
        stream = self._stream()
        size, memory = self._counters.get(stream, (-1, None))
        if size < count:
            size = max(count, 1024)
            memory = self._zeros(size, np.dtype(np.uint32))
            self._counters[stream] = size, memory
        return memory

    def tile_statuses(self, entries: int) -> Any:
        """Return at least ``entries`` tile statuses; each launch leaves higher tags than it found."""
        stream = self._stream()
        size, memory, launches = self._statuses.get(stream, (-1, None, 0))
        if size < entries or launches == _MOST_LAUNCHES:
            size, launches = max(entries, 4096), 0
            memory = self._zeros(size, np.dtype(np.uint64))
        self._statuses[stream] = size, memory, launches + 1
        return memory
