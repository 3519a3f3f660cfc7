"""OpenCL through pyopencl: GPUs of any vendor, and CPUs through Intel's runtime or PoCL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from gpuprims.core.driver import Driver
from gpuprims.core.variant import Variant
from gpuprims.errors import ArrayError, BackendUnavailableError


class OpenCLBackend:
    """The backend ``opencl``; pyopencl is imported when its devices are first asked for."""

    name = "opencl"
    array_library = "pyopencl"
    dlpack_device = None
    variants: Sequence[Variant] = ()

    def from_dlpack(self, array: Any) -> Any:
        """Refuse: no DLPack producer lends memory of this kind."""
        raise ArrayError(f"opencl: an array of its own or of the host; got {type(array).__name__} by DLPack")

    def drivers(self) -> Sequence[Driver]:
        """List the devices of every OpenCL platform."""
        try:
            from gpuprims.backends.opencl.discovery import drivers
        except ImportError as error:
            remedy = "pip install --force-reinstall pyopencl"
            raise BackendUnavailableError("opencl", f"pyopencl does not load ({error})", remedy) from error
        return drivers()

    @cached_property
    def driver_of(self) -> Callable[[Any], Driver | None]:
        """Return the driver of a ``pyopencl.array.Array``'s queue."""
        from gpuprims.backends.opencl.discovery import driver_of

        return driver_of


BACKEND = OpenCLBackend()
