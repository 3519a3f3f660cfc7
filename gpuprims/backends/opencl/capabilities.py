"""The capabilities of an OpenCL device, as its driver reports them."""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

import pyopencl as cl

from gpuprims.backends.opencl.progress import groups_run_together
from gpuprims.core.capabilities import Capabilities

# CL_DEVICE_SUB_GROUP_SIZES_INTEL of cl_intel_required_subgroup_size, which pyopencl 2026.1 lacks.
_SIZES_INTEL, _MOST_SIZES = 0x4108, 16
# All of Intel's devices offer this size: Arc offers 8, 16 and 32, later GPUs 16 and 32, CPUs 4 to 64.
_INTELS = 16


def capabilities_of(queue: cl.CommandQueue) -> Capabilities:
    """Return the capabilities of a queue's device."""
    device, extensions = queue.device, queue.device.extensions.split()
    sizes = subgroup_sizes(device)
    return Capabilities(
        kind=kind_of(device),
        name=device.name.strip(),
        vendor=device.platform.name.strip(),
        driver=f"{' '.join(device.version.split()[:2])}, {device.driver_version.strip()}",
        compute_units=device.max_compute_units,
        group_limit=device.max_work_group_size,
        local_memory=device.local_mem_size,
        # NVIDIA's driver (580) fails launches that ask for all local memory that it reports; a little less works.
        asked_local_memory=device.local_mem_size - 64,
        unit_local_memory=None,
        memory=device.global_mem_size,
        largest_allocation=device.max_mem_alloc_size,
        subgroup_size=subgroup_size(device, sizes),
        subgroup_sizes=sizes,
        shuffles="NVIDIA" in device.platform.name or "cl_intel_required_subgroup_size" in extensions,
        fp64="cl_khr_fp64" in extensions,
        fp16="cl_khr_fp16" in extensions,
        int64_atomics="cl_khr_int64_base_atomics" in extensions,
        tries_progress=partial(groups_run_together, queue),
        exact_float32=_rounds_once(device),
        vector_lanes=device.native_vector_width_int if kind_of(device) == "cpu" else 0,
        vector_widths=_preferred_widths(device),
    )


def _preferred_widths(device: cl.Device) -> tuple[tuple[str, int], ...]:
    """Return CL_DEVICE_PREFERRED_VECTOR_WIDTH of each dtype; 0 for types that the device does not support."""
    types = {
        "int8": "char", "int16": "short", "int32": "int", "int64": "long", "float16": "half", "float32": "float",
        "float64": "double",
    }  # fmt: skip
    return tuple((dtype, getattr(device, f"preferred_vector_width_{name}")) for dtype, name in types.items())


def _rounds_once(device: cl.Device) -> bool:
    """Return True if float32 conforms to IEEE 754. CPUs do, even if Intel's runtime does not promise it."""
    flags = cl.device_fp_config
    wanted = flags.DENORM | flags.CORRECTLY_ROUNDED_DIVIDE_SQRT
    return bool(device.type & cl.device_type.CPU) or device.single_fp_config & wanted == wanted


def kind_of(device: cl.Device) -> str:
    """Return the kind of a device, as in device specs."""
    kinds = {cl.device_type.GPU: "gpu", cl.device_type.CPU: "cpu"}
    return next((kind for flag, kind in kinds.items() if device.type & flag), "accelerator")


def subgroup_sizes(device: cl.Device) -> tuple[int, ...]:
    """Return the sub-group sizes that a kernel can require, in ascending order; empty if it cannot require one."""
    extensions = device.extensions.split()
    if "cl_intel_required_subgroup_size" in extensions:
        return _intels_sizes(device) or (_INTELS,)
    return (int(device.warp_size_nv),) if "cl_nv_device_attribute_query" in extensions else ()


def subgroup_size(device: cl.Device, sizes: tuple[int, ...]) -> int:
    """Return the sub-group size to compile kernels for; 0 if the driver reports none.

    Of several sizes it takes 16, with which groups of 256 work-items fold in two passes, or else the nearest.
    """
    if sizes:
        return min(sizes, key=lambda size: (size < _INTELS, abs(size - _INTELS)))
    amd = "cl_amd_device_attribute_query" in device.extensions.split()
    return int(device.wavefront_width_amd) if amd else 0


def _intels_sizes(device: cl.Device) -> tuple[int, ...]:
    """Ask the loader that pyopencl is linked to; return () if it exports no C functions, as on Windows."""
    ask: Any = getattr(ctypes.CDLL(cl._cl.__file__), "clGetDeviceInfo", None)
    sizes, written = (ctypes.c_size_t * _MOST_SIZES)(), ctypes.c_size_t()
    given = ctypes.c_void_p(device.int_ptr), ctypes.c_uint(_SIZES_INTEL), ctypes.c_size_t(ctypes.sizeof(sizes))
    if ask is None or ask(*given, sizes, ctypes.byref(written)):
        return ()
    return tuple(sorted(sizes[: written.value // ctypes.sizeof(ctypes.c_size_t)]))
