"""Memory that stays with a stream from launch to launch."""

from __future__ import annotations

import threading

import cupy
import numpy as np

# Tags of a board are 32-bit numbers, of which a launch spends two; a fresh board begins again long before they run out.
_MOST_LAUNCHES = 2**30


class Standing:
    """The standing memory of one GPU: launches in one stream follow each other, so each stream has its own."""

    def __init__(self, device: cupy.cuda.Device) -> None:
        self._device = device
        self._tickets: dict[tuple[int, int], cupy.ndarray] = {}
        self._boards: dict[tuple[int, int], _Board] = {}

    def tickets(self, count: int) -> cupy.ndarray:
        """Return zeros, which launches leave zero."""
        stream = self._stream()
        if stream not in self._tickets or self._tickets[stream].size < count:
            with self._device:
                self._tickets[stream] = cupy.zeros(max(count, 1024), np.uint32)
        return self._tickets[stream]

    def board(self, entries: int) -> cupy.ndarray:
        """Return the board, which launches leave with higher tags than they found."""
        stream = self._stream()
        board = self._boards.get(stream)
        if board is None or board.memory.size < entries or board.launches == _MOST_LAUNCHES:
            with self._device:
                board = self._boards[stream] = _Board(cupy.zeros(max(entries, 4096), np.uint64))
        board.launches += 1
        return board.memory

    def _stream(self) -> tuple[int, int]:
        """Tell the current stream: CUDA's per-thread default streams share one handle."""
        stream = cupy.cuda.get_current_stream(self._device.id).ptr
        return (stream, threading.get_ident() if stream == _PER_THREAD else 0)


class _Board:
    """A board's memory, and how many launches it has served."""

    def __init__(self, memory: cupy.ndarray) -> None:
        self.memory = memory
        self.launches = 0


_PER_THREAD = cupy.cuda.runtime.streamPerThread
