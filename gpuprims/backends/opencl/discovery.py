"""The drivers of this machine's OpenCL devices, and of queues that users create."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends.opencl.capabilities import kind_of
from gpuprims.backends.opencl.device import OpenCLDriver
from gpuprims.backends.opencl.queues import turn_of
from gpuprims.backends.opencl.runtimes import devices
from gpuprims.core.lifetime import Discovery
from gpuprims.errors import ArrayError

# Prefixes of the platform names of the fastest and the slowest CPU runtime; others rank between (measurements.md:
# runtimes).
_FAST, _SLOW = "intel", "portable computing"
_KINDS = {"gpu": 0, "accelerator": 1, "cpu": 2}


def place(kind: str, platform: str) -> tuple[int, int, str]:
    """Return the sort key of a device: GPUs first, CPUs last, faster CPU runtimes before slower ones."""
    name = platform.strip().lower()
    speed = (name.startswith(_SLOW) - name.startswith(_FAST)) if kind == "cpu" else 0
    return _KINDS[kind], speed, name


def _open() -> Sequence[OpenCLDriver]:
    """Open a context and a queue on every device of every platform."""
    found = sorted(devices(), key=lambda device: place(kind_of(device), device.platform.name))
    contexts = [cl.Context([device]) for device in found]
    return tuple(OpenCLDriver(k, context, cl.CommandQueue(context)) for k, context in enumerate(contexts))


drivers = Discovery("opencl", _open)
# Drivers by the handle of their queue. A driver keeps its queue alive, so no other queue can get the handle.
_KNOWN: dict[int, OpenCLDriver] = {}


def driver_of(array: Any) -> OpenCLDriver | None:
    """Return the driver of an array's queue; make one for a new queue."""
    if not isinstance(array, cl_array.Array):
        return None
    if (queue := array.queue) is None:
        raise ArrayError("pyopencl array: one with a queue; got one without (use array.with_queue(queue))")
    return _KNOWN.get(queue.int_ptr) or _opened(queue)


def _opened(queue: cl.CommandQueue) -> OpenCLDriver:
    """Return the driver of a new queue, the same one for all threads."""
    own = drivers()
    with turn_of(queue):
        _KNOWN.update((driver.queue.int_ptr, driver) for driver in own)
        if queue.int_ptr not in _KNOWN:
            index = next((driver.index for driver in own if driver.queue.device == queue.device), len(own))
            _KNOWN[queue.int_ptr] = OpenCLDriver(index, queue.context, queue)
        return _KNOWN[queue.int_ptr]
