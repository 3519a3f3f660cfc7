"""Random primitives on random devices from several threads: each result NumPy's, and memory that does not grow."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Sequence

import numpy as np

import gpuprims

from .recipes import Recipe, recipes
from .report import Report, resident_memory

# What a process may have more after its first third: glibc's arenas and pools still fill up. In a run of less than a
# minute it is noted alone: kernels for sizes not met before are still compiled.
ROOM, SETTLED = 96 << 20, 60


def soak(devices: Sequence[gpuprims.Device], seconds: float, threads: int = 4, seed: int = 0) -> Report:
    """Call for so long; each thread has random numbers of its own."""
    report, every = Report("soak"), recipes()
    for device in devices:  # so that what is measured later is not what is compiled
        for name, recipe in every.items():
            for resident in (False, True):
                _once(report, f"{name} on {device.spec}", recipe, np.random.default_rng(seed), device, resident)
    begun = time.monotonic()
    until = begun + seconds
    workers = [
        threading.Thread(target=_work, args=(report, devices, every, np.random.default_rng([seed, k]), until))
        for k in range(threads)
    ]
    for worker in workers:
        worker.start()
    time.sleep(seconds / 3)
    gc.collect()
    before = resident_memory()
    for worker in workers:
        worker.join()
    gc.collect()
    grown = resident_memory() - before
    report.note(f"{threads} threads, {time.monotonic() - begun:.0f} s, {grown >> 20:+} MiB since the first third")
    if grown > ROOM and seconds >= SETTLED:
        report.fail("memory", f"at most {ROOM >> 20} MiB more after the first third; got {grown >> 20}")
    return report


def _work(
    report: Report,
    devices: Sequence[gpuprims.Device],
    every: dict[str, Recipe],
    rng: np.random.Generator,
    until: float,
) -> None:
    names = list(every)
    while time.monotonic() < until:
        device, name = devices[int(rng.integers(len(devices)))], names[int(rng.integers(len(names)))]
        _once(report, f"{name} on {device.spec}", every[name], rng, device, bool(rng.integers(2)))


def _once(
    report: Report, label: str, recipe: Recipe, rng: np.random.Generator, device: gpuprims.Device, resident: bool
) -> None:
    try:
        recipe(rng, device, device.asarray if resident else lambda array: array)
    except Exception as error:  # whatever a call raises is what is counted
        report.fail(f"{label}, {'device' if resident else 'host'} arrays", error)
    report.count("calls")
