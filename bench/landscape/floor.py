"""The floor of a call: the shortest time in which a perfect implementation could run it on this device.

It moves each needed byte once at the measured speed of a copy, or does the FMAs of a stencil at the measured rate,
whichever takes longer, and it needs the measured time of one launch of a kernel that does nothing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import gpuprims

from ..ahead import idle_loop
from ..clocks import Clock
from ..limits import measure_limits
from ..measuring import Racer, race
from .calls import Call

# Independent chains of FMAs in each work-item, and the FMAs of a chain. They start from memory, because a compiler may
# compute once what is the same in several work-items.
_CHAINS, _LENGTH = 12, 2048
_FMAS = """({space}{word} *out, {one} a, {one} b) {{
    {word} factor = a, term = b, v[{chains}];
    #pragma unroll
    for (int k = 0; k < {chains}; ++k) v[k] = out[{place}] + factor * k;
    for (int step = 0; step < {length}; ++step)
        #pragma unroll
        for (int k = 0; k < {chains}; ++k) v[k] = fma(v[k], factor, term);
    #pragma unroll
    for (int k = 1; k < {chains}; ++k) v[0] += v[k];
    out[{place}] = v[0];
}}"""


@dataclass(frozen=True)
class Limits:
    """A device's measured limits: bytes a second, FMAs a second by dtype, and seconds of an empty launch."""

    bytes_per_s: float
    fmas_per_s: dict[str, float]
    launch_s: float


def moved_bytes(call: Call, result_bytes: int) -> int:
    """Return the bytes that a call must move: each needed element of the operands once, and each result once.

    So a sort reads and writes once, however many passes it makes. A take may need fewer elements than there are.
    """
    if call.primitive == "take":
        x, indices = call.operands
        return min(x.nbytes, result_bytes) + indices.nbytes + result_bytes
    return sum(operand.nbytes for operand in call.operands) + result_bytes


def least_fmas(call: Call) -> int:
    """Return the FMAs that a stencil needs; separable weights are applied axis by axis."""
    size = call.operands[0].size
    if call["width"]:
        return size * int(call["width"])
    if call["star"]:
        return size * int(sum(call["weights"]) - len(call["weights"]) + 1)
    if call["weights"]:
        return size * int(sum(call["weights"]) if call["separable"] else np.prod(call["weights"]))
    if call["kind"] == "gaussian":
        return size * 2 * (2 * int(4 * call["sigma"] + 0.5) + 1)
    return 0


def floor_s(call: Call, result_bytes: int, limits: Limits) -> float:
    """Return the seconds below which a call cannot be."""
    rate = limits.fmas_per_s["float64" if call.operands[0].dtype == "float64" else "float32"]
    return max(moved_bytes(call, result_bytes) / limits.bytes_per_s, least_fmas(call) / rate) + limits.launch_s


def measured_limits(device: gpuprims.Device, clock: Clock, seconds: float) -> Limits:
    """Measure a device's limits."""
    copy = measure_limits(device, clock, full=False, seconds=seconds)["copy"]["bytes_per_s"]
    if device.backend not in ("cuda", "opencl"):
        return Limits(copy, {name: _host_fmas(name) for name in ("float32", "float64")}, 0)
    loop = idle_loop(device)
    launch = race({"empty": Racer(lambda: loop(0), clock, clock)}, seconds)["empty"].device_s
    rates = {"float32": _fma_rate(device, clock, "float", seconds)}
    # Without float64 no call computes in it.
    rates["float64"] = _fma_rate(device, clock, "double", seconds) if device.capabilities.fp64 else rates["float32"]
    return Limits(copy, rates, launch)


def _fma_rate(device: gpuprims.Device, clock: Clock, word: str, seconds: float) -> float:
    """Return the FMAs a second of a kernel with several chains in each work-item, vectors of 16 on a CPU."""
    able = device.capabilities
    lanes = 1 if able.kind == "gpu" else 16
    items = 256 * able.compute_units * (32 if able.kind == "gpu" else 1)
    run = _fma_kernel(device, word, lanes, items)
    taken = race({"fma": Racer(run, clock, clock)}, seconds)["fma"].device_s
    return items * lanes * _CHAINS * _LENGTH / taken


def _fma_kernel(device: gpuprims.Device, word: str, lanes: int, items: int) -> Callable[[], Any]:
    dtype = {"float": np.float32, "double": np.float64}[word]
    out: Any = device.asarray(np.zeros(items * lanes, dtype))
    numbers: list[Any] = [dtype(0.999), dtype(0.001)]
    how = {"one": word, "chains": _CHAINS, "length": _LENGTH}
    if device.backend == "cuda":
        import cupy

        text = _FMAS.format(space="", word=word, place="blockIdx.x * blockDim.x + threadIdx.x", **how)
        kernel = cupy.RawKernel(f'extern "C" __global__ void fmas{text}', "fmas")
        return lambda: kernel((items // 256,), (256,), (out, *numbers))
    import pyopencl as cl

    name = word if lanes == 1 else f"{word}{lanes}"
    text = "__kernel void fmas" + _FMAS.format(space="__global ", word=name, place="get_global_id(0)", **how)
    with warnings.catch_warnings(action="ignore", category=cl.CompilerWarning):  # some drivers always print a remark
        opencl = cl.Kernel(cl.Program(out.queue.context, text).build(), "fmas")
    group = (256,) if device.capabilities.kind == "gpu" else None
    return lambda: opencl(out.queue, (items,), group, out.base_data, *numbers)


def _host_fmas(dtype: str) -> float:
    """Return NumPy's multiplications and additions a second, for the reference."""
    x = np.full(2**16, 0.5, dtype)
    start = time.perf_counter()
    for _ in range(20):
        x = x * x + x
    return 20 * x.size / (time.perf_counter() - start)
