"""CUDA through CuPy: NVIDIA GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuprims.backends.cuda.variants import VARIANTS
from gpuprims.driver import Driver
from gpuprims.registry import Variant


class CudaBackend:
    """The backend ``cuda``; CuPy is imported when its devices are first asked for."""

    name = "cuda"
    array_library = "cupy"
    variants: Sequence[Variant] = VARIANTS

    def drivers(self) -> Sequence[Driver]:
        """List NVIDIA's GPUs."""
        from gpuprims.backends.cuda.runtimes import require_cuda

        require_cuda()
        from gpuprims.backends.cuda.device import drivers

        return drivers()

    def driver_of(self, array: Any) -> Driver | None:
        """Return the driver of the GPU that a ``cupy.ndarray`` lies on."""
        from gpuprims.backends.cuda.device import driver_of

        return driver_of(array)


BACKEND = CudaBackend()
