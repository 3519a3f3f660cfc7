"""The first call of each function, in a process of its own: with an empty cache, and with one on the disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_CACHES = ("GPUPRIMS_CACHE_DIR", "CUPY_CACHE_DIR", "XDG_CACHE_HOME", "CUDA_CACHE_PATH", "POCL_CACHE_DIR")
# A child imports everything and finds the device before it looks at the clock, so that only the call counts.
_CHILD = """
import json, sys, time
start = time.perf_counter()
import gpuprims
from bench.small_calls import CASES, arrays
from gpuprims.core.compile_cache import found_within
device, case = gpuprims.Device(sys.argv[1]), CASES[sys.argv[2]]
own = {name: device.asarray(one) for name, one in arrays().items()}
call = case.call(own, device=device)
device.synchronize()
there = time.perf_counter()
with found_within() as read:
    call()
    device.synchronize()
print(json.dumps([time.perf_counter() - there, there - start, len(read)]))
"""


def first_call(spec: str, name: str, folder: str) -> tuple[float, float, int]:
    """Make a first call with a folder for all caches.

    Return its seconds, those of the imports and arrays before it, and how many compiled programs it read from the disk.
    """
    command = [sys.executable, "-c", _CHILD, spec, name]
    environment = os.environ | dict.fromkeys(_CACHES, folder)
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - the code above
    if ran.returncode:
        raise RuntimeError(f"first call of {name}: a process that ends well; got {ran.returncode}\n{ran.stderr}")
    call, before, read = json.loads(ran.stdout.splitlines()[-1])
    return call, before, read


def cold_and_warm(spec: str, name: str) -> dict[str, Any]:
    """Return the milliseconds of a first call with empty caches, then with what that one left on the disk.

    Beside them are the compiled programs that the first left there, those that the second read, and those that it
    compiled.
    """
    with tempfile.TemporaryDirectory(prefix="gpuprims-first-calls-") as folder:
        empty, _, _ = first_call(spec, name, folder)
        left = _programs(folder)
        kept, before, read = first_call(spec, name, folder)
        again = len(_programs(folder) - left)
    took = {"empty cache": 1e3 * empty, "cache on the disk": 1e3 * kept, "imports": 1e3 * before}
    return {"call": name, **took, "programs": len(left), "read": read, "compiled again": again}


def _programs(folder: str) -> set[str]:
    """Return the names of the compiled programs in a cache folder."""
    return {file.name for file in Path(folder).glob("kernels/*")}


def first_calls(spec: str, names: Iterable[str], jobs: int) -> list[dict[str, Any]]:
    """Return a row for each call; ``jobs`` calls are measured at the same time."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda name: cold_and_warm(spec, name), names))
