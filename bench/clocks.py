"""Clocks: the device's events, by a class for each backend, and the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

import gpuprims
from gpuprims.core.device import device_of


class Span(NamedTuple):
    """Seconds of the device, and of the host from the first call to the end of the last."""

    device: float
    wall: float


class Clock(Protocol):
    """Time consecutive calls, and wait for the last."""

    name: str

    def span(self, call: Callable[[], Any], times: int = 1) -> Span:
        """Time a number of calls."""


class HostClock:
    """The wall clock alone, for calls that compute on the host."""

    name = "host clock"

    def __init__(self, wait: Callable[[], None]) -> None:
        self._wait = wait

    def span(self, call: Callable[[], Any], times: int = 1) -> Span:
        """See :class:`Clock`."""
        start = time.perf_counter()
        for _ in range(times):
            call()
        self._wait()
        wall = time.perf_counter() - start
        return Span(wall, wall)


class CudaClock:
    """CUDA events on CuPy's current stream."""

    name = "CUDA events"

    def span(self, call: Callable[[], Any], times: int = 1) -> Span:
        """See :class:`Clock`."""
        import cupy

        before, after = cupy.cuda.Event(), cupy.cuda.Event()
        start = time.perf_counter()
        before.record()
        for _ in range(times):
            call()
        after.record()
        after.synchronize()
        wall = time.perf_counter() - start
        return Span(cupy.cuda.get_elapsed_time(before, after) * 1e-3, wall)


def queue_of(device: gpuprims.Device) -> Any:
    """Return pyopencl's queue of an OpenCL device."""
    return device.asarray(np.zeros(1, np.uint32)).queue


class OpenCLClock:
    """Markers on a profiling queue."""

    name = "OpenCL markers"

    def __init__(self, device: gpuprims.Device) -> None:
        self._queue = queue_of(device)

    def span(self, call: Callable[[], Any], times: int = 1) -> Span:
        """See :class:`Clock`."""
        import pyopencl as cl

        start = time.perf_counter()
        before = cl.enqueue_marker(self._queue)
        for _ in range(times):
            call()
        after = cl.enqueue_marker(self._queue)
        self._queue.finish()
        wall = time.perf_counter() - start
        return Span((after.profile.end - before.profile.end) * 1e-9, wall)


def timed_device(device: gpuprims.Device) -> gpuprims.Device:
    """Return a device that can be timed: for OpenCL, the same device with a profiling queue."""
    if device.backend != "opencl":
        return device
    import pyopencl as cl
    import pyopencl.array as cl_array

    queue = cl.CommandQueue(queue_of(device).context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    found = device_of(cl_array.empty(queue, 1, np.float32))
    assert found is not None
    return found


def clock_of(device: gpuprims.Device) -> Clock:
    """Return the clock of a device."""
    if device.backend == "cuda":
        return CudaClock()
    return _opencl_clock(device) if device.backend == "opencl" else HostClock(device.synchronize)


def _opencl_clock(device: gpuprims.Device) -> Clock:
    """Return markers, or the host's clock if the driver keeps no times of markers; rows name the clock."""
    import pyopencl as cl

    clock = OpenCLClock(device)
    try:
        clock.span(lambda: None)
    except cl.Error:
        return HostClock(device.synchronize)
    return clock
