"""CUDA devices through CuPy: memory pool, streams, compiler and its disk cache are CuPy's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

import cupy
import numpy as np

from gpuprims.backends.cuda.capabilities import capabilities_of
from gpuprims.backends.cuda.variants import KERNELS
from gpuprims.definitions import Definitions
from gpuprims.driver import Capabilities, Launch
from gpuprims.errors import BuildError
from gpuprims.layout import Form, View, steps_of
from gpuprims.registry import Variant


class CudaDriver:
    """One GPU; work goes to CuPy's current stream."""

    backend = "cuda"
    shares_host_memory = False

    def __init__(self, index: int) -> None:
        self.index = index
        self.device = cupy.cuda.Device(index)

    @cached_property
    def capabilities(self) -> Capabilities:
        """See :class:`~gpuprims.driver.Capabilities`."""
        return capabilities_of(self.index)

    def build(self, variant: Variant, definitions: Definitions) -> CudaKernel:
        """Compile a kernel file with its definitions; CuPy keeps the binary on disk."""
        text = definitions.source(KERNELS / "prelude.cu", variant.path, variant.block, variant.items)
        try:
            with self.device:
                module = cupy.RawModule(code=text, options=("--std=c++17",))
                return CudaKernel(self.device, module.get_function(variant.entry), variant.block)
        except (cupy.cuda.compiler.CompileException, cupy.cuda.driver.CUDADriverError) as error:
            where = f"{variant.entry} on {self.capabilities.name} ({self.capabilities.driver})"
            raise BuildError(f"{where}: a kernel that compiles; got\n{error}") from error

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> cupy.ndarray:
        """Allocate from CuPy's pool."""
        with self.device:
            return cupy.empty(shape, dtype)

    def view(self, array: cupy.ndarray) -> View:
        """See an array as an operand; its pointer is that of its first element."""
        return View(array, Form(array.dtype, array.shape, steps_of(array.strides, array.dtype), 0))

    def share(self, array: np.ndarray) -> View:
        """Refuse: a GPU has memory of its own."""
        raise TypeError("cuda: a copy of a host array, by asarray; got a request to share one")

    def asarray(self, array: np.ndarray) -> cupy.ndarray:
        """Copy a host array to the GPU."""
        with self.device:
            return cupy.asarray(array)

    def download(self, array: cupy.ndarray) -> np.ndarray:
        """Copy an array to the host, after the work before it."""
        host: np.ndarray = array.get()
        return host

    def synchronize(self) -> None:
        """Wait for the whole device."""
        self.device.synchronize()


class CudaKernel:
    """A kernel bound to a device."""

    def __init__(self, device: cupy.cuda.Device, function: Any, block: int) -> None:
        self._device = device
        self._function = function
        self._block = block

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int) -> Launch:
        """Fix a launch on CuPy's current stream."""
        # CuPy passes a one-item array of a record by value.
        fixed = (layout.view(np.dtype((np.void, layout.nbytes))), *(np.int64(number) for number in numbers))
        grid, block, device, function = (groups,), (self._block,), self._device, self._function

        def launch(memories: Sequence[cupy.ndarray]) -> None:
            with device:
                function(grid, block, (*memories, *fixed))

        return launch


@cache
def drivers() -> Sequence[CudaDriver]:
    """List the GPUs that CuPy sees."""
    return tuple(CudaDriver(index) for index in range(cupy.cuda.runtime.getDeviceCount()))


def driver_of(array: Any) -> CudaDriver | None:
    """Return the driver of the GPU that an array lies on."""
    return drivers()[array.device.id] if isinstance(array, cupy.ndarray) else None
