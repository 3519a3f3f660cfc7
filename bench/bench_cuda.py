"""CUDA beside CuPy's own kernels: ``pytest bench/bench_cuda.py``.

``GPUPRIMS_BENCH_DEVICE`` names another GPU than the first one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from cases import WORKS, Contender, Work, find_device, sizes, variants

DEVICE = find_device(os.environ.get("GPUPRIMS_BENCH_DEVICE", "cuda"))
if isinstance(DEVICE, str):
    pytest.skip(DEVICE, allow_module_level=True)


def peers() -> dict[str, Callable[[Any], Any]]:
    """Return the vendor library's own way of each work."""
    import cupy

    doubled = cupy.ElementwiseKernel("float32 x", "float32 y", "y = 2*x + 1", "gpuprims_bench_map")
    axes = {work.name: lambda x, axis=work.axis: x.sum(axis=axis) for work in WORKS if work.axis is not None}
    flat = {"reduce sum": cupy.sum, "reduce max": cupy.max, "reduce argmax": cupy.argmax}
    return {"map 2*x+1": doubled} | flat | axes


PEERS = peers()


def contenders(work: Work) -> list[Contender]:
    return [*variants(DEVICE, work), Contender("CuPy", PEERS[work.name])]


CASES = [
    pytest.param(size, work, contender, id=f"{size >> 20}Mi-{work.name}-{contender.name}")
    for size in sizes(DEVICE)
    for work in WORKS
    for contender in contenders(work)
]


@pytest.mark.parametrize(("size", "work", "contender"), CASES)
def bench_cuda(measure: Callable[..., None], size: int, work: Work, contender: Contender) -> None:
    measure(DEVICE, size, work, contender)
