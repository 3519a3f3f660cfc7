"""CUDA through CuPy: NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from gpuprims.backends.cuda.runtimes import require_cuda
from gpuprims.core.driver import Backend, Driver


class CudaBackend(Backend):
    """The backend ``cuda``; CuPy is imported when its devices are first asked for."""

    name = "cuda"
    array_library = "cupy"
    dlpack_device = 2  # kDLCUDA

    def from_dlpack(self, array: Any) -> Any:
        """Return a ``cupy.ndarray`` over a producer's memory, ordered behind the work that fills it."""
        return self._reader(array)

    @cached_property
    def _reader(self) -> Callable[[Any], Any]:
        require_cuda()
        import cupy

        read: Callable[[Any], Any] = cupy.from_dlpack
        return read

    def over(self, like: Any) -> Callable[[int, Any], Any]:
        """Return what makes a ``cupy.ndarray`` like another at an address, which an owner keeps alive."""
        from gpuprims.backends.cuda.arrays import over

        return over(like)

    def stream_of(self, array: Any) -> Callable[[], int]:
        """Return what tells the handle of CuPy's current stream of the device that a ``cupy.ndarray`` lies on."""
        from gpuprims.backends.cuda.capture import stream_handle

        return partial(stream_handle, array.data.device_id)

    def viewed(self, integers: Any, dtype: np.dtype[Any]) -> Any:
        """Return a ``cupy.ndarray`` of integers as one of a dtype of ml_dtypes that they hold."""
        from gpuprims.backends.cuda.arrays import viewed

        return viewed(integers, dtype)

    def drivers(self) -> Sequence[Driver]:
        """List NVIDIA's GPUs."""
        require_cuda()
        from gpuprims.backends.cuda.device import drivers

        return drivers()

    @cached_property
    def driver_of(self) -> Callable[[Any], Driver | None]:
        """Return the driver of the GPU that a ``cupy.ndarray`` lies on."""
        from gpuprims.backends.cuda.device import driver_of

        return driver_of

    @property
    def facts_of(self) -> Callable[[Any], Hashable]:
        """Return the facts of a ``cupy.ndarray`` that a launch plan depends on."""
        from gpuprims.backends.cuda.compiled import CUDA_CALLS, facts_of

        tell: Callable[[Any], Hashable] = CUDA_CALLS.calls.facts_of if CUDA_CALLS.calls else facts_of
        return tell


BACKEND = CudaBackend()
