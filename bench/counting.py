"""The articles' histogram: without atomic operations, which loses counts, and with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import gpuprims
from gpuprims.errors import NoVariantError

from .ahead import Delay
from .clocks import Clock
from .elements import Elements
from .measuring import Racer, race

_SIZES = {False: {"cpu": 2**22, "gpu": 2**26}, True: {"cpu": 2**24, "gpu": 2**28}}
_BINS, _GROUP = 256, 256
_WAYS = ("global_atomic", "local_atomic", "chosen")

# The naive kernel: two work-items of one bin read the same count, and both write the same next count.
_RACY_OPENCL = """
__kernel void racy(__global const uchar *values, __global int *histogram)
{
    const uchar bin = values[get_global_id(0)];
    histogram[bin] = histogram[bin] + 1;
}
"""
_RACY_CUDA = """
extern "C" __global__ void racy(const unsigned char *values, int *histogram)
{
    const unsigned char bin = values[blockIdx.x * blockDim.x + threadIdx.x];
    histogram[bin] = histogram[bin] + 1;
}
"""


def racy(device: gpuprims.Device, values: Any) -> Callable[[], Any]:
    """Return a call of the kernel without atomic operations."""
    zeros = partial(device.driver.zeros, (_BINS,), np.dtype(np.int32))
    if device.backend == "cuda":
        import cupy

        kernel = cupy.RawKernel(_RACY_CUDA, "racy")

        def count() -> Any:
            kernel((values.size // _GROUP,), (_GROUP,), (values, histogram := zeros()))
            return histogram

        return count
    import pyopencl as cl

    with warnings.catch_warnings(action="ignore", category=cl.CompilerWarning):  # some drivers always print a remark
        program = cl.Program(values.context, _RACY_OPENCL).build()
    built = cl.Kernel(program, "racy")

    def count_by_opencl() -> Any:
        histogram = zeros()
        built(values.queue, (values.size,), (_GROUP,), values.data, histogram.data)
        return histogram

    return count_by_opencl


def histograms(device: gpuprims.Device, clock: Clock, delay: Delay | None, *, full: bool) -> list[dict[str, Any]]:
    """Return the seconds and the fraction of lost counts of each way to count bytes."""
    size = _SIZES[full]["cpu" if device.capabilities.kind == "cpu" else "gpu"]
    host = Elements("uint8").host(size)[0]
    x, expected = device.asarray(host), np.bincount(host, minlength=_BINS)
    calls: dict[str, Callable[[], Any]] = {"racy": racy(device, x)}
    for way in _WAYS:
        calls[way] = partial(gpuprims.bincount, x, minlength=_BINS, variant=None if way == "chosen" else way)
    lost = {}
    for name in list(calls):
        try:
            counts = device.to_host(calls[name]())
        except NoVariantError:
            del calls[name]
            continue
        lost[name] = 1 - int(counts.sum()) / size
        if name != "racy":
            np.testing.assert_array_equal(counts, expected)
    times = race({name: Racer(call, clock, clock, delay) for name, call in calls.items()}, 1)
    return [
        {"way": name, "seconds": time.device_s, "gb_per_s": size / time.device_s / 1e9, "lost": lost[name]}
        for name, time in times.items()
    ]
