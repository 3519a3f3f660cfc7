"""Memory that stays with a queue from launch to launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends.opencl.kernel import in_order
from gpuprims.backends.opencl.turns import turn_of

# Tags of a board are 32-bit numbers, of which a launch spends two; a fresh board begins again long before they run out.
_MOST_LAUNCHES = 2**30


class Standing:
    """The standing memory of one queue, whose launches follow each other: where it does not keep order, by events."""

    def __init__(self, queue: cl.CommandQueue) -> None:
        self._queue = queue
        self.in_order = in_order(queue)
        self._tickets: cl_array.Array | None = None
        self._board: cl_array.Array | None = None
        self._launches = 0
        self._sources: list[np.ndarray] = []

    def tickets(self, count: int) -> Any:
        """Return zeros, which launches leave zero."""
        if self._tickets is None or self._tickets.size < count:
            self._tickets = self._zeros(max(count, 1024), np.uint32)
        return self._tickets.base_data if self.in_order else self._tickets

    def board(self, entries: int) -> Any:
        """Return the board, which launches leave with higher tags than they found."""
        if self._board is None or self._board.size < entries or self._launches == _MOST_LAUNCHES:
            self._board, self._launches = self._zeros(max(entries, 4096), np.uint64), 0
        self._launches += 1
        return self._board.base_data if self.in_order else self._board

    def _zeros(self, count: int, dtype: type) -> cl_array.Array:
        zeros: np.ndarray = np.zeros(count, dtype)
        self._sources.append(zeros)  # kept: nothing waits until they are read
        with turn_of(self._queue):
            return cl_array.to_device(self._queue, zeros, async_=True)
