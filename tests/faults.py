"""Faults of the cache of compiled kernels and kills during a build; shared by tests and long runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

# Compiles a new kernel, computes, and prints the result; prints "started" before it compiles.
_CALL = """
import sys, numpy as np, gpuprims
device = gpuprims.Device(sys.argv[2])
print("started", flush=True)
print(gpuprims.map(sys.argv[1], np.arange(4, dtype=np.float32), device=device).tolist())
"""


def compute(expression: str, folder: Path, spec: str, **environment: str) -> subprocess.Popen[str]:
    """Start a process that maps an expression over 0, 1, 2, 3 and keeps its kernels in a folder."""
    return subprocess.Popen(
        [sys.executable, "-W", "default", "-c", _CALL, expression, spec],
        env=os.environ | {"GPUPRIMS_CACHE_DIR": str(folder)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the last line that a process printed, and its warnings; fails unless it ended by itself."""
    out, warnings = process.communicate(timeout=300)
    assert process.returncode == 0, warnings
    return out.splitlines()[-1], warnings


def kill_in_a_build(expression: str, folder: Path, spec: str, after: float) -> None:
    """Kill a process some seconds after it began to compile; then compute the same in another one, and check it."""
    process = compute(expression, folder, spec)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    got, warnings = finished(compute(expression, folder, spec))
    assert got == str([float(eval(expression, {"x": x})) for x in range(4)])  # noqa: S307 - a test's own text
    assert "Warning" not in warnings
