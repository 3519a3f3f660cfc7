"""OpenCL beside NumPy (on a CPU) and pyopencl's own arrays: ``pytest bench/bench_opencl.py``.

``GPUPRIMS_BENCH_DEVICE`` names another OpenCL device than the first one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from cases import WORKS, Contender, Work, find_device, from_numpy, sizes, variants

DEVICE = find_device(os.environ.get("GPUPRIMS_BENCH_DEVICE", "opencl"))
if isinstance(DEVICE, str):
    pytest.skip(DEVICE, allow_module_level=True)


def peers() -> dict[str, Callable[[Any], Any]]:
    """Return the vendor library's own way of each work."""
    import pyopencl.array as cl_array

    return {"map 2*x+1": lambda x: 2 * x + 1, "reduce sum": cl_array.sum, "reduce max": cl_array.max}


PEERS = peers()


def contenders(work: Work) -> list[Contender]:
    found = [*variants(DEVICE, work), from_numpy(DEVICE, work)]
    if work.name in PEERS:
        found.append(Contender("pyopencl.array", PEERS[work.name]))
    if DEVICE.capabilities.kind == "cpu":
        found.append(Contender("NumPy", work.numpy, on_host=True))
    return found


CASES = [
    pytest.param(size, work, contender, id=f"{size >> 20}Mi-{work.name}-{contender.name}")
    for size in sizes(DEVICE)
    for work in WORKS
    for contender in contenders(work)
]


@pytest.mark.parametrize(("size", "work", "contender"), CASES)
def bench_opencl(measure: Callable[..., None], size: int, work: Work, contender: Contender) -> None:
    measure(DEVICE, size, work, contender)
