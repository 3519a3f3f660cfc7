"""How the host gets ahead of a GPU: an idle loop on its queue, behind which launches gather before the clock starts.

Short kernels end sooner than the host can launch the next. With some of them on the queue already, events tell what
the device takes; what a call takes that is waited for, launch and all, is the wall time beside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import gpuprims

from .clocks import Clock

# Each step waits for the one before; the number is kept, so that no compiler leaves them out.
_LOOP = "{ unsigned int kept = *number; for (; steps; --steps) kept = kept * 1664525u + 1013904223u; *number = kept; }"
_CUDA = 'extern "C" __global__ void idle(unsigned int *number, unsigned int steps) ' + _LOOP
_OPENCL = "__kernel void idle(__global unsigned int *number, unsigned int steps) " + _LOOP
_TRIED = 1_000_000

# Occupies the device for so many seconds.
Delay = Callable[[float], None]


def delay_of(device: gpuprims.Device, clock: Clock) -> Delay | None:
    """Return what keeps a GPU busy for a while; of a CPU, whose cores the host needs, there is none."""
    if device.capabilities.kind != "gpu":
        return None
    loop = _loop(device)
    loop(_TRIED)
    rate = _TRIED / min(clock.span(lambda: loop(_TRIED)).device for _ in range(3))
    return lambda seconds: loop(int(seconds * rate))


def _loop(device: gpuprims.Device) -> Callable[[int], Any]:
    number: Any = device.asarray(np.zeros(1, np.uint32))
    if device.backend == "cuda":
        import cupy

        idle = cupy.RawKernel(_CUDA, "idle")
        return lambda steps: idle((1,), (1,), (number, np.uint32(steps)))
    import pyopencl as cl

    queue = device.driver.queue  # type: ignore[attr-defined]  # of OpenCL's driver
    with warnings.catch_warnings(action="ignore", category=cl.CompilerWarning):  # some drivers always have a remark
        kernel = cl.Kernel(cl.Program(queue.context, _OPENCL).build(), "idle")
    return lambda steps: kernel(queue, (1,), (1,), number.base_data, np.uint32(steps))
