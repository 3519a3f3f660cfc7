"""What an OpenCL device can do, read off its driver."""

from __future__ import annotations

from functools import partial

import pyopencl as cl

from gpuprims.backends.opencl.progress import groups_run_together
from gpuprims.backends.opencl.subgroups import subgroup_size, subgroup_sizes
from gpuprims.core.capabilities import Capabilities


def capabilities_of(queue: cl.CommandQueue) -> Capabilities:
    """Return the capabilities of a queue's device."""
    device = queue.device
    extensions = set(device.extensions.split())
    sizes = subgroup_sizes(device)
    return Capabilities(
        kind=kind_of(device),
        name=device.name.strip(),
        vendor=device.platform.name.strip(),
        driver=f"{' '.join(device.version.split()[:2])}, {device.driver_version.strip()}",
        compute_units=device.max_compute_units,
        group_limit=device.max_work_group_size,
        local_memory=device.local_mem_size,
        # NVIDIA's driver (580) fails a launch of exactly as much as it says; a little less works.
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
    )


def kind_of(device: cl.Device) -> str:
    """Return the kind of a device as specs name it."""
    kinds = {cl.device_type.GPU: "gpu", cl.device_type.CPU: "cpu"}
    return next((kind for flag, kind in kinds.items() if device.type & flag), "accelerator")
