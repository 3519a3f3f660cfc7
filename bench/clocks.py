"""How long a device takes: by its own events, one function for each backend, with the wall clock beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

import gpuprims
from gpuprims.core.device import device_of


class Span(NamedTuple):
    """Seconds of the device, and of the host from the first call until the device is done."""

    device: float
    wall: float


class Clock(Protocol):
    """Times calls one after the other, and waits for the last."""

    name: str

    def span(self, call: Callable[[], Any], times: int = 1) -> Span:
        """Time so many calls."""


class HostClock:
    """For what computes on the host, which has no other clock."""

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


class OpenCLClock:
    """Markers on a queue that keeps times."""

    name = "OpenCL markers"

    def __init__(self, device: gpuprims.Device) -> None:
        self._queue = device.driver.queue  # type: ignore[attr-defined]  # of OpenCL's driver

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
    """Return a device whose work can be timed: of OpenCL the same one, by a queue that keeps times."""
    if device.backend != "opencl":
        return device
    import pyopencl as cl
    import pyopencl.array as cl_array

    context = device.driver.context  # type: ignore[attr-defined]
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    found = device_of(cl_array.empty(queue, 1, np.float32))
    assert found is not None
    return found


def clock_of(device: gpuprims.Device) -> Clock:
    """Return the clock for work on a device."""
    if device.backend == "cuda":
        return CudaClock()
    return _opencl_clock(device) if device.backend == "opencl" else HostClock(device.synchronize)


def _opencl_clock(device: gpuprims.Device) -> Clock:
    """Return markers, or, where a driver keeps no times of them, the host's clock, which rows then name."""
    import pyopencl as cl

    clock = OpenCLClock(device)
    try:
        clock.span(lambda: None)
    except cl.Error:
        return HostClock(device.synchronize)
    return clock
