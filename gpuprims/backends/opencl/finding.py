"""The drivers of this machine's OpenCL devices, and that of a queue which the caller has made."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends.opencl.device import OpenCLDriver
from gpuprims.backends.opencl.runtimes import platforms
from gpuprims.errors import ArrayError


@cache
def drivers() -> Sequence[OpenCLDriver]:
    """Open a context and a queue on every device of every platform."""
    devices = [device for platform in platforms() for device in platform.get_devices()]
    contexts = [cl.Context([device]) for device in devices]
    return tuple(OpenCLDriver(k, context, cl.CommandQueue(context)) for k, context in enumerate(contexts))


@cache
def _by_queue() -> dict[int, OpenCLDriver]:
    """Know drivers by their queue's handle; each holds its queue, so no handle here is given to another one."""
    return {driver.queue.int_ptr: driver for driver in drivers()}


def driver_of(array: Any) -> OpenCLDriver | None:
    """Return the driver of the queue that an array was made with, opening one for a queue not seen before."""
    if not isinstance(array, cl_array.Array):
        return None
    if array.queue is None:
        raise ArrayError("pyopencl array: one with a queue; got one without (give it one by array.with_queue(queue))")
    known, queue = _by_queue(), array.queue
    if queue.int_ptr not in known:
        index = next((driver.index for driver in drivers() if driver.queue.device == queue.device), len(drivers()))
        known.setdefault(queue.int_ptr, OpenCLDriver(index, queue.context, queue))
    return known[queue.int_ptr]
