"""OpenCL through pyopencl: GPUs of any vendor, and CPUs through Intel's runtime or PoCL."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any

from gpuprims.core.driver import Backend, Driver
from gpuprims.errors import BackendUnavailableError


class OpenCLBackend(Backend):
    """The backend ``opencl``; it imports pyopencl when devices are first listed."""

    name = "opencl"
    array_library = "pyopencl"

    def drivers(self) -> Sequence[Driver]:
        """List the devices of every OpenCL platform."""
        try:
            from gpuprims.backends.opencl.discovery import drivers
        except ImportError as error:
            if str(error.name).startswith("gpuprims"):  # a fault of this package, not of pyopencl
                raise
            remedy = "pip install --force-reinstall pyopencl"
            raise BackendUnavailableError("opencl", f"pyopencl does not load ({error})", remedy) from error
        return drivers()

    @cached_property
    def driver_of(self) -> Callable[[Any], Driver | None]:
        """Return the driver of a ``pyopencl.array.Array``'s queue."""
        from gpuprims.backends.opencl.discovery import driver_of

        return driver_of

    @property
    def facts_of(self) -> Callable[[Any], Hashable]:
        """Return the facts of a ``pyopencl.array.Array`` that a launch plan depends on."""
        return _facts_of


def _facts_of(array: Any) -> tuple[Hashable, ...]:
    queue = array.queue  # an array without one cannot come from an earlier call
    return (array.dtype, array.shape, array.strides, array.offset, queue and queue.int_ptr)


BACKEND = OpenCLBackend()
