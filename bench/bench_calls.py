"""What a call costs beside its kernel: warm calls, plans, numbers on the host, and transfers.

``pytest bench/bench_calls.py``; ``GPUPRIMS_BENCH_DEVICE`` names the device, ``cuda`` by default.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cases import find_device, random_array

import gpuprims

DEVICE = find_device(os.environ.get("GPUPRIMS_BENCH_DEVICE", "cuda"))
if isinstance(DEVICE, str):
    pytest.skip(DEVICE, allow_module_level=True)

SMALL, LARGE = 1000, 2**28


def _warm() -> dict[str, Callable[[], Any]]:
    """Return calls on a small array, each of which ends when its result is there."""
    x = DEVICE.asarray(random_array(SMALL))
    total, doubled = gpuprims.plan("reduce", x), gpuprims.plan("map", "2*x + 1", x)

    def waited(call: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> None:
            call()
            DEVICE.synchronize()

        return run

    calls = {
        "reduce(x), waited for": waited(lambda: gpuprims.reduce(x)),
        "map(2*x + 1, x), waited for": waited(lambda: gpuprims.map("2*x + 1", x)),
        "a reduce plan, waited for": waited(lambda: total(x)),
        "a map plan, waited for": waited(lambda: doubled(x)),
        "a reduce plan's item()": lambda: total.item(x),
    }
    if DEVICE.backend == "cuda":
        import cupy

        calls |= {
            "float(reduce(x))": lambda: float(gpuprims.reduce(x)),
            "CuPy sum, waited for": waited(lambda: cupy.sum(x)),
            "CuPy float(sum)": lambda: float(cupy.sum(x)),
        }
    return calls


CALLS = _warm()


@pytest.mark.parametrize("name", CALLS)
def bench_warm_call(benchmark: Any, name: str) -> None:
    benchmark.group = f"a call on {SMALL} float32"
    benchmark.extra_info.update(device=DEVICE.capabilities.name, contender=name)
    benchmark(CALLS[name])


def _transfers() -> dict[str, Callable[[], Any]]:
    host = random_array(LARGE)
    there = DEVICE.asarray(host)

    def up() -> None:
        DEVICE.asarray(host)
        DEVICE.synchronize()

    moved = {
        "asarray": up,
        "to_host": lambda: DEVICE.to_host(there),
        "reduce of a NumPy array": lambda: gpuprims.reduce(host, device=DEVICE),
    }
    if DEVICE.backend == "cuda":
        import cupy

        moved["CuPy asarray, sum, get"] = lambda: cupy.asarray(host).sum().get()
    return moved


@pytest.mark.parametrize("name", _transfers() if DEVICE.capabilities.kind == "gpu" else ())
def bench_transfer(benchmark: Any, name: str) -> None:
    move = _transfers()[name]
    benchmark.extra_info.update(device=DEVICE.capabilities.name, contender=name)
    benchmark.group = f"{4 * LARGE >> 30} GiB between the host and the device"
    benchmark(move)
    if benchmark.stats:  # none with --benchmark-disable
        benchmark.extra_info["gb_per_s"] = round(4 * LARGE / benchmark.stats.stats.median / 1e9, 2)


_FIRST = f"""
import time, numpy as np, gpuprims, gpuprims.primitives.reduce
device = gpuprims.Device({DEVICE.spec!r})
x = device.asarray(np.ones(1000, np.float32))
device.synchronize()
start = time.perf_counter()
gpuprims.reduce(x)
device.synchronize()
print(time.perf_counter() - start)
"""


@pytest.mark.parametrize("cache", ["empty", "on the disk"])
def bench_first_call(benchmark: Any, cache: str, tmp_path: Path) -> None:
    """Time the first call of a process, after the imports."""
    caches = {name: str(tmp_path) for name in ("CUPY_CACHE_DIR", "XDG_CACHE_HOME", "CUDA_CACHE_PATH")}

    def first() -> float:
        ran = subprocess.run(  # noqa: S603 - this page's own text, in the running Python
            [sys.executable, "-c", _FIRST], env=os.environ | caches, capture_output=True, check=True
        )
        return float(ran.stdout.split()[-1])

    if cache == "on the disk":
        first()
    benchmark.group = "the first reduce of a process"
    benchmark.extra_info.update(device=DEVICE.capabilities.name, contender=f"compile cache {cache}: {first():.3f} s")
    benchmark.pedantic(first, rounds=1)  # the whole process; what counts is the figure above
