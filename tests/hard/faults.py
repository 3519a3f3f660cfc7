"""Faults in the middle of calls: no memory, kernels that do not compile, killed and simultaneous processes."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import gpuprims
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import BuildError, DeviceMemoryError

from .recipes import recipes
from .report import Report, resident_memory

# Methods of a driver that allocate memory; see gpuprims/core/driver.py.
ALLOCATING = ("empty", "zeros", "scratch")
# Memory that all faults together may leave: pools and messages, not an array for each fault.
ROOM = 64 << 20
# The program of a process that compiles kernels of its own.
BUILDING = """
import sys
import numpy as np, gpuprims
x = np.arange(1000, dtype=np.int64)
print("begin", flush=True)
for k in map(int, sys.argv[1:]):
    got = gpuprims.map(f"x * x + (x ^ {k}) - x // {k + 3}", x)
    assert np.array_equal(got, x * x + (x ^ k) - x // (k + 3)), k
print("done", int(gpuprims.reduce(x)), flush=True)
"""


@contextlib.contextmanager
def allocation_fails(device: gpuprims.Device, after: int) -> Iterator[None]:
    """Let a number of allocations succeed, and fail all later ones."""
    kind: Any = type(device.driver)
    methods, left = {name: getattr(kind, name) for name in ALLOCATING}, [after]

    def failing(name: str) -> Any:
        def allocate(self: Any, *given: Any, **how: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise DeviceMemoryError(self.capabilities.name, 1 << 40, None)
            return methods[name](self, *given, **how)

        return allocate

    for name in ALLOCATING:
        setattr(kind, name, failing(name))
    try:
        yield
    finally:
        for name, method in methods.items():
            setattr(kind, name, method)


def fail_allocations(devices: Sequence[gpuprims.Device], number: int, seed: int = 0) -> Report:
    """Fail in the middle of calls; the same call must then be right, and memory must come back."""
    report, rng, every = Report("no memory"), np.random.default_rng(seed), list(recipes().items())
    before = 0
    for k in range(number):
        device, (name, recipe) = devices[k % len(devices)], every[k // len(devices) % len(every)]
        with allocation_fails(device, int(rng.integers(0, 5))):
            try:
                recipe(np.random.default_rng(k), device, device.asarray)
                report.count("calls that needed less")
            except DeviceMemoryError:
                report.count("calls that failed")
            except Exception as error:  # whatever else comes is a failure
                report.fail(f"{name} on {device.spec} without memory", error)
        try:
            recipe(np.random.default_rng(k), device, device.asarray)
        except Exception as error:  # whatever comes is a failure
            report.fail(f"{name} on {device.spec} after it", error)
        if k == number // 3:
            gc.collect()
            before = resident_memory()
    gc.collect()
    grown = resident_memory() - before
    report.note(f"{grown >> 20:+} MiB since the first third")
    if grown > ROOM:
        report.fail("memory", f"at most {ROOM >> 20} MiB more after the first third; got {grown >> 20}")
    return report


def fail_builds(devices: Sequence[gpuprims.Device], number: int) -> Report:
    """Run kernels that do not compile: each raises BuildError with the compiler's log, and the next call is right."""
    report, x = Report("kernels that do not compile"), np.arange(1000, dtype=np.int32)
    with TemporaryDirectory() as folder:
        for k in range(number):
            device = devices[k % len(devices)]
            shipped = REGISTRY.variants("map", device.backend)[-1]
            if not isinstance(shipped.source, Path):
                continue
            path = Path(folder, f"broken{k}{shipped.source.suffix}")
            name = f"broken_{k}"
            text = shipped.source.read_text().replace(shipped.entry, f"map_{name}")
            path.write_text(text.replace("const int tid =", f"const int tid = no_such_name_{k} +"))
            broken = dataclasses.replace(shipped, name=name, source=path, rank=-1000 - k)
            with _registered(broken):
                try:
                    gpuprims.map("x + 1", x, device=device, variant=name)
                    report.fail(f"a broken kernel on {device.spec}", "a BuildError; got a result")
                except BuildError as error:
                    report.count("BuildErrors")
                    if f"no_such_name_{k}" not in str(error):
                        report.fail(f"a broken kernel on {device.spec}", f"the compiler's words; got {error}")
                except Exception as error:  # whatever else comes is a failure
                    report.fail(f"a broken kernel on {device.spec}", error)
            if not np.array_equal(gpuprims.map("x + 1", x, device=device), x + 1):
                report.fail(f"after a broken kernel on {device.spec}", "x + 1")
    return report


@contextlib.contextmanager
def _registered(variant: gpuprims.Variant) -> Iterator[None]:
    before = REGISTRY._variants
    gpuprims.register(variant)
    try:
        yield
    finally:
        REGISTRY._variants = before
        REGISTRY.outdate()


def _environment(folder: str) -> dict[str, str]:
    """Return the environment of a process with caches of its own."""
    return os.environ | {"GPUPRIMS_CACHE_DIR": f"{folder}/gpuprims", "XDG_CACHE_HOME": f"{folder}/xdg"}


def _start(folder: str, device: gpuprims.Device, numbers: Sequence[int]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILDING, *map(str, numbers)]
    environment = _environment(folder) | {"GPUPRIMS_DEVICE": device.spec}
    return subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def share_a_cold_cache(device: gpuprims.Device, processes: int = 8) -> Report:
    """Start processes that compile the same kernels on one empty cache; then one more, on the warm cache."""
    report = Report("processes on one cold cache")
    with TemporaryDirectory() as folder:
        started = [_start(folder, device, range(6)) for _ in range(processes)]
        for process in [*started, None]:
            _finished(report, process or _start(folder, device, range(6)))
    return report


def _finished(report: Report, process: subprocess.Popen[str]) -> None:
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        report.fail(f"process {process.pid}", "an end within 300 s")
        return
    report.count("processes")
    if process.returncode != 0 or "done 499500" not in out:
        report.fail(f"exit code {process.returncode}", err[-250:])


def kill_builds(device: gpuprims.Device, number: int, seed: int = 0) -> Report:
    """Kill processes that build kernels on one cache; after every tenth, another process must compute right."""
    report, rng = Report("kill -9 in the middle of a build"), np.random.default_rng(seed)
    with TemporaryDirectory() as folder:
        for k in range(number):
            process = _start(folder, device, range(100 * k, 100 * k + 100))
            assert process.stdout is not None
            if process.stdout.readline() != "begin\n":
                report.fail("a process", process.communicate()[1][-250:])
                continue
            time.sleep(float(rng.random()) * 0.5)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            report.count("kills" if process.returncode == -signal.SIGKILL else "ends before the kill")
            if k % 10 == 9 or k == number - 1:
                _finished(report, _start(folder, device, range(100 * k, 100 * k + 3)))
    return report
