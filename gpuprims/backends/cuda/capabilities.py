"""The capabilities of a GPU, as CUDA reports them."""

from __future__ import annotations

import cupy

from gpuprims.core.capabilities import Capabilities, Progress


def capabilities_of(index: int) -> Capabilities:
    """Return the capabilities of the GPU of an index."""
    able = cupy.cuda.runtime.getDeviceProperties(index)
    driver = cupy.cuda.runtime.driverGetVersion()
    return Capabilities(
        kind="gpu",
        name=able["name"].decode(),
        vendor="NVIDIA",
        driver=f"CUDA {driver // 1000}.{driver % 1000 // 10}, CuPy {cupy.__version__}",
        compute_units=able["multiProcessorCount"],
        group_limit=able["maxThreadsPerBlock"],
        local_memory=able["sharedMemPerBlock"],
        asked_local_memory=able["sharedMemPerBlockOptin"],
        unit_local_memory=able["sharedMemPerMultiprocessor"],
        memory=able["totalGlobalMem"],
        largest_allocation=able["totalGlobalMem"],
        subgroup_size=able["warpSize"],
        subgroup_sizes=(able["warpSize"],),
        shuffles=True,
        fp64=True,
        fp16=True,
        int64_atomics=True,
        tries_progress=lambda: Progress(True, "CUDA keeps groups that have started until they end"),
        bulk_copies=able["major"] >= 9,
    )
