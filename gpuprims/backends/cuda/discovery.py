"""The drivers of this machine's GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy

from gpuprims.backends.cuda.device import CudaDriver
from gpuprims.core.lifetime import Discovery


def _open() -> Sequence[CudaDriver]:
    """List the GPUs that CuPy sees."""
    return tuple(CudaDriver(index) for index in range(cupy.cuda.runtime.getDeviceCount()))


drivers = Discovery("cuda", _open)


def driver_of(array: Any) -> CudaDriver | None:
    """Return the driver of the GPU that an array lies on."""
    return drivers()[array.device.id] if isinstance(array, cupy.ndarray) else None
