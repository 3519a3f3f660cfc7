"""The limit: the speed of the device's memory, measured in the same session as the cases.

The copy limit is the faster of the vendor's copy and gpuprims' map of ``x``. Vendors have no function that only reads,
so the read limit is the faster maximum of an array: gpuprims' own or that of the device's library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import gpuprims

from .clocks import Clock
from .elements import Elements
from .measuring import Racer, race

_SIZES = {False: {"cpu": 2**24, "gpu": 2**28}, True: {"cpu": 2**26, "gpu": 2**30}}


def measure_limits(device: gpuprims.Device, clock: Clock, *, full: bool, seconds: float = 1.5) -> dict[str, Any]:
    """Return the bytes per second of copies and of reads, and the contender that reached them."""
    size = _SIZES[full]["cpu" if device.capabilities.kind == "cpu" else "gpu"]
    x = device.asarray(Elements().host(size)[0])
    out = device.asarray(np.zeros(size, np.float32))  # written once, so that its pages exist
    copies = {"gpuprims map x": lambda: gpuprims.map("x", x, out=out)} | _vendors_copy(device, x, out)
    reads = {"gpuprims reduce max": lambda: gpuprims.reduce(x, op="max")} | _vendors_max(device, x)
    limits = {}
    for name, calls, nbytes in (("copy", copies, 8 * size), ("read", reads, 4 * size)):
        times = race({who: Racer(call, clock, clock) for who, call in calls.items()}, seconds)
        rates = {who: nbytes / time.device_s for who, time in times.items()}
        best = max(rates, key=lambda who: rates[who])
        limits[name] = {"bytes_per_s": rates[best], "by": best, "bytes": nbytes, "all": rates}
    return limits


def _vendors_copy(device: gpuprims.Device, x: Any, out: Any) -> dict[str, Any]:
    if device.backend == "cuda":
        import cupy

        return {"CuPy copyto": lambda: cupy.copyto(out, x)}
    if device.backend == "opencl":
        import pyopencl as cl

        queue = x.queue
        return {"clEnqueueCopyBuffer": lambda: cl.enqueue_copy(queue, out.base_data, x.base_data, byte_count=x.nbytes)}
    return {"NumPy copyto": lambda: np.copyto(out, x)}


def _vendors_max(device: gpuprims.Device, x: Any) -> dict[str, Any]:
    if device.backend == "cuda":
        return {"CuPy max": x.max}
    if device.backend == "opencl" and device.capabilities.kind != "cpu":  # it takes seconds on a CPU
        try:
            import mako  # noqa: F401 - pyopencl needs it
            import pyopencl.array as cl_array
        except ImportError:
            return {}
        return {"pyopencl max": lambda: cl_array.max(x)}
    return {}
