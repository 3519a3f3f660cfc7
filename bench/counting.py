"""The articles' histogram: without atomic operations, which loses counts, and with them.

The article "Parallel programming with opencl and python" adds 100,000 ones to 10 counters. A histogram of many bytes
shows the same on a device that the article's work would not fill.
"""

from __future__ import annotations

import math
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
_BINS, _ONES, _COUNTERS = 256, 100_000, 10
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


def racy(device: gpuprims.Device, values: Any, bins: int) -> Callable[[], Any]:
    """Return a call of the kernel without atomic operations."""
    zeros, group = partial(device.driver.zeros, (bins,), np.dtype(np.int32)), math.gcd(values.size, 256)
    if device.backend == "cuda":
        import cupy

        kernel = cupy.RawKernel(_RACY_CUDA, "racy")

        def count() -> Any:
            kernel((values.size // group,), (group,), (values, histogram := zeros()))
            return histogram

        return count
    import pyopencl as cl

    with warnings.catch_warnings(action="ignore", category=cl.CompilerWarning):  # some drivers always print a remark
        program = cl.Program(values.context, _RACY_OPENCL).build()
    built = cl.Kernel(program, "racy")

    def count_by_opencl() -> Any:
        histogram = zeros()
        built(values.queue, (values.size,), (group,), values.data, histogram.data)
        return histogram

    return count_by_opencl


def histograms(device: gpuprims.Device, clock: Clock, delay: Delay | None, *, full: bool) -> list[dict[str, Any]]:
    """Return the seconds and the fraction of lost counts of each way to count bytes."""
    size = _SIZES[full]["cpu" if device.capabilities.kind == "cpu" else "gpu"]
    points = _counted(device, clock, delay, Elements("uint8").host(size)[0], _BINS)
    return [{**point, "gb_per_s": size / point["seconds"] / 1e9} for point in points]


def increments(device: gpuprims.Device, clock: Clock, delay: Delay | None) -> list[dict[str, Any]]:
    """Return the same of the article's own work: neighbouring work-items add ones to the counters in turn."""
    return _counted(device, clock, delay, (np.arange(_ONES) % _COUNTERS).astype(np.uint8), _COUNTERS)


def _counted(
    device: gpuprims.Device, clock: Clock, delay: Delay | None, host: np.ndarray, bins: int
) -> list[dict[str, Any]]:
    x, expected = device.asarray(host), np.bincount(host, minlength=bins)
    calls: dict[str, Callable[[], Any]] = {"racy": racy(device, x, bins)}
    for way in _WAYS:
        calls[way] = partial(gpuprims.bincount, x, minlength=bins, variant=None if way == "chosen" else way)
    lost = {}
    for name in list(calls):
        try:
            counts = device.to_host(calls[name]())
        except NoVariantError:
            del calls[name]
            continue
        lost[name] = 1 - int(counts.sum()) / host.size
        if name != "racy":
            np.testing.assert_array_equal(counts, expected)
    times = race({name: Racer(call, clock, clock, delay) for name, call in calls.items()}, 1)
    return [{"way": name, "seconds": time.device_s, "lost": lost[name]} for name, time in times.items()]
