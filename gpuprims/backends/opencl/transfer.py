"""Transfers between host arrays and an OpenCL device, large ones through pinned memory."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends.opencl.queues import turn_of
from gpuprims.core.staging import CHUNK, LANES_UP, Lanes, empty_into, fill, touch


class OpenCLLane:
    """A pinned buffer that stays mapped, with its own queue."""

    def __init__(self, context: cl.Context) -> None:
        self._queue = cl.CommandQueue(context)
        self._pinned = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, CHUNK)
        access: Any = cl.map_flags.READ | cl.map_flags.WRITE
        mapped = cl.enqueue_map_buffer(self._queue, self._pinned, access, 0, (CHUNK,), np.dtype(np.uint8))
        self._buffer = mapped[0]
        self._last: cl.Event | None = None

    def send(
        self, part: np.ndarray, array: cl_array.Array, start: int, after: list[cl.Event]
    ) -> tuple[OpenCLLane, cl.Event]:
        """Copy host bytes to the buffer, start their transfer after the events ``after``, and return its event."""
        if self._last is not None:
            self._last.wait()
        fill(self._buffer, part)
        buffer = self._buffer[: part.nbytes]
        how: dict[str, Any] = {"dst_offset": array.offset + start, "is_blocking": False, "wait_for": after}
        self._last = cl.enqueue_copy(self._queue, cast("Any", array.base_data), buffer, **how)
        self._queue.flush()
        return self, self._last

    def receive(self, part: np.ndarray, array: cl_array.Array, start: int, after: list[cl.Event]) -> None:
        """Transfer bytes to the buffer after the events ``after``, wait, and copy them to the host array."""
        buffer, source = self._buffer[: part.nbytes], cast("Any", array.base_data)
        touch(part)
        cl.enqueue_copy(self._queue, buffer, source, src_offset=array.offset + start, wait_for=after)
        empty_into(part, buffer)


class CopiedReport:
    """A number in device memory, and its copy on the host."""

    def __init__(self, queue: cl.CommandQueue, memory: cl_array.Array, free: list[CopiedReport]) -> None:
        self._queue, self.memory, self._free = queue, memory, free
        self._turn = turn_of(queue)
        # Pinned, so that the copy does not wait.
        flags, access = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, cl.map_flags.READ | cl.map_flags.WRITE
        self._pinned, asked = cl.Buffer(queue.context, flags, 8), cast("Any", access)
        self._host = cl.enqueue_map_buffer(queue, self._pinned, asked, 0, (1,), np.dtype(np.int64))[0]
        self._copied: Any = None

    def mark(self) -> None:
        """Start the copy."""
        with self._turn:
            self._copied = self._copy(blocks=False)

    leave = mark

    def read(self) -> int:
        """Copy if no copy was started, wait, and return the number."""
        with self._turn:
            if self._copied is None:
                self._copy(blocks=True)  # one command instead of two
            else:
                self._copied.wait()
        return self._taken()

    def peek(self) -> int | None:
        """Return the number if it has been copied, else None."""
        with self._turn:
            done = self._copied.command_execution_status == cl.command_execution_status.COMPLETE
        return self._taken() if done else None

    def _copy(self, *, blocks: bool) -> Any:
        source: Any = self.memory.base_data
        return cl.enqueue_copy(self._queue, self._host, source, is_blocking=blocks, wait_for=self.memory.events)

    def _taken(self) -> int:
        number, self._copied = int(self._host[0]), None
        self._free.append(self)
        return number


class Transfer:
    """Transfers of one device, in order with the work of its queue."""

    def __init__(self, queue: cl.CommandQueue) -> None:
        self._queue = queue
        self._lanes = Lanes(partial(OpenCLLane, queue.context), LANES_UP)
        self._turn = turn_of(queue)

    def send(self, host: np.ndarray, array: cl_array.Array) -> None:
        """Copy a host array to a device array; later work waits for the events of that array."""
        if host.nbytes <= CHUNK:
            if host.size:
                target, source = cast("Any", array.base_data), np.ascontiguousarray(host)
                with self._turn:
                    cl.enqueue_copy(self._queue, target, source, dst_offset=array.offset, wait_for=array.events)
            return
        with self._turn:
            after = self._mark()  # earlier work may still use the array's memory
            sent = self._lanes.start(host, lambda lane, part, start: lane.send(part, array, start, after)).done()
            last = list(dict(sent).values())  # the last event of each lane
            array.events[:] = [cl.enqueue_barrier(self._queue, wait_for=last)]  # one event instead of eight

    def receive(self, array: cl_array.Array) -> np.ndarray:
        """Copy a device array to the host, after earlier work."""
        if not array.flags.c_contiguous:
            with self._turn:
                reordered: np.ndarray = array.get()
            return reordered
        if array.nbytes > CHUNK:
            large = np.empty(array.shape, array.dtype)
            with self._turn:
                after = self._mark()
                self._lanes.start(large, lambda lane, part, start: lane.receive(part, array, start, after)).done()
            return large
        host = np.empty(array.shape, array.dtype)
        if array.nbytes:
            source: Any = array.base_data
            with self._turn:
                cl.enqueue_copy(self._queue, host, source, src_offset=array.offset, wait_for=array.events)
        return host

    def _mark(self) -> list[cl.Event]:
        """Return an event for all work queued so far."""
        marked = cl.enqueue_marker(self._queue)
        self._queue.flush()
        return [marked]
