"""Lanes between host memory and a GPU's: pinned buffers, each with a stream and a thread, in C if possible."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from gpuprims.core.c_modules import CModule
from gpuprims.core.staging import CHUNK, Lanes, Moves, empty_into, fill, touch

LANES = CModule(Path(__file__).with_name("lanes.c"), lambda module: None, in_calls=False)

_TO_DEVICE, _TO_HOST = cupy.cuda.runtime.memcpyHostToDevice, cupy.cuda.runtime.memcpyDeviceToHost
# Pinned buffers of a lane to the GPU: with two, a thread fills one while the engine empties the other.
_BUFFERS = 2
# Bytes of a piece in C: all buffers fit in a cache of the host, and pieces are whole large pages. 8 lanes up and
# 16 down at once move 26.5 GB/s each way with 2 MiB, 20.7 with 4, 16.5 with 1 (H200's host, 16 cores, 2026-11-23).
_PIECE = 2 << 20


class CudaLane:
    """Pinned buffers with a stream of their own."""

    def __init__(self, device: cupy.cuda.Device, nbytes: int = CHUNK, *, sleeps: bool = True) -> None:
        with device:
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self._pinned = [cupy.cuda.alloc_pinned_memory(nbytes) for _ in range(_BUFFERS)]
            self._last = [_event(sleeps=sleeps) for _ in self._pinned]
        self._buffers = [np.frombuffer(one, np.uint8, nbytes) for one in self._pinned]
        self._next = 0

    @property
    def addresses(self) -> tuple[int, ...]:
        """Where the stream, the events and the buffers are."""
        return self.stream.ptr, *[one.ptr for one in self._last], *[one.ptr for one in self._pinned]

    def send(self, part: np.ndarray, array: cupy.ndarray, start: int, after: Any) -> tuple[CudaLane, Any]:
        """Copy host bytes to a buffer, start their transfer once ``after`` is done, and return an event after it."""
        self._next = k = (self._next + 1) % len(self._buffers)
        self._last[k].synchronize()
        fill(self._buffers[k], part)
        with array.device:
            self.stream.wait_event(after)
            target, source = array.data.ptr + start, self._pinned[k].ptr
            cupy.cuda.runtime.memcpyAsync(target, source, part.nbytes, _TO_DEVICE, self.stream.ptr)
            self._last[k] = _event()
            self._last[k].record(self.stream)
        return self, self._last[k]

    def receive(self, part: np.ndarray, array: cupy.ndarray, start: int, after: Any, *, new: bool) -> None:
        """Transfer bytes to the buffer once ``after`` is done, wait, and copy them to host bytes, perhaps new ones."""
        with array.device:
            self.stream.wait_event(after)
            target, source = self._pinned[0].ptr, array.data.ptr + start
            cupy.cuda.runtime.memcpyAsync(target, source, part.nbytes, _TO_HOST, self.stream.ptr)
            self._last[0].record(self.stream)
        if new:
            touch(part)  # while the engine transfers
        self._last[0].synchronize()
        empty_into(part, self._buffers[0])


def _event(*, sleeps: bool = True) -> Any:
    """Return an event of the current device. Threads that sleep while they wait for it leave the cores to others."""
    return cupy.cuda.Event(block=sleeps, disable_timing=True)


class CudaLanes:
    """The lanes of a GPU in one direction."""

    def __init__(self, device: cupy.cuda.Device, most: int, *, up: bool) -> None:
        self._device, self._up, self._count = device, up, min(most, os.cpu_count() or 1)
        self._lanes = Lanes(partial(CudaLane, device), most)
        self._lock = threading.Lock()
        self._threads: _Threads | None = None

    def start(
        self, host: np.ndarray, array: cupy.ndarray, after: Any, *, new: bool = False
    ) -> Callable[[cupy.cuda.Stream], None]:
        """Start to copy a host array to a contiguous GPU array or from it, once ``after`` is done.

        The function returned waits until the host array has been read or written, and lets a stream wait for what was
        uploaded. ``new`` host arrays may have pages that the system has yet to map.
        """
        LANES.ask()  # here, because few programs copy so much
        if LANES.calls is not None and host.flags.c_contiguous:
            return self._in_c().start(host, array, after, new=new)
        if self._up:
            sent = self._lanes.start(host, lambda lane, part, at: lane.send(part, array, at, after))
            return partial(_finish_sending, sent)
        received = self._lanes.start(host, lambda lane, part, at: lane.receive(part, array, at, after, new=new))
        return lambda stream: _finish_receiving(received)

    def _in_c(self) -> _Threads:
        with self._lock:
            if self._threads is None:
                self._threads = _Threads(self._device, self._count, up=self._up)
        return self._threads


def _finish_sending(sent: Moves[tuple[CudaLane, Any]], stream: cupy.cuda.Stream) -> None:
    for event in dict(sent.done()).values():  # of each lane, the last one
        stream.wait_event(event)


def _finish_receiving(received: Moves[None]) -> None:
    received.done()


class _Threads:
    """Threads in C, their lanes, and jobs that are free."""

    def __init__(self, device: cupy.cuda.Device, count: int, *, up: bool) -> None:
        self._device, self._jobs = device, list[Any]()
        self._lanes = [CudaLane(device, _PIECE, sleeps=False) for _ in range(count)]  # waits are short
        with device:
            functions = *_functions(), cupy.cuda.driver.ctxGetCurrent()
        self._threads = LANES.calls.Lanes(functions, tuple([lane.addresses for lane in self._lanes]), _PIECE, up)

    def start(self, host: np.ndarray, array: cupy.ndarray, after: Any, *, new: bool) -> Callable[[Any], None]:
        """Start to copy: see :class:`CudaLanes`."""
        try:
            kept = self._jobs.pop()
        except IndexError:
            with self._device:
                events = [_event() for _ in self._lanes]
            kept = LANES.calls.Job(tuple([event.ptr for event in events])), events
        self._threads.start(kept[0], host.ctypes.data, array.data.ptr, host.nbytes, after.ptr, new)
        return partial(self._finish, kept, (host, array, after))

    def _finish(self, kept: Any, alive: Any, stream: cupy.cuda.Stream) -> None:
        """Wait for a copy; until then ``alive`` holds what it uses."""
        status = self._threads.finish(kept[0], stream.ptr)
        self._jobs.append(kept)
        cupy.cuda.driver.check_status(status)


@cache
def _functions() -> tuple[int, ...]:
    """Return the addresses of the driver's functions that threads in C call."""
    driver = ctypes.CDLL("libcuda.so.1")
    names = "cuCtxSetCurrent", "cuMemcpyAsync", "cuEventRecord", "cuEventSynchronize", "cuStreamWaitEvent"
    return tuple([ctypes.cast(getattr(driver, name), ctypes.c_void_p).value or 0 for name in names])
