"""CUDA beside CuPy, torch, cuda.compute and CUB: ``pytest bench/bench_cuda.py``.

``GPUPRIMS_BENCH_DEVICE`` names another GPU than the first one. torch and cuda.compute (package ``cuda-cccl``) are
measured where they are installed, CUB where there is nvcc.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CROSS, WORKS, Contender, Work, cases, find_device, variants

from gpuprims.primitives.steps import normal_weights

DEVICE = find_device(os.environ.get("GPUPRIMS_BENCH_DEVICE", "cuda"))
if isinstance(DEVICE, str):
    pytest.skip(DEVICE, allow_module_level=True)

Calls = Mapping[str, Callable[..., Any]]


def _cupy() -> Calls:
    """Return CuPy's own way of each work."""
    import cupy
    from cupyx.scipy import ndimage

    doubled = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2*x + 1", "gpuprims_bench_map")
    folded = [work for work in WORKS if work.primitive == "reduce" and work.axis is not None]
    axes = {work.name: lambda x, axis=work.axis: x.sum(axis=axis) for work in folded}
    flat = {"reduce sum": cupy.sum, "reduce max": cupy.max, "reduce argmax": cupy.argmax}
    scans = {
        "scan sum": cupy.cumsum,
        "scan sum of float64": cupy.cumsum,
        "scan sum of int32": lambda x: cupy.cumsum(x, dtype=x.dtype),
        "scan rows": lambda x: cupy.cumsum(x, axis=1),
        "scan columns": lambda x: cupy.cumsum(x, axis=0),
        "compact by a mask": lambda x, mask: x[mask],
        "compact by a function": lambda x: x[x > 0.5],
    }
    counts = {
        work.name: lambda x, bins=work.bins: cupy.histogram(x, bins, (0, 1))[0]
        for work in WORKS
        if work.primitive == "histogram" and isinstance(work.bins, int)
    }
    counts |= {work.name: cupy.bincount for work in WORKS if work.primitive == "bincount"}
    weights = cupy.asarray(CROSS)
    blurs = {
        "blur cross": lambda x: ndimage.correlate(x, weights, mode="nearest"),
        "blur box 9": lambda x: ndimage.uniform_filter(x, 9, mode="nearest"),
        "blur gaussian 2": lambda x: ndimage.gaussian_filter(x, 2, mode="nearest"),
        "blur cross, twice": lambda x: ndimage.correlate(
            ndimage.correlate(x, weights, mode="nearest"), weights, mode="nearest"
        ),
        "blur cross of bytes": lambda x: ndimage.correlate(x, weights[..., cupy.newaxis], mode="nearest"),
    }
    return {"map 2*x+1": doubled} | flat | axes | scans | counts | blurs


