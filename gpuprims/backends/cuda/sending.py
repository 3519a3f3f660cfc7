"""Copies of a few bytes to a GPU, such as the weights of a fit, that the host does not wait for."""

from __future__ import annotations

from collections import deque

import cupy
import numpy as np

# Bytes of a copy. CuPy's own takes 21 us (H200), and waits for the work before it in the default stream.
MOST = 1 << 12
# Most copies in flight; the next one waits for the first of them.
_ON_THEIR_WAY = 64
_TO_DEVICE = cupy.cuda.runtime.memcpyHostToDevice


class _Sent:
    """A few bytes of pinned memory, and an event after the GPU has read them."""

    def __init__(self) -> None:
        self._pinned = cupy.cuda.alloc_pinned_memory(MOST)
        self.done = cupy.cuda.Event(disable_timing=True)

    def start(self, host: np.ndarray, array: cupy.ndarray) -> None:
        """Start to copy a host array, which may change at once, to a contiguous array."""
        stream, kept = cupy.cuda.get_current_stream(), np.frombuffer(self._pinned, np.uint8, host.nbytes)
        kept[:] = np.ascontiguousarray(host).reshape(-1).view(np.uint8)
        cupy.cuda.runtime.memcpyAsync(array.data.ptr, self._pinned.ptr, host.nbytes, _TO_DEVICE, stream.ptr)
        self.done.record(stream)


class Sending:
    """The copies of one GPU, in CuPy's current stream, in the order of their calls."""

    def __init__(self) -> None:
        self._sent: deque[_Sent] = deque()

    def start(self, host: np.ndarray, array: cupy.ndarray) -> None:
        """Start to copy up to ``MOST`` bytes to a contiguous array of the current GPU; later work sees them."""
        one = self._free()
        try:
            one.start(host, array)
        finally:
            self._sent.append(one)

    def _free(self) -> _Sent:
        """Return memory that the GPU has read; wait for it if much of it is in use."""
        try:
            one = self._sent.popleft()
        except IndexError:
            return _Sent()
        if not one.done.done:
            if len(self._sent) < _ON_THEIR_WAY:
                self._sent.appendleft(one)
                return _Sent()
            one.done.synchronize()
        return one
