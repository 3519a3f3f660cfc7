"""GPUs that access each other's memory: copies, arrays of a peer that kernels read in place, and order of work."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from itertools import permutations
from typing import Any

import cupy

from gpuprims.backends.cuda.arrays import new_array

_ENABLED_ALREADY = 704  # cudaErrorPeerAccessAlreadyEnabled


class Peers:
    """What a driver can do with the memory of other GPUs of its host."""

    index: int
    device: Any
    empty: Any

    def from_peer(self, array: cupy.ndarray) -> cupy.ndarray:
        """Return a copy, on this GPU, of another GPU's array as the work in that GPU's current stream leaves it.

        Later work in that stream waits for the copy, so the array's memory may be freed or written at once.
        """
        with array.device:
            dense = cupy.ascontiguousarray(array)
            ready = cupy.cuda.Event(disable_timing=True)
            ready.record()
        copied = self.empty(array.shape, array.dtype)
        with self.device:
            stream = cupy.cuda.get_current_stream()
            stream.wait_event(ready)
            copied.data.copy_from_device_async(dense.data, dense.nbytes)
            done = cupy.cuda.Event(disable_timing=True)
            done.record(stream)
        with array.device:
            cupy.cuda.get_current_stream().wait_event(done)
        return copied

    def reaches(self, drivers: Sequence[Any]) -> bool:
        """Return True if all of these GPUs, which differ, read each other's memory."""
        numbers = [driver.index for driver in drivers]
        return len(set(numbers)) == len(numbers) and all(_reached(*pair) for pair in permutations(numbers, 2))

    def view_of_peer(self, array: cupy.ndarray) -> cupy.ndarray:
        """Return an array of this GPU over a contiguous array of a peer; see :meth:`meet` for the order of work."""
        memory = cupy.cuda.UnownedMemory(array.data.ptr, array.nbytes, array, self.index)
        return new_array(array.shape, array.dtype, cupy.cuda.MemoryPointer(memory, 0))

    def current(self) -> AbstractContextManager[Any]:
        """Make this GPU the current one, so that the calls within need not do so one by one."""
        context: AbstractContextManager[Any] = self.device
        return context

    def follow(self, drivers: Sequence[Any]) -> None:
        """Let later work in the current stream of this GPU wait for the work so far in those of others."""
        events = [driver.mark() for driver in drivers]
        with self.device:
            stream = cupy.cuda.get_current_stream()
            for event in events:
                stream.wait_event(event)

    def lead(self, drivers: Sequence[Any]) -> None:
        """Let later work in the current streams of others wait for the work so far in that of this GPU."""
        event = self.mark()
        for driver in drivers:
            with driver.device:
                cupy.cuda.get_current_stream().wait_event(event)

    def mark(self) -> cupy.cuda.Event:
        """Return an event after the work so far in the current stream of this GPU."""
        with self.device:
            event = cupy.cuda.Event(disable_timing=True)
            event.record()
        return event

    def meet(self, drivers: Sequence[Any]) -> None:
        """Let later work in the current stream of each GPU wait for the work so far in those of all."""
        events = [driver.mark() for driver in drivers]
        for driver in drivers:
            with driver.device:
                stream = cupy.cuda.get_current_stream()
                for other, event in zip(drivers, events, strict=True):
                    if other is not driver:
                        stream.wait_event(event)


@cache
def _reached(index: int, other: int) -> bool:
    """Let a GPU read another one's memory, if it can."""
    if not cupy.cuda.runtime.deviceCanAccessPeer(index, other):
        return False
    with cupy.cuda.Device(index):
        try:
            cupy.cuda.runtime.deviceEnablePeerAccess(other)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            if error.status != _ENABLED_ALREADY:
                raise
    return True