def _torch() -> Calls:
    """Return torch's way of scans, of the same memory."""
    import cupy
    import torch

    torch.backends.cudnn.allow_tf32 = False  # the others compute in float32

    def through(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: cupy.from_dlpack(function(*(torch.from_dlpack(one) for one in given)))

    def of_segments(x: Any, offsets: np.ndarray) -> Any:
        return cupy.from_dlpack(
            torch.segment_reduce(torch.from_dlpack(x), "sum", offsets=torch.from_numpy(offsets).cuda())
        )

    # Of powers of two, among others torch rounds some elements beside an edge into the next bin; and of elements spread
    # over the bins, for it counts in float32, in which there is no 2^24 + 1.
    counts = {
        work.name: through(lambda x, bins=work.bins: torch.histc(x, bins, 0, 1).to(torch.int64))
        for work in WORKS
        if work.primitive == "histogram" and not work.spread
        if isinstance(work.bins, int) and work.bins.bit_count() == 1
    }
    counts |= {work.name: through(torch.bincount) for work in WORKS if work.primitive == "bincount"}

    def convolved(*weights: np.ndarray) -> Callable[..., Any]:
        def run(x: Any) -> Any:
            image = x[None, None]
            for one in weights:  # small ones, one after the other where they are a column and a row
                beside = (one.shape[1] // 2,) * 2 + (one.shape[0] // 2,) * 2
                padded = torch.nn.functional.pad(image, beside, mode="replicate")
                image = torch.nn.functional.conv2d(padded, torch.from_numpy(one).cuda()[None, None])
            return image[0, 0]

        return through(run)

    ones, normal = np.full(9, 1 / 9, np.float32), normal_weights(2).astype(np.float32)
    blurs = {
        "blur cross": convolved(CROSS),
        "blur box 9": convolved(ones[None], ones[:, None]),
        "blur gaussian 2": convolved(normal[None], normal[:, None]),
    }
    return (
        counts
        | blurs
        | {
            "scan sum": through(lambda x: torch.cumsum(x, 0)),
            "scan max": through(lambda x: torch.cummax(x, 0).values),
            "scan sum of float64": through(lambda x: torch.cumsum(x, 0)),
            "scan sum of int32": through(lambda x: torch.cumsum(x, 0, dtype=torch.int32)),
            "scan rows": through(lambda x: torch.cumsum(x, 1)),
            "scan columns": through(lambda x: torch.cumsum(x, 0)),
            "reduce segments": of_segments,
            "compact by a mask": through(torch.masked_select),
            "compact by a function": through(lambda x: torch.masked_select(x, x > 0.5)),
        }
    )


def _cuda_compute() -> Calls:
    """Return NVIDIA's cuda.compute, which is CUB from Python."""
    import cupy
    from cuda import compute

    def scan(function: Any, op: Any) -> Callable[..., Any]:
        def run(x: Any) -> Any:
            function(d_in=x, d_out=(y := cupy.empty_like(x)), op=op, init_value=np.zeros(1, x.dtype), num_items=x.size)
            return y

        return run

    sums, of_max = scan(compute.inclusive_scan, compute.OpKind.PLUS), compute.OpKind.MAXIMUM
    return {
        "scan sum": sums,
        "scan sum, exclusive": scan(compute.exclusive_scan, compute.OpKind.PLUS),
        "scan max": scan(compute.inclusive_scan, of_max),
        "scan sum of float64": sums,
        "scan sum of int32": sums,
    }


# The contenders beside gpuprims: what they are called, the module they need, and what they can do.
PEERS = (("CuPy", "cupy", _cupy), ("torch", "torch", _torch), ("cuda.compute", "cuda.compute", _cuda_compute))


def _absent(module: str) -> str | None:
    """Return why a peer is not measured."""
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    return None if found else f"{module} is not installed"


CALLS = {name: calls() for name, module, calls in PEERS if not _absent(module)}


@pytest.mark.parametrize(("name", "module"), [peer[:2] for peer in PEERS])
def bench_peer_is_there(name: str, module: str) -> None:
    if reason := _absent(module):
        pytest.skip(f"{name} is not measured: {reason}")


def contenders(work: Work, size: int) -> list[Contender]:
    beside = [Contender(name, calls[work.name]) for name, calls in CALLS.items() if work.name in calls]
    return [*variants(DEVICE, work, size), *beside]


@pytest.mark.parametrize(("size", "work", "contender"), cases(DEVICE, contenders))
def bench_cuda(measure: Callable[..., None], size: int, work: Work, contender: Contender) -> None:
    measure(DEVICE, size, work, contender)


def bench_cub(tell: Callable[..., None], tmp_path: Path) -> None:
    """Build and run cub.cu, which checks what it times."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("CUB is not measured: there is no nvcc")
    program = tmp_path / "cub"
    source = Path(__file__).with_name("cub.cu")
    subprocess.run([nvcc, "-std=c++17", "-O3", "-arch=native", str(source), "-o", str(program)], check=True)  # noqa: S603
    told = subprocess.run([program], check=True, capture_output=True, text=True).stdout  # noqa: S603
    works = {work.name: work for work in WORKS}
    for line in map(json.loads, told.splitlines()):
        tell(DEVICE, line["size"], works[line["work"]], "CUB", line["seconds"])
