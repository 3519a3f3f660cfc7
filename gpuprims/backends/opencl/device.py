"""OpenCL devices, with pyopencl's memory, compiler and queue."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from gpuprims.backends import PRELUDES
from gpuprims.backends.opencl.arrays import Arrays, place_of
from gpuprims.backends.opencl.capabilities import capabilities_of
from gpuprims.backends.opencl.clock import OpenCLClock
from gpuprims.backends.opencl.compiling import compiled
from gpuprims.backends.opencl.kernel import Launches, OpenCLKernel
from gpuprims.backends.opencl.queues import turn_of
from gpuprims.backends.opencl.quick import Run, runner_in_place
from gpuprims.backends.opencl.transfer import CopiedReport, Transfer
from gpuprims.core.capabilities import Capabilities
from gpuprims.core.codegen import kernel_source
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Form, View
from gpuprims.core.memory import host_memory
from gpuprims.core.stream_memory import StreamMemory
from gpuprims.core.variant import Variant
from gpuprims.errors import BuildError


class OpenCLDriver:
    """One device, its context and one in-order queue."""

    backend = "opencl"
    order = 0  # the one queue

    def __init__(self, index: int, context: cl.Context, queue: cl.CommandQueue) -> None:
        self.index, self.queue, self._turn = index, queue, turn_of(queue)
        self.context = context  # held here: Intel's queues do not keep theirs alive
        transfer, self._launches = Transfer(queue), Launches(queue)
        # Bound once, because each Python call slows down warm calls.
        self._send, self.to_host, self.wait = transfer.send, transfer.receive, self._launches.wait
        self.clock, self.wakes_threads = partial(OpenCLClock, queue, self._launches), self._launches.near is None
        self._reports: list[CopiedReport] = []  # not in use
        memory = StreamMemory(lambda *asked: self.arrays.kept_zeros(*asked), int)  # int() is the key of its one queue
        self.stream_memory, self.counters, self.tile_statuses = memory, memory.counters, memory.tile_statuses

    @cached_property
    def capabilities(self) -> Capabilities:
        """The device's capabilities."""
        return capabilities_of(self.queue)

    @cached_property
    def arrays(self) -> Arrays:
        """The arrays of the queue."""
        return Arrays(self.queue, self.capabilities)

    @property
    def shares_host_memory(self) -> bool:
        """True for CPUs, whose kernels can work on host arrays in place."""
        return self.capabilities.kind == "cpu"

    def build(self, variant: Variant, spec: KernelSpec) -> OpenCLKernel:
        """Compile a kernel file with its spec."""
        text = kernel_source(spec, variant, PRELUDES["opencl"], self.capabilities.warp)
        try:
            program = compiled(self.queue, text, variant.block * variant.resident if variant.together else 0)
        except cl.Error as error:
            where = f"{variant.entry} on {self.capabilities.name} ({self.capabilities.driver})"
            raise BuildError(f"{where}: a kernel that compiles; got\n{error}") from error
        return OpenCLKernel(self.queue, program, variant.entry, variant.block, len(spec.inputs), self._launches)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> cl_array.Array:
        """Allocate from a pool that keeps freed memory for the next call."""
        return self.arrays.make(shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> cl_array.Array:
        """Allocate from the pool, and fill."""
        return self.arrays.clear(self.empty(shape, dtype))

    def copy(self, array: cl_array.Array, host: np.ndarray) -> cl_array.Array:
        """Copy an array, after the work that fills it; on CPUs copy its host array instead."""
        if self.shares_host_memory:
            return self.arrays.make(host.shape, host.dtype, host)
        return self.arrays.fill(self.empty(array.shape, array.dtype), array)

    @cached_property
    def cut(self) -> Callable[[cl_array.Array, int, tuple[int, ...]], cl_array.Array]:
        """Return a function that slices a contiguous array."""
        return self.arrays.cut

    @cached_property
    def scratch(self) -> Callable[[int], Any]:
        """Return a function that allocates scratch memory."""
        return self.arrays.scratch

    def form(self, array: cl_array.Array) -> Form:
        """Describe an array. Kernels add its offset, since a buffer cannot begin at any byte."""
        return Form(array.dtype, array.shape, array.strides, array.offset, 16)

    def address(self, array: cl_array.Array) -> tuple[int, int]:
        """Return the buffer of an array, and its first byte there; empty arrays have no buffer."""
        buffer, first = place_of(array.base_data) if array.size else (0, 0)
        return buffer, first + array.offset

    def share(self, array: np.ndarray) -> View:
        """Pass a host array to a CPU device without a copy."""
        memory, offset = host_memory(array)
        form = Form(array.dtype, array.shape, array.strides, offset)
        return View(self.memory(memory), form, memory)

    @cached_property
    def memory(self) -> Callable[[np.ndarray], cl.Buffer | np.ndarray]:
        """Return a function that passes the memory of a C-contiguous host array to a CPU device."""
        return self.arrays.memory

    @cached_property
    def in_this_thread(self) -> Callable[[Run, int], Run]:
        """Return a function that lets the calling thread run the kernels of short calls."""
        return self._launches.in_this_thread

    runner_in_place = staticmethod(runner_in_place)

    def asarray(self, array: np.ndarray) -> cl_array.Array:
        """Copy a host array to the device."""
        copied = self.empty(array.shape, array.dtype)
        self._send(array, copied)
        return copied

    @property
    def room(self) -> int:
        """Bytes of the largest buffer; OpenCL does not report free memory."""
        return self.capabilities.largest_allocation

    def scalar(self, dtype: np.dtype[Any]) -> tuple[cl_array.Array, Callable[[], Any]]:
        """Return device memory for a scalar, and a function that copies it to the host."""
        return (array := self.empty((), dtype)), lambda: self.to_host(array).item()

    def report(self) -> CopiedReport:
        """Return a number in device memory with its copy on the host."""
        try:
            return self._reports.pop()
        except IndexError:
            return CopiedReport(self.queue, self.empty((1,), np.dtype(np.int64)), self._reports)

    def synchronize(self) -> None:
        """Wait for the queue."""
        with self._turn:
            self.queue.finish()
