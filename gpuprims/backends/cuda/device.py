"""CUDA devices through CuPy: memory pool and streams are CuPy's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import cupy
import numpy as np
from cupy_backends.cuda.api.driver import funcGetAttribute, funcSetAttribute

from gpuprims.backends import PRELUDES
from gpuprims.backends.cuda.arrays import new_array
from gpuprims.backends.cuda.capabilities import capabilities_of
from gpuprims.backends.cuda.capture import in_stream, is_capturing, memory_key, stream_handle, stream_of
from gpuprims.backends.cuda.clock import CudaClock
from gpuprims.backends.cuda.kernel import CudaKernel, alongside, compiled, current_device
from gpuprims.backends.cuda.peers import Peers
from gpuprims.backends.cuda.products import product_on, tf32_product_on
from gpuprims.backends.cuda.runs import into_new
from gpuprims.backends.cuda.transfer import Transfer
from gpuprims.core.capabilities import Capabilities
from gpuprims.core.capture import keep
from gpuprims.core.codegen import kernel_source
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch, OwnMemory
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Form
from gpuprims.core.lifetime import Discovery
from gpuprims.core.stream_memory import StreamMemory
from gpuprims.core.variant import Variant
from gpuprims.errors import BuildError, DeviceMemoryError

_DECLARED_LOCAL, _ASKED_LOCAL = 1, 8  # CU_FUNC_ATTRIBUTE_: SHARED_SIZE_BYTES, MAX_DYNAMIC_SHARED_SIZE_BYTES


class CudaDriver(Peers, OwnMemory):
    """One GPU; work goes to CuPy's current stream."""

    backend, matmul = "cuda", cached_property(product_on)
    matmul_tf32 = cached_property(tf32_product_on)

    def __init__(self, index: int) -> None:
        self.index, self.device = index, cupy.cuda.Device(index)
        transfer = Transfer(self.device)
        self._send, self.to_host, self.begin_few = transfer.send, transfer.receive, transfer.begin_few
        self.begin_asarray, self.begin_to_host = partial(transfer.begin_copy, self.empty), transfer.begin_receive
        self.scalar, self.report, self.alongside = transfer.scalar, transfer.report, partial(alongside, self.device)
        memory = StreamMemory(lambda count, dtype: self.zeros((count,), dtype), partial(memory_key, index))
        self.counters, self.tile_statuses, self.stream_memory = memory.counters, memory.tile_statuses, memory
        self.in_stream, self.stream_handle = partial(in_stream, self.device), partial(stream_handle, index)
        self.is_capturing, self.clock = partial(is_capturing, index), partial(CudaClock, self.device)

    @cached_property
    def capabilities(self) -> Capabilities:
        """The GPU's capabilities."""
        return capabilities_of(self.index)

    def build(self, variant: Variant, spec: KernelSpec) -> CudaKernel:
        """Compile a kernel file with its spec."""
        text = kernel_source(spec, variant, PRELUDES["cuda"], self.capabilities.warp)
        try:
            with self.device:
                function = compiled(text, self.device).get_function(variant.entry)
                if variant.asks_local_memory:
                    declared = funcGetAttribute(_DECLARED_LOCAL, function.ptr)
                    funcSetAttribute(function.ptr, _ASKED_LOCAL, self.capabilities.asked_local_memory - declared)
                return CudaKernel(self.device, function, variant, spec.pointers)
        except (cupy.cuda.compiler.CompileException, cupy.cuda.driver.CUDADriverError) as error:
            where = f"{variant.entry} on {self.capabilities.name} ({self.capabilities.driver})"
            raise BuildError(f"{where}: a kernel that compiles; got\n{error}") from error

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], *layout: Any) -> cupy.ndarray:
        """Allocate from CuPy's pool."""
        try:
            if current_device() == self.index:  # nearly always; faster than entering the device
                return keep(new_array(shape, dtype, *layout))
            with self.device:
                return keep(new_array(shape, dtype, *layout))
        except cupy.cuda.memory.OutOfMemoryError as error:
            wanted = math.prod(shape) * dtype.itemsize
            raise DeviceMemoryError(self.capabilities.name, wanted, self.room) from error

    def runner(self, device: Device, launch: Launch, form: Form, *, turned: bool) -> Callable[[Sequence[Any]], Any]:
        """Return a function that launches into a new array and returns it."""
        return into_new(self, device, launch, form, turned=turned)

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> cupy.ndarray:
        """Allocate from CuPy's pool, and fill."""
        array = self.empty(shape, dtype)
        with self.device:
            array.data.memset_async(0, array.nbytes)
        return array

    def copy(self, array: cupy.ndarray, host: np.ndarray) -> cupy.ndarray:
        """Copy on the current stream."""
        copied = self.empty(array.shape, array.dtype)
        copied.data.copy_from_device_async(array.data, array.nbytes)
        return copied

    def cut(self, array: cupy.ndarray, start: int, shape: tuple[int, ...]) -> cupy.ndarray:
        """Return an array over elements of another, from ``start`` on."""
        return new_array(shape, array.dtype, array.data + start * array.itemsize if start else array.data)

    def scratch(self, nbytes: int) -> cupy.ndarray:
        """Allocate from CuPy's pool."""
        return self.empty((nbytes,), np.dtype(np.uint8))

    def form(self, array: cupy.ndarray) -> Form:
        """Describe an array; kernels get the pointer of its first element."""
        return Form(array.dtype, array.shape, array.strides, 0, 16, phase=array.data.ptr % 16)

    def address(self, array: cupy.ndarray) -> tuple[int, int]:
        """Return the address; the host and all GPUs share one space."""
        return 0, array.data.ptr

    def asarray(self, array: np.ndarray) -> cupy.ndarray:
        """Copy a host array to the GPU."""
        copied = self.empty(array.shape, array.dtype)
        self._send(array, copied)
        return copied

    @property
    def room(self) -> int:
        """Free bytes, with those of CuPy's pool."""
        with self.device:
            return int(cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes())

    @property
    def order(self) -> int:
        """A number for CuPy's current stream."""
        return hash(stream_of(self.index))

    def synchronize(self) -> None:
        """Wait for the whole device."""
        self.device.synchronize()


def _open() -> Sequence[CudaDriver]:
    return tuple(CudaDriver(index) for index in range(cupy.cuda.runtime.getDeviceCount()))


drivers = Discovery("cuda", _open)


def driver_of(array: Any) -> CudaDriver | None:
    """Return the driver of an array's GPU."""
    return drivers()[array.device.id] if isinstance(array, cupy.ndarray) else None
