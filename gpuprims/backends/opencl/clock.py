"""The times at which OpenCL devices run kernels, by the events of a profiling queue."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends.opencl.arrays import Beside
from gpuprims.backends.opencl.kernel import MOST_HELD, Launches, OpenCLKernel
from gpuprims.backends.opencl.queues import turn_of
from gpuprims.core.clock import Span, TimedLaunch

# Sizes of this machine's caches; CPU runtimes report one core's cache, or none.
_HOST_CACHES = "devices/system/cpu/cpu0/cache/index*/size"


class OpenCLClock:
    """The clock of one queue's device.

    A queue keeps times only if it was made so. Kernels that are timed therefore run on another queue of the device,
    each between all earlier and all later work of its own queue.
    """

    name = "OpenCL events"

    def __init__(self, queue: cl.CommandQueue, launches: Launches) -> None:
        self._queue, self._launches, self._turn = queue, launches, turn_of(queue)
        with self._turn:
            keeps_times = cl.command_queue_properties.PROFILING_ENABLE
            self._timed = cl.CommandQueue(queue.context, queue.device, properties=keeps_times)
            self._on_timed = Launches(self._timed)
            self._on_timed.quick = False  # launches in C keep no events
            self._ahead = self._ahead_of_host()

    @property
    def cache(self) -> int:
        """Bytes of the device's last cache."""
        told = int(self._queue.device.global_mem_cache_size)
        return max(told, _host_cache()) if self._queue.device.type & cl.device_type.CPU else told

    def prepare(
        self, kernel: OpenCLKernel, groups: int, layout: np.ndarray, *numbers: int, local: int = 0
    ) -> TimedLaunch:
        """Fix a launch on the queue that keeps times."""
        launch = kernel.on(self._timed, self._on_timed).prepare(groups, layout, *numbers, local=local)

        def start(memories: Sequence[Any]) -> Callable[[], Span]:
            with self._turn:
                _make_beside(memories)
                cl.enqueue_barrier(self._timed, wait_for=[cl.enqueue_marker(self._queue)])
                self._queue.flush()  # or the other queue might wait for ever
                launch(memories)
                event = self._on_timed.last
                self._timed.flush()
                self._follow(event, memories)
            return lambda: self._span(event)

        return start

    def _follow(self, event: cl.Event, memories: Sequence[Any]) -> None:
        """Make later work of the queue wait for a timed launch, and keep the launch's memory until it ends."""
        launches, taken = self._launches, self._on_timed.held
        launches.last, launches.idle = cl.enqueue_barrier(self._queue, wait_for=[event]), False
        for memory in memories:
            if isinstance(memory, cl_array.Array) and event in memory.events:
                memory.events[:] = [launches.last]  # arrays may live longer than the queue that keeps times
        launches.held.extend(taken)
        taken.clear()
        if len(launches.held) > MOST_HELD:
            launches.wait()

    def _span(self, event: cl.Event) -> Span:
        with self._turn:
            event.wait()
            told = event.profile
            return Span(told.start * 1e-9 - self._ahead, told.end * 1e-9 - self._ahead)

    def _ahead_of_host(self) -> float:
        """Return how many seconds the device's clock is ahead of the host's."""
        memory = cl.Buffer(self._queue.context, cl.mem_flags.READ_WRITE, 4)
        event = cl.enqueue_fill_buffer(self._timed, memory, bytes(4), 0, 4)
        event.wait()
        return float(event.profile.end * 1e-9 - time.perf_counter())


def _make_beside(memories: Sequence[Any]) -> None:
    """Make the memory beside a call's arrays now: the launch has to follow the commands that fill it."""
    first = memories[0]
    pointed = isinstance(first, np.ndarray) or (type(first) is Beside and first.is_pointer)
    for memory in memories:
        if type(memory) is Beside:
            memory.taken(pointed=pointed)


def _host_cache() -> int:
    """Return the bytes of this machine's largest cache, where Linux reports it."""
    units = {"K": 1 << 10, "M": 1 << 20}
    told = [path.read_text().strip() for path in Path("/sys").glob(_HOST_CACHES)]
    return max([int(size[:-1]) * units[size[-1]] for size in told if size[-1:] in units], default=0)
