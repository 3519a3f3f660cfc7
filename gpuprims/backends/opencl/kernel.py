"""A compiled OpenCL kernel, and its launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends.opencl.arrays import Beside, takes_pointers
from gpuprims.backends.opencl.queues import in_order, near, turn_of
from gpuprims.backends.opencl.quick import HOST_CALLS, quick_launch
from gpuprims.core.driver import Launch
from gpuprims.core.quick_keys import KEYS

# pyopencl generates code for each kernel object; pytools warns if two threads do so at the same time.
_CREATING = Lock()
# Most host arrays that launches keep alive before one waits.
MOST_HELD = 256
# Largest call of several groups, in bytes, that the calling thread runs alone (measurements.md: near-groups).
_NEAR_BYTES = 1 << 15


class Launches:
    """The launches of one queue; ``last`` is the event of the last one.

    ``held`` keeps host memory alive that launches take by pointers, until they have ended. Kernels in the queue
    ``near`` run in the calling thread. A short call sets ``short`` to its bytes to ask for that queue, and uses it if
    the other queue is ``idle``. ``quick`` is true if short calls may run in C.
    """

    def __init__(self, queue: cl.CommandQueue) -> None:
        self._queue, self._in_order, self._turn = queue, in_order(queue), turn_of(queue)
        self.last = cl.enqueue_marker(queue)
        self.near, self.idle, self.short = near(queue), False, 0
        self.quick = self._in_order and queue.device.type == cl.device_type.CPU and takes_pointers(queue.device)
        self.held: list[np.ndarray] = []

    def wait(self) -> None:
        """Wait for the last launch, which takes 1 us less than to wait for the queue (measurements.md: wait)."""
        with self._turn:
            if self._in_order:
                self.last.wait()
            else:
                self._queue.finish()
            self.held.clear()
            self.idle = True

    def in_this_thread(self, run: Callable[[Sequence[Any]], Any], nbytes: int) -> Callable[[Sequence[Any]], Any]:
        """Return a function for calls of up to ``nbytes`` bytes, whose kernels may run in the queue ``near``."""
        if not self.quick:
            return run

        def run_here(arrays: Sequence[Any]) -> Any:
            with self._turn:
                self.short = nbytes
                try:
                    return run(arrays)
                finally:
                    self.short = 0

        return run_here


class OpenCLKernel:
    """A kernel in one queue; it reads its first ``inputs`` arguments and writes the others."""

    def __init__(
        self,
        queue: cl.CommandQueue,
        program: cl.Program,
        entry: str,
        block: int,
        inputs: int,
        launches: Launches,
    ) -> None:
        self._queue, self._program, self._entry = queue, program, entry
        self._block, self._inputs, self._launches = block, inputs, launches
        if launches.quick:  # a kernel is being compiled anyway
            KEYS.ask()
            HOST_CALLS.ask()

    def on(self, queue: cl.CommandQueue, launches: Launches) -> OpenCLKernel:
        """Return the kernel for another queue of its device."""
        return OpenCLKernel(queue, self._program, self._entry, self._block, self._inputs, launches)

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        """Prepare a launch with its own kernel object, whose last arguments stay set."""
        ordered = self._queue if in_order(self._queue) else None
        kernel = self._with_arguments(layout, numbers, local)
        queue, inputs = self._queue, self._inputs
        launches, held = self._launches, self._launches.held
        near, near_bytes = launches.near, math.inf if groups == 1 else _NEAR_BYTES
        size, block, turn = (groups * self._block,), (self._block,), turn_of(queue)

        def launch(memories: Sequence[Any]) -> None:
            pending: list[cl.Event] = []
            with turn:  # the kernel object holds the arguments, and only this queue uses it
                if len(held) > MOST_HELD:
                    launches.wait()
                first = memories[0]
                pointed = isinstance(first, np.ndarray) or (type(first) is Beside and first.is_pointer)
                here = near if 0 < launches.short <= near_bytes and launches.idle else None
                for place, memory in enumerate(memories):
                    if type(memory) is Beside:
                        memory = memory.taken(pointed=pointed)
                    if isinstance(memory, np.ndarray):  # a kernel takes its address
                        held.append(memory)
                        kernel.set_arg(place, cl.SVM(memory))
                        continue
                    here = None  # commands in the queue may still be filling it
                    if isinstance(memory, cl_array.Array):
                        for one in memory.events:
                            # Commands of the same queue need no wait, which would take some 15 us between kernels.
                            if ordered is None or one.command_queue != ordered:
                                pending.append(one)  # noqa: PERF401 - a comprehension costs a Python call
                        memory = memory.base_data
                    kernel.set_arg(place, memory)
                if here is not None:
                    launches.last = cl.enqueue_nd_range_kernel(here, kernel, size, block)
                    return
                event = cl.enqueue_nd_range_kernel(queue, kernel, size, block, wait_for=pending)
                launches.last, launches.idle = event, False
                for memory in memories[inputs:]:
                    if isinstance(memory, cl_array.Array):
                        memory.events[:] = [event]  # the launch waits for the pending events

        made = partial(self._with_arguments, layout, numbers, local)
        return quick_launch(launch, launches, queue, made, (*size, *block))

    def _with_arguments(self, layout: np.ndarray, numbers: Sequence[int], local: int) -> cl.Kernel:
        """Return a kernel object with all arguments set, except the memory."""
        with _CREATING:
            kernel = cl.Kernel(self._program, self._entry)
        if local:
            memory: Any = cl.LocalMemory(local)  # missing in pyopencl's annotations
            kernel.set_arg(kernel.num_args - 1, memory)
        first = kernel.num_args - (local > 0) - 1 - len(numbers)
        kernel.set_arg(first, layout)
        for place, number in enumerate(numbers, first + 1):
            kernel.set_arg(place, np.int64(number))
        return kernel
