"""How many functions of Python's a warm call runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
from kernel_cases import need

import gpuprims
from gpuprims.backends.opencl import BACKEND

WEIGHTS = np.array([[1, 2, 1], [2, 3, 2], [1, 1, 2]]) / np.float32(16)
FACTOR = 2.5
OUT: dict[int, Any] = {}  # by queue
OFFSETS = np.array([0, 0, 500, 1000])
# The most calls, and the call.
CALLS: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "reduce": (16, gpuprims.reduce),
    "map": (16, lambda x: gpuprims.map("2*x + 1", x)),
    "map of a function": (26, lambda x: gpuprims.map(lambda element: np.sqrt(element) * FACTOR, x)),
    "map of a number": (20, lambda x: gpuprims.map("a * x", 2.0, x)),
    "map with out=": (22, lambda x: gpuprims.map("2*x + 1", x, out=OUT[x.queue.int_ptr])),
    "reduce along axes": (18, lambda x: gpuprims.reduce(x, axis=(0,))),
    "scan": (17, gpuprims.scan),
    "histogram": (58, gpuprims.histogram),
    "histogram of a range": (33, lambda x: gpuprims.histogram(x, 256, (0, 1))),
    "stencil": (16, lambda x: gpuprims.stencil(x, WEIGHTS)),
    "stencil of a function": (23, lambda x: gpuprims.stencil(x, lambda n: n[0, 1] + n[1, 0])),
    "stencil of one axis": (16, lambda x: gpuprims.stencil(x, [0.25, 0.5, 0.25])),
    # By a scan, after a launch that fills the results of empty segments.
    "segments": (200, lambda x: gpuprims.reduce(x, segments=OFFSETS, variant="blelloch")),
}


def count_calls(call: Callable[[], Any]) -> int:
    """Return how many functions of Python's a call runs, its own frame left out."""
    seen = 0

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal seen
        seen += event == "call"

    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        call()
    finally:
        sys.setprofile(before)
    return seen - 1


@pytest.mark.whole
@pytest.mark.parametrize("name", CALLS)
def test_a_warm_call_runs_few_functions(device: gpuprims.Device, rng: np.random.Generator, name: str) -> None:
    if device.backend != BACKEND.name:
        pytest.skip("counts the functions of the OpenCL backend")
    need(device, "float64")
    most, call = CALLS[name]
    shape = (25, 40) if name in ("stencil", "stencil of a function") else (1000,)
    x = device.asarray(rng.random(shape, dtype=np.float32))
    OUT[x.queue.int_ptr] = device.asarray(np.zeros(1000, np.float32))
    for _ in range(2):
        call(x)
    turns = 2 * (device.capabilities.kind == "gpu")  # a transfer takes its turn on a GPU's queue
    # The least of a few: now and then the garbage collector adds a call.
    assert min(count_calls(lambda: call(x)) for _ in range(5)) <= most + turns


@pytest.mark.whole
@pytest.mark.parametrize(("most", "call"), [(26, gpuprims.reduce), (26, lambda x: gpuprims.map("2*x + 1", x))])
def test_a_warm_call_of_a_numpy_array_runs_few_functions(
    device: gpuprims.Device, rng: np.random.Generator, most: int, call: Callable[..., Any]
) -> None:
    if device.backend != BACKEND.name or not device.driver.shares_host_memory:
        pytest.skip("counts the functions of CPUs, by OpenCL")
    x = rng.random(1000, dtype=np.float32)
    with gpuprims.use_device(device):
        for _ in range(2):
            call(x)
        assert min(count_calls(lambda: call(x)) for _ in range(5)) <= most
