"""Transfers between host arrays and a GPU, large ones through pinned memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Any

import cupy
import numpy as np

from gpuprims.core import staging

_TO_DEVICE, _TO_HOST = cupy.cuda.runtime.memcpyHostToDevice, cupy.cuda.runtime.memcpyDeviceToHost


class CudaLane:
    """A pinned buffer and a stream of its own."""

    def __init__(self, device: cupy.cuda.Device) -> None:
        with device:
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self._pinned = cupy.cuda.alloc_pinned_memory(staging.CHUNK)
        self._buffer = np.frombuffer(self._pinned, np.uint8, staging.CHUNK)

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


class Transfer:
    """The transfers of one GPU, ordered with the work of CuPy's current stream."""

    def __init__(self, device: cupy.cuda.Device) -> None:
        self._device = device
        self._lock = Lock()

    @cached_property
    def _lanes(self) -> list[CudaLane]:
        return [CudaLane(self._device) for _ in range(staging.lane_count())]

    def send(self, host: np.ndarray, array: cupy.ndarray) -> None:
        """Copy a host array to an array on the GPU, which work started later sees."""
        if host.nbytes <= staging.CHUNK:
            array.set(host)
            return
        with self._lock, self._device:
            stream = cupy.cuda.get_current_stream()
            self._follow(stream)  # the array's memory may have been another's, still in use
            staging.send(self._lanes, np.ascontiguousarray(host), array)
            for lane in self._lanes:
                stream.wait_event(lane.stream.record())

    def receive(self, array: cupy.ndarray) -> np.ndarray:
        """Copy an array on the GPU to the host, after the work before it."""
        if array.nbytes <= staging.CHUNK or not array.flags.c_contiguous:
            small: np.ndarray = array.get()
            return small
        host = np.empty(array.shape, array.dtype)
        with self._lock, self._device:
            self._follow(cupy.cuda.get_current_stream())
            staging.receive(self._lanes, host, array)
        return host

    def scalar(self, dtype: np.dtype[Any]) -> tuple[cupy.ndarray, Callable[[], Any]]:
        """Return pinned memory of the host for a scalar, and a function that waits and reads it."""
        device = self._device
        with device:
            pinned = cupy.cuda.alloc_pinned_memory(dtype.itemsize)
        memory = cupy.cuda.UnownedMemory(pinned.ptr, dtype.itemsize, pinned, device.id)
        host = np.frombuffer(pinned, dtype, 1)

        def read() -> Any:
            cupy.cuda.get_current_stream(device.id).synchronize()
            return host.item()

        return cupy.ndarray((), dtype, cupy.cuda.MemoryPointer(memory, 0)), read

    def _follow(self, stream: cupy.cuda.Stream) -> None:
        done = stream.record()
        for lane in self._lanes:
            lane.stream.wait_event(done)
