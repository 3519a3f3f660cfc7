"""Transfers between host arrays and an OpenCL device, large ones through pinned memory."""

from __future__ import annotations

from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends.opencl.turns import turn_of
from gpuprims.core import staging


class OpenCLLane:
    """A buffer that the driver pins, mapped for good, and a queue of its own."""

    def __init__(self, context: cl.Context) -> None:
        self._queue = cl.CommandQueue(context)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        self._pinned = cl.Buffer(context, flags, staging.CHUNK)
        access: Any = cl.map_flags.READ | cl.map_flags.WRITE
        mapped = cl.enqueue_map_buffer(self._queue, self._pinned, access, 0, (staging.CHUNK,), np.dtype(np.uint8))
        self._buffer = mapped[0]
        self.after: list[cl.Event] = []
        self.last: cl.Event | None = None

    def send(self, part: np.ndarray, array: cl_array.Array, start: int) -> None:
        """Copy host bytes to the buffer, and start their transfer."""
        if self.last is not None:
            self.last.wait()
        self._buffer[: part.size] = part
        buffer, target, place = self._buffer[: part.size], _memory(array), array.offset + start
        self.last = cl.enqueue_copy(
            self._queue, target, buffer, dst_offset=place, is_blocking=False, wait_for=self.after
        )
        self._queue.flush()

    def receive(self, part: np.ndarray, array: cl_array.Array, start: int) -> None:
        """Transfer bytes to the buffer, wait, and copy them to host bytes."""
        buffer = self._buffer[: part.size]
        cl.enqueue_copy(self._queue, buffer, _memory(array), src_offset=array.offset + start, wait_for=self.after)
        part[...] = buffer


def _memory(array: cl_array.Array) -> Any:
    return array.base_data


class Transfer:
    """The transfers of one device, ordered with the work of its queue."""

    def __init__(self, queue: cl.CommandQueue) -> None:
        self._queue = queue
        self._lock = Lock()
        self._turn = turn_of(queue)

    @cached_property
    def _lanes(self) -> list[OpenCLLane]:
        return [OpenCLLane(self._queue.context) for _ in range(staging.lane_count())]

    def send(self, host: np.ndarray, array: cl_array.Array) -> None:
        """Copy a host array to an array on the device, which work that follows the array's events sees."""
        if not host.size:  # whose strides pyopencl may find to differ from its own
            return
        if host.nbytes <= staging.CHUNK:
            with self._turn:
                if array.events:  # of a queue without order, which pyopencl does not ask for
                    cl.wait_for_events(array.events)
                array.set(np.ascontiguousarray(host).reshape(host.shape))
            return
        with self._lock, self._turn:
            self._follow()  # the array's memory may have been another's, still in use
            staging.send(self._lanes, np.ascontiguousarray(host), array)
            sent = [lane.last for lane in self._lanes if lane.last is not None]
            array.events[:] = [cl.enqueue_barrier(self._queue, wait_for=sent)]  # one to wait for, in place of eight

    def receive(self, array: cl_array.Array) -> np.ndarray:
        """Copy an array on the device to the host, after the work before it."""
        if not array.flags.c_contiguous:
            with self._turn:
                reordered: np.ndarray = array.get()
            return reordered
        host = np.empty(array.shape, array.dtype)
        if array.nbytes <= staging.CHUNK:
            if array.nbytes:
                source: Any = array.base_data
                with self._turn:
                    cl.enqueue_copy(self._queue, host, source, src_offset=array.offset, wait_for=array.events)
            return host
        with self._lock, self._turn:
            self._follow()
            staging.receive(self._lanes, host, array)
        return host

    def _follow(self) -> None:
        done = cl.enqueue_marker(self._queue)
        self._queue.flush()
        for lane in self._lanes:
            lane.after = [done]
