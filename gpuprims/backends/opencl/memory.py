"""Buffers of an OpenCL device, within its limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
from pyopencl.tools import ImmediateAllocator, MemoryPool

from gpuprims.core.capabilities import Capabilities
from gpuprims.errors import DeviceMemoryError

_COPIED = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR


def allocated(
    queue: cl.CommandQueue, pool: MemoryPool, able: Capabilities, nbytes: int, host: np.ndarray | None = None
) -> Any:
    """Return a buffer, with the contents of the host array if one is given.

    It comes from the pool, unless the pool would exceed the device's limit: pyopencl's pool rounds sizes up by a
    sixteenth (2026.1), so an array of exactly the limit would fail.
    """
    if nbytes > able.largest_allocation:
        check_allocation(able, nbytes)
    try:
        if host is not None:
            return cl.Buffer(queue.context, _COPIED, hostbuf=host)
        rounded = nbytes + nbytes // 16
        return pool.allocate(nbytes) if rounded <= able.largest_allocation else ImmediateAllocator(queue)(nbytes)
    except (cl.MemoryError, cl.LogicError) as error:  # INVALID_BUFFER_SIZE; what is free cannot be asked
        raise DeviceMemoryError(able.name, nbytes, None) from error


def check_allocation(able: Capabilities, nbytes: int) -> None:
    """Raise if an array is larger than the device allows; not every driver does."""
    if nbytes > able.largest_allocation:
        raise DeviceMemoryError(able.name, nbytes, None, able.largest_allocation)
