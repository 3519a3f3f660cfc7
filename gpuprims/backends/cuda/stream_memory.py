"""Memory that stays with a stream from launch to launch."""

from __future__ import annotations

import threading

import cupy
import numpy as np

# Tags are 32-bit numbers and a launch uses two, so fresh statuses replace these long before tags run out.
_MOST_LAUNCHES = 2**30


class StreamMemory:
    """Counters and tile statuses of one GPU. Launches in one stream follow each other, so each stream has its own."""

    def __init__(self, device: cupy.cuda.Device) -> None:
        self._device = device
        self._counters: dict[tuple[int, int], cupy.ndarray] = {}
        self._statuses: dict[tuple[int, int], _Statuses] = {}

    def counters(self, count: int) -> cupy.ndarray:
        """Return zeros, which launches leave zero."""
        stream = self._stream()
        if stream not in self._counters or self._counters[stream].size < count:
            with self._device:
                self._counters[stream] = cupy.zeros(max(count, 1024), np.uint32)
        return self._counters[stream]

    def tile_statuses(self, entries: int) -> cupy.ndarray:
        """Return tile statuses; each launch leaves higher tags than it found."""
        stream = self._stream()
        statuses = self._statuses.get(stream)
        if statuses is None or statuses.memory.size < entries or statuses.launches == _MOST_LAUNCHES:
            with self._device:
                statuses = self._statuses[stream] = _Statuses(cupy.zeros(max(entries, 4096), np.uint64))
        statuses.launches += 1
        return statuses.memory

    def _stream(self) -> tuple[int, int]:
        """Tell the current stream: CUDA's per-thread default streams share one handle."""
        stream = cupy.cuda.get_current_stream(self._device.id).ptr
        return (stream, threading.get_ident() if stream == _PER_THREAD else 0)


class _Statuses:
    """Tile statuses, and how many launches have used them."""

    def __init__(self, memory: cupy.ndarray) -> None:
        self.memory = memory
        self.launches = 0


_PER_THREAD = cupy.cuda.runtime.streamPerThread
