"""The drivers of this machine's OpenCL devices, and that of a queue which the caller has made."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends.opencl.capabilities import kind_of
from gpuprims.backends.opencl.device import OpenCLDriver
from gpuprims.backends.opencl.runtimes import platforms
from gpuprims.core.lifetime import Discovery, after_fork
from gpuprims.errors import ArrayError

# Beginnings of platform names of CPU runtimes: the fastest and the slowest; others come between them. PoCL 3.1 takes
# 1.6 times as long as Intel's runtime 2026.2, the geometric mean of the 168 works in both reports of bench/results, and
# longer in 138 of them (two cores of an AMD EPYC, 2026-11-22). It has no sub-groups either.
_FAST, _SLOW = "intel", "portable computing"
_KINDS = {"gpu": 0, "accelerator": 1, "cpu": 2}


def place(kind: str, platform: str) -> tuple[int, int, str]:
    """Return the sort key of a device: GPUs first, CPUs last, and the fastest CPU runtime first."""
    name = platform.strip().lower()
    speed = (name.startswith(_SLOW) - name.startswith(_FAST)) if kind == "cpu" else 0
    return _KINDS[kind], speed, name


def _open() -> Sequence[OpenCLDriver]:
    """Open a context and a queue on every device of every platform."""
    devices = [device for platform in platforms() for device in platform.get_devices()]
    devices.sort(key=lambda device: place(kind_of(device), device.platform.name))
    contexts = [cl.Context([device]) for device in devices]
    return tuple(OpenCLDriver(k, context, cl.CommandQueue(context)) for k, context in enumerate(contexts))


drivers = Discovery("opencl", _open)


class _Queues:
    """Drivers by their queue's handle; a driver holds its queue, so no other queue gets the handle."""

    def __init__(self) -> None:
        self.known: dict[int, OpenCLDriver] = {}
        self._lock = Lock()
        after_fork(self._after_fork)

    def open(self, queue: cl.CommandQueue) -> OpenCLDriver:
        """Return the driver of a new queue; all callers get the same one."""
        own = drivers()
        with self._lock:
            self.known.update((driver.queue.int_ptr, driver) for driver in own)
            if queue.int_ptr not in self.known:
                index = next((driver.index for driver in own if driver.queue.device == queue.device), len(own))
                self.known[queue.int_ptr] = OpenCLDriver(index, queue.context, queue)
            return self.known[queue.int_ptr]

    def _after_fork(self) -> None:
        self._lock = Lock()  # another thread of the parent may have held the old one


_QUEUES = _Queues()


def driver_of(array: Any) -> OpenCLDriver | None:
    """Return the driver of the queue that an array was made with, opening one for a queue not seen before."""
    if not isinstance(array, cl_array.Array):
        return None
    if (queue := array.queue) is None:
        raise ArrayError("pyopencl array: one with a queue; got one without (give it one by array.with_queue(queue))")
    driver = _QUEUES.known.get(queue.int_ptr)
    return _QUEUES.open(queue) if driver is None else driver
