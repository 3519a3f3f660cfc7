"""A compiled OpenCL kernel, and its launches."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends.opencl.compiling import program_of
from gpuprims.backends.opencl.queues import in_order, turn_of
from gpuprims.core.driver import Launch

# 32-bit registers of a multiprocessor, of NVIDIA's GPUs since 2014.
_REGISTERS = 65536


def compiled(queue: cl.CommandQueue, text: str, resident: int = 0) -> cl.Program:
    """Compile a kernel's text for a queue's device, of which a compute unit must have room for so many work-items."""
    options = ["-cl-std=CL1.2"]
    if queue.device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
        options.append("-cl-fp32-correctly-rounded-divide-sqrt")  # as NumPy divides and takes roots
    if resident and "NVIDIA" in queue.device.platform.name:
        options.append(f"-cl-nv-maxrregcount={_REGISTERS // resident // 8 * 8}")
    return program_of(queue.context, queue.device, text, options)


class OpenCLKernel:
    """A kernel bound to a queue; its first ``inputs`` memories are read, the others written."""

    def __init__(self, queue: cl.CommandQueue, program: cl.Program, entry: str, block: int, inputs: int) -> None:
        self._queue = queue
        self._program = program
        self._entry = entry
        self._block = block
        self._inputs = inputs

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Launch:
        """Fix a launch; it has a kernel object of its own, whose last arguments stay set."""
        ordered = self._queue if in_order(self._queue) else None
        kernel, queue, inputs = cl.Kernel(self._program, self._entry), self._queue, self._inputs
        size, block, lock, turn = (groups * self._block,), (self._block,), Lock(), turn_of(queue)
        if local:
            memory: Any = cl.LocalMemory(local)  # which pyopencl's annotations leave out
            kernel.set_arg(kernel.num_args - 1, memory)
        first = kernel.num_args - (local > 0) - 1 - len(numbers)
        kernel.set_arg(first, layout)
        for place, number in enumerate(numbers, first + 1):
            kernel.set_arg(place, np.int64(number))

        def launch(memories: Sequence[Any]) -> None:
            pending: list[cl.Event] = []
            with lock, turn:  # arguments are the kernel object's, not the launch's
                for place, memory in enumerate(memories):
                    if isinstance(memory, cl_array.Array):
                        for one in memory.events:
                            # Events of a queue that keeps order need no wait, which costs some 15 us between kernels.
                            if ordered is None or one.command_queue != ordered:
                                pending.append(one)  # noqa: PERF401 - a comprehension is one more call of Python's
                        memory = memory.base_data
                    kernel.set_arg(place, memory)
                event = cl.enqueue_nd_range_kernel(queue, kernel, size, block, wait_for=pending)
                for memory in memories[inputs:]:
                    if isinstance(memory, cl_array.Array):
                        memory.events[:] = [event]  # which follows those that were pending

        return launch
