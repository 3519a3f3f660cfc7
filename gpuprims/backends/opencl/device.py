"""OpenCL devices through pyopencl: memory, compiler and queue are pyopencl's."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from pyopencl.tools import ImmediateAllocator, MemoryPool

from gpuprims.backends.opencl.runtimes import platforms
from gpuprims.backends.opencl.variants import KERNELS
from gpuprims.definitions import Definitions
from gpuprims.driver import Capabilities, Launch
from gpuprims.errors import BuildError
from gpuprims.layout import Form, View, host_memory, steps_of
from gpuprims.registry import Variant


class OpenCLDriver:
    """One device, its context and one in-order queue."""

    backend = "opencl"

    def __init__(self, index: int, context: cl.Context, queue: cl.CommandQueue) -> None:
        self.index = index
        self.context = context  # held here: Intel's queues do not keep theirs alive
        self.queue = queue
        self._pool = MemoryPool(ImmediateAllocator(queue))

    @cached_property
    def capabilities(self) -> Capabilities:
        """See :class:`~gpuprims.driver.Capabilities`."""
        device = self.queue.device
        extensions = set(device.extensions.split())
        return Capabilities(
            kind=_kind(device),
            name=device.name.strip(),
            vendor=device.platform.name.strip(),
            driver=f"{' '.join(device.version.split()[:2])}, {device.driver_version.strip()}",
            compute_units=device.max_compute_units,
            group_limit=device.max_work_group_size,
            local_memory=device.local_mem_size,
            memory=device.global_mem_size,
            subgroup_size=_subgroup_size(device, extensions),
            fp64="cl_khr_fp64" in extensions,
            fp16="cl_khr_fp16" in extensions,
            int64_atomics="cl_khr_int64_base_atomics" in extensions,
            forward_progress=_kind(device) == "gpu" and "NVIDIA" in device.platform.name,
        )

    @property
    def shares_host_memory(self) -> bool:
        """Whether kernels can work on host arrays where they lie."""
        return self.capabilities.kind == "cpu"

    def build(self, variant: Variant, definitions: Definitions) -> OpenCLKernel:
        """Compile a kernel file with its definitions; pyopencl keeps the binary on disk."""
        text = definitions.source(KERNELS / "prelude.cl", variant.source, variant.block, variant.items)
        options = ["-cl-std=CL1.2"]
        if self.queue.device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT:
            options.append("-cl-fp32-correctly-rounded-divide-sqrt")  # as NumPy divides and takes roots
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)  # drivers that greet each build; errors still raise
                program = cl.Program(self.context, text).build(options)
        except cl.Error as error:
            where = f"{variant.entry} on {self.capabilities.name} ({self.capabilities.driver})"
            raise BuildError(f"{where}: a kernel that compiles; got\n{error}") from error
        return OpenCLKernel(self.queue, program, variant.entry, variant.block)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> cl_array.Array:
        """Allocate from a pool that keeps freed memory for the next call."""
        return cl_array.empty(self.queue, shape, dtype, allocator=self._pool)

    def view(self, array: cl_array.Array) -> View:
        """See an array as an operand; its offset is passed on, since buffers cannot be cut at any byte."""
        steps = steps_of(array.strides, array.dtype)
        return View(array.base_data, Form(array.dtype, array.shape, steps, array.offset // array.dtype.itemsize))

    def share(self, array: np.ndarray) -> View:
        """Show a host array to a CPU device where it lies."""
        memory, steps, offset = host_memory(array)
        # Not READ_ONLY: Intel's runtime then copies memory that is not aligned to 128 bytes, for 127 ms a 256 MiB array
        # (runtime 2026.2, 2 cores, 2026-11-21); kernels take inputs as const all the same.
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
        return View(cl.Buffer(self.context, flags, hostbuf=memory), Form(array.dtype, array.shape, steps, offset), memory)

    def asarray(self, array: np.ndarray) -> cl_array.Array:
        """Copy a host array to the device."""
        return cl_array.to_device(self.queue, np.ascontiguousarray(array).reshape(array.shape), allocator=self._pool)

    def download(self, array: cl_array.Array) -> np.ndarray:
        """Copy an array to the host, after the work before it."""
        return array.get()

    def synchronize(self) -> None:
        """Wait for the queue."""
        self.queue.finish()


class OpenCLKernel:
    """A kernel bound to a queue."""

    def __init__(self, queue: cl.CommandQueue, program: cl.Program, entry: str, block: int) -> None:
        self._queue = queue
        self._program = program
        self._entry = entry
        self._block = block

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int) -> Launch:
        """Fix a launch; it has a kernel object of its own, whose last arguments stay set."""
        kernel, queue = cl.Kernel(self._program, self._entry), self._queue
        size, block = (groups * self._block,), (self._block,)
        fixed = [layout, *(np.int64(number) for number in numbers)]
        for place, value in enumerate(fixed, kernel.num_args - len(fixed)):
            kernel.set_arg(place, value)

        def launch(memories: Sequence[cl.MemoryObject]) -> None:
            for place, memory in enumerate(memories):
                kernel.set_arg(place, memory)
            cl.enqueue_nd_range_kernel(queue, kernel, size, block)

        return launch


def _kind(device: cl.Device) -> str:
    kinds = {cl.device_type.GPU: "gpu", cl.device_type.CPU: "cpu"}
    return next((kind for flag, kind in kinds.items() if device.type & flag), "accelerator")


def _subgroup_size(device: cl.Device, extensions: set[str]) -> int:
    if "cl_nv_device_attribute_query" in extensions:
        return int(device.warp_size_nv)
    if "cl_intel_subgroups" in extensions or "cl_khr_subgroups" in extensions:
        return int(max(getattr(device, "sub_group_sizes_intel", None) or [0]))
    return 0


@cache
def drivers() -> Sequence[OpenCLDriver]:
    """Open a context and a queue on every device of every platform."""
    devices = [device for platform in platforms() for device in platform.get_devices()]
    contexts = [cl.Context([device]) for device in devices]
    return tuple(OpenCLDriver(k, context, cl.CommandQueue(context)) for k, context in enumerate(contexts))


_FOREIGN: dict[int, OpenCLDriver] = {}


def driver_of(array: Any) -> OpenCLDriver | None:
    """Return the driver of the queue that an array was made with, opening one for a queue not seen before."""
    if not isinstance(array, cl_array.Array):
        return None
    queue = array.queue
    if own := next((driver for driver in drivers() if driver.queue == queue), None):
        return own
    # The driver holds the queue, so its handle is not given to another one while it is listed here.
    index = next((d.index for d in drivers() if d.queue.device == queue.device), len(drivers()))
    return _FOREIGN.setdefault(queue.int_ptr, OpenCLDriver(index, array.context, queue))
