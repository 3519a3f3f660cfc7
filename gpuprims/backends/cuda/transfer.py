"""Transfers between host arrays and a GPU, large ones through pinned memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import cupy
import numpy as np

from gpuprims.core.staging import CHUNK, Lanes

_TO_DEVICE, _TO_HOST = cupy.cuda.runtime.memcpyHostToDevice, cupy.cuda.runtime.memcpyDeviceToHost


class CudaLane:
    """A pinned buffer with its own stream."""

    def __init__(self, device: cupy.cuda.Device) -> None:
        with device:
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self._pinned = cupy.cuda.alloc_pinned_memory(CHUNK)
        self._buffer = np.frombuffer(self._pinned, np.uint8, CHUNK)

    def send(self, part: np.ndarray, array: cupy.ndarray, start: int) -> None:
        """Copy host bytes to the buffer, and start their transfer."""
        self.stream.synchronize()
        self._buffer[: part.size] = part
        with array.device:
            target, source = array.data.ptr + start, self._pinned.ptr
            cupy.cuda.runtime.memcpyAsync(target, source, part.size, _TO_DEVICE, self.stream.ptr)

    def receive(self, part: np.ndarray, array: cupy.ndarray, start: int) -> None:
        """Transfer bytes to the buffer, wait, and copy them to host bytes."""
        with array.device:
            target, source = self._pinned.ptr, array.data.ptr + start
            cupy.cuda.runtime.memcpyAsync(target, source, part.size, _TO_HOST, self.stream.ptr)
        self.stream.synchronize()
        part[...] = self._buffer[: part.size]


# Either half of a number that is not there yet, and how often the host looks for it before it waits.
_UNSET, _LOOKS = 0x7FC5_A5A5, 300


class PinnedReport:
    """A number in pinned host memory, and an event after the launches that write it.

    Kernels write all of it or each half, once, and the host sees that sooner than the end of the kernel. A number that
    looks unset is read once the work is done, and so is one that kernels write in smaller parts.
    """

    def __init__(self, transfer: Transfer, device: cupy.cuda.Device) -> None:
        self.memory, self._host = _pinned(device, np.dtype(np.int64))
        self._free, self._index = transfer.reports, device.id
        with device:
            self._done = cupy.cuda.Event(disable_timing=True)
        self._marked: Any = None  # the event, or the stream that the number is left to
        self._halves = self._host.data.cast("B").cast("I")  # read faster than by NumPy

    def unset(self) -> PinnedReport:
        """Prepare for the next call."""
        self._halves[0] = self._halves[1] = _UNSET
        return self

    def mark(self) -> None:
        """Record the event."""
        self._done.record(cupy.cuda.get_current_stream(self._index))
        self._marked = self._done

    def leave(self) -> None:
        """Remember the stream: recording an event takes as long as a launch."""
        self._marked = cupy.cuda.get_current_stream(self._index)

    def read(self) -> int:
        """Look for the number; then wait for the event, or for the stream that it was left to or the current one."""
        for _ in range(_LOOKS):
            if self._is_set():
                return self._taken()
        (self._marked or cupy.cuda.get_current_stream(self._index)).synchronize()
        if not self._is_set():  # it may have been left to another thread's stream of the same handle
            cupy.cuda.Device(self._index).synchronize()
        return self._taken()

    def peek(self) -> int | None:
        """Look for the number, and ask for the event if there is one."""
        if self._is_set() or (self._marked is self._done and self._done.done):
            return self._taken()
        return None

    def _is_set(self) -> bool:
        return self._halves[0] != _UNSET and self._halves[1] != _UNSET

    def _taken(self) -> int:
        number, self._marked = int(self._host[0]), None
        self._free.append(self)
        return number


class Transfer:
    """The transfers of one GPU, ordered with the work of CuPy's current stream."""

    def __init__(self, device: cupy.cuda.Device) -> None:
        self._device = device
        self._lanes = Lanes(partial(CudaLane, device))
        self.reports: list[PinnedReport] = []  # that no call uses

    def report(self) -> PinnedReport:
        """Return a report that no other call uses."""
        try:
            return self.reports.pop().unset()
        except IndexError:
            return PinnedReport(self, self._device).unset()

    def send(self, host: np.ndarray, array: cupy.ndarray) -> None:
        """Copy a host array to a GPU array; later work sees it."""
        if host.nbytes <= CHUNK:
            array.set(host)
            return
        with self._lanes.lock, self._device:
            stream = cupy.cuda.get_current_stream()
            self._follow(stream)  # earlier work may still use the array's memory
            self._lanes.send(host, array)
            for lane in self._lanes.each:
                stream.wait_event(lane.stream.record())

    def receive(self, array: cupy.ndarray) -> np.ndarray:
        """Copy a GPU array to the host, after the work before it."""
        if array.nbytes <= CHUNK or not array.flags.c_contiguous:
            small: np.ndarray = array.get()
            return small
        with self._lanes.lock, self._device:
            self._follow(cupy.cuda.get_current_stream())
            return self._lanes.receive(array)

    def scalar(self, dtype: np.dtype[Any]) -> tuple[cupy.ndarray, Callable[[], Any]]:
        """Return a scalar in pinned host memory, and a function that waits and reads it."""
        device = self._device
        array, host = _pinned(device, dtype)

        def read() -> Any:
            cupy.cuda.get_current_stream(device.id).synchronize()
            return host.item()

        return array, read

    def _follow(self, stream: cupy.cuda.Stream) -> None:
        """Let the lanes wait for the stream's work so far."""
        done = stream.record()
        for lane in self._lanes.each:
            lane.stream.wait_event(done)


def _pinned(device: cupy.cuda.Device, dtype: np.dtype[Any]) -> tuple[cupy.ndarray, np.ndarray]:
    """Return a scalar in pinned host memory, as kernels and as the host see it."""
    with device:
        pinned = cupy.cuda.alloc_pinned_memory(dtype.itemsize)
    memory = cupy.cuda.UnownedMemory(pinned.ptr, dtype.itemsize, pinned, device.id)
    host = np.frombuffer(pinned, dtype, 1)
    return cupy.ndarray((), dtype, cupy.cuda.MemoryPointer(memory, 0)), host
