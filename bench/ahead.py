"""Let the host get ahead of a GPU: launches gather behind an idle loop before the clock starts.

A short kernel ends before the host can launch the next. If some launches are already on the queue, events measure the
device's time alone. The wall time beside it is of one call, with its launch and the wait for its end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gpuprims

from .clocks import Clock

# Each iteration waits for the previous one. The number is stored, so no compiler removes the loop.
_LOOP = "{ unsigned int kept = *number; for (; steps; --steps) kept = kept * 1664525u + 1013904223u; *number = kept; }"
_CUDA = 'extern "C" __global__ void idle(unsigned int *number, unsigned int steps) ' + _LOOP
_OPENCL = "__kernel void idle(__global unsigned int *number, unsigned int steps) " + _LOOP
_TRIED = 1_000_000

# Occupies the device for the given number of seconds.
Delay = Callable[[float], None]


def delay_of(device: gpuprims.Device, clock: Clock) -> Delay | None:
    """Return a function that keeps a GPU busy for a while, or None for a CPU, because the host needs its cores."""
    if device.capabilities.kind != "gpu":
        return None
    loop = idle_loop(device)
    loop(_TRIED)
    rate = _TRIED / min(clock.span(lambda: loop(_TRIED)).device for _ in range(3))
    return lambda seconds: loop(int(seconds * rate))


def idle_loop(device: gpuprims.Device) -> Callable[[int], Any]:
    """Return a kernel that runs an idle loop of a number of iterations."""
    number: Any = device.asarray(np.zeros(1, np.uint32))
    if device.backend == "cuda":
        import cupy

        idle = cupy.RawKernel(_CUDA, "idle")
        return lambda steps: idle((1,), (1,), (number, np.uint32(steps)))
    import pyopencl as cl

    queue = number.queue
    with warnings.catch_warnings(action="ignore", category=cl.CompilerWarning):  # some drivers always print a remark
        kernel = cl.Kernel(cl.Program(queue.context, _OPENCL).build(), "idle")
    return lambda steps: kernel(queue, (1,), (1,), number.base_data, np.uint32(steps))
