"""Memory that stays with a queue from launch to launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends.opencl.kernel import in_order
from gpuprims.backends.opencl.turns import turn_of

# Tags are 32-bit numbers and a launch uses two, so fresh statuses replace these long before tags run out.
_MOST_LAUNCHES = 2**30


class StreamMemory:
    """Counters and tile statuses of one queue. Launches that use them follow each other, by events if need be."""

    def __init__(self, queue: cl.CommandQueue) -> None:
        self._queue = queue
        self.in_order = in_order(queue)
        self._counters: cl_array.Array | None = None
        self._statuses: cl_array.Array | None = None
        self._launches = 0
        self._sources: list[np.ndarray] = []

    def counters(self, count: int) -> Any:
        """Return zeros, which launches leave zero."""
        if self._counters is None or self._counters.size < count:
            self._counters = self._zeros(max(count, 1024), np.uint32)
        return self._counters.base_data if self.in_order else self._counters

    def tile_statuses(self, entries: int) -> Any:
        """Return tile statuses; each launch leaves higher tags than it found."""
        if self._statuses is None or self._statuses.size < entries or self._launches == _MOST_LAUNCHES:
            self._statuses, self._launches = self._zeros(max(entries, 4096), np.uint64), 0
        self._launches += 1
        return self._statuses.base_data if self.in_order else self._statuses

    def _zeros(self, count: int, dtype: type) -> cl_array.Array:
        zeros: np.ndarray = np.zeros(count, dtype)
        self._sources.append(zeros)  # kept: nothing waits until they are read
        with turn_of(self._queue):
            return cl_array.to_device(self._queue, zeros, async_=True)
