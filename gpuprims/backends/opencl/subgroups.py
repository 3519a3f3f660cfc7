"""Sub-group sizes of an OpenCL device: those a kernel can ask for, and the one that kernels are compiled for."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import pyopencl as cl

# CL_DEVICE_SUB_GROUP_SIZES_INTEL of cl_intel_required_subgroup_size, which pyopencl 2026.1 lacks.
_SIZES_INTEL = 0x4108
_MOST_SIZES = 16
# All of Intel's devices offer this size: Arc offers 8, 16 and 32, later GPUs 16 and 32, CPUs 4 to 64.
_INTELS = 16


def subgroup_sizes(device: cl.Device) -> tuple[int, ...]:
    """Return the sub-group sizes that a kernel can ask for, ascending; empty if it cannot ask."""
    extensions = set(device.extensions.split())
    if "cl_intel_required_subgroup_size" in extensions:
        return _asked_of_driver(device) or (_INTELS,)
    if "cl_nv_device_attribute_query" in extensions:
        return (int(device.warp_size_nv),)
    return ()


def subgroup_size(device: cl.Device, sizes: tuple[int, ...]) -> int:
    """Return the sub-group size that kernels are compiled for; 0 if the driver tells none.

    Of several sizes it is 16, with which groups of 256 work-items fold in two steps, else the nearest.
    """
    if sizes:
        return min(sizes, key=lambda size: (size < _INTELS, abs(size - _INTELS)))
    amd = "cl_amd_device_attribute_query" in device.extensions.split()
    return int(device.wavefront_width_amd) if amd else 0


def _asked_of_driver(device: cl.Device) -> tuple[int, ...]:
    """Ask OpenCL's C interface; empty if pyopencl's library does not export it, as on Windows."""
    ask = _device_info()
    if ask is None:
        return ()
    sizes, written = (ctypes.c_size_t * _MOST_SIZES)(), ctypes.c_size_t()
    place = ctypes.c_void_p(device.int_ptr)
    if ask(place, ctypes.c_uint(_SIZES_INTEL), ctypes.c_size_t(ctypes.sizeof(sizes)), sizes, ctypes.byref(written)):
        return ()
    return tuple(sorted(sizes[: written.value // ctypes.sizeof(ctypes.c_size_t)]))


@cache
def _device_info() -> Any:
    """Return clGetDeviceInfo of the loader that pyopencl is linked to."""
    return getattr(ctypes.CDLL(cl._cl.__file__), "clGetDeviceInfo", None)
