"""How many functions of Python's a warm call runs."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from call_counts import count_calls
from kernel_cases import need

import gpuprims
from gpuprims.backends.opencl import BACKEND
from gpuprims.backends.opencl.quick import HOST_CALLS as HOST
from gpuprims.core.c_modules import COMPILING
from gpuprims.core.determinism import Asked
from gpuprims.core.quick_keys import KEYS

WEIGHTS = np.array([[1, 2, 1], [2, 3, 2], [1, 1, 2]]) / np.float32(16)
FACTOR = 2.5
OUT: dict[int, Any] = {}  # by queue
OFFSETS = np.array([0, 0, 500, 1000])
NUMBERS = np.arange(1000)[::-1] % 100
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
    "segments": (205, lambda x: gpuprims.reduce(x, segments=OFFSETS, variant="blelloch")),
}


@pytest.fixture(autouse=True)
def a_level_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the functions of a process that once asked for a level of determinism, whatever ran before."""
    monkeypatch.setattr(Asked, "ever", True)


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


IMAGE = (25, 40)
Words = tuple[Any, ...]
# Function, arguments before and after the array, keywords, the array's shape, and the most calls on a NumPy array: by
# C, by a plan by C, and both by Python alone, as on CPUs of other runtimes than Intel's.
HOST_CALLS: dict[str, tuple[str, Words, Words, dict[str, Any], Words, Words]] = {
    "map": ("map", ("2*x + 1",), (), {}, (1000,), (5, 5, 26, 26)),
    "reduce": ("reduce", (), (), {}, (1000,), (5, 5, 28, 28)),
    "segments": ("reduce", (), (), {"segments": OFFSETS}, (1000,), (10, 5, 40, 33)),
    "scan": ("scan", (), (), {}, (1000,), (5, 5, 28, 28)),
    "scan of segments": ("scan", (), (), {"segments": OFFSETS}, (1000,), (10, 5, 40, 33)),
    "compact": ("compact", (), ("x > 0.5",), {}, (1000,), (25, 25, 44, 44)),
    "histogram": ("histogram", (), (), {}, (1000,), (26, 22, 60, 44)),
    "histogram of a range": ("histogram", (), (256, (0, 1)), {}, (1000,), (9, 6, 34, 32)),
    "bincount": ("bincount", (), (), {}, (1000,), (8, 10, 38, 40)),
    "stencil": ("stencil", (), (WEIGHTS,), {}, IMAGE, (6, 5, 28, 26)),
    "blur": ("blur", (), (), {}, IMAGE, (10, 5, 34, 26)),
}


@pytest.mark.whole
@pytest.mark.parametrize("planned", [False, True], ids=["function", "plan"])
@pytest.mark.parametrize("name", HOST_CALLS)
def test_a_warm_call_of_a_numpy_array_runs_few_functions(
    device: gpuprims.Device, rng: np.random.Generator, name: str, planned: bool
) -> None:
    if device.backend != BACKEND.name or not device.driver.shares_host_memory:
        pytest.skip("counts the functions of CPUs, by OpenCL")
    function, before, after, how, shape, most = HOST_CALLS[name]
    x: Any = rng.integers(0, 100, shape) if function == "bincount" else rng.random(shape, dtype=np.float32)
    with gpuprims.use_device(device):
        plan = gpuprims.plan(function, *before, x, *after, **how)

        def call() -> Any:
            return plan(x) if planned else getattr(gpuprims, function)(*before, x, *after, **how)

        settle(call)
        in_c = KEYS.calls is not None and HOST.calls is not None and device.driver._launches.quick
        assert min(count_calls(call) for _ in range(5)) <= most[planned + 2 * (not in_c)]
        assert blocks_kept(call, 300) <= blocks_kept(call, 100) + 50


# Function, its arguments, and the most calls of those that NumPy computes, with C and by Python alone.
BY_NUMPY: dict[str, tuple[str, Words, tuple[int, int]]] = {
    "map": ("map", ("x + y", NUMBERS, NUMBERS), (11, 20)),
    "reduce": ("reduce", (NUMBERS,), (5, 17)),
    "scan": ("scan", (NUMBERS,), (6, 18)),
    "sort": ("sort", (NUMBERS,), (10, 16)),
    "argsort": ("argsort", (NUMBERS,), (13, 19)),
    "take": ("take", (NUMBERS, NUMBERS), (6, 15)),
    "searchsorted": ("searchsorted", (np.arange(9), NUMBERS), (5, 15)),
    "isin": ("isin", (NUMBERS, NUMBERS[:3]), (9, 19)),
    "isin by a table": ("isin", (NUMBERS, NUMBERS[:30]), (12, 22)),
    "compact": ("compact", (NUMBERS, "x > 50"), (12, 18)),
    "bincount": ("bincount", (NUMBERS,), (9, 15)),
    "median": ("median", (NUMBERS,), (13, 22)),
    "quantile": ("quantile", (NUMBERS, 0.3), (20, 28)),
    "partition": ("partition", (NUMBERS, 500), (11, 18)),
    "unique": ("unique", (NUMBERS,), (7, 17)),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", BY_NUMPY)
def test_a_warm_call_that_numpy_computes_runs_few_functions(
    device: gpuprims.Device, numpy_computes: None, name: str
) -> None:
    if device.backend != BACKEND.name or not device.driver.shares_host_memory:
        pytest.skip("counts the functions of CPUs, by OpenCL")
    function, arguments, most = BY_NUMPY[name]
    with gpuprims.use_device(device):

        def call() -> Any:
            return getattr(gpuprims, function)(*arguments)

        settle(call)
        assert min(count_calls(call) for _ in range(5)) <= most[KEYS.calls is None]
        assert blocks_kept(call, 300) <= blocks_kept(call, 100) + 50


def settle(call: Callable[[], Any]) -> None:
    """Make a call warm, by C if there is a compiler: while it runs, a thread allocates memory."""
    for _ in range(3):
        for _ in range(3):
            call()
        for thread in threading.enumerate():
            if thread.name == COMPILING:
                thread.join()


def blocks_kept(call: Callable[[], Any], times: int) -> int:
    """Return how many blocks of Python's memory so many calls leave behind."""
    gc.collect()
    gc.disable()
    try:
        before = sys.getallocatedblocks()
        for _ in range(times):
            call()
        return sys.getallocatedblocks() - before
    finally:
        gc.enable()
