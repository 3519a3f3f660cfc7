"""Call random primitives on random devices from several threads; check results with NumPy, and memory for growth."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Sequence

import numpy as np

import gpuprims

from .recipes import Recipe, recipes
from .report import Report, resident_memory

# Memory that a run may gain after its first third, while glibc's arenas and pools fill up. A run of less than a minute
# only notes the gain, because it still compiles kernels for new sizes.
ROOM, SETTLED = 96 << 20, 60


def soak(devices: Sequence[gpuprims.Device], seconds: float, threads: int = 4, seed: int = 0) -> Report:
    """Call primitives for some seconds; each thread has its own random numbers."""
    report, every = Report("soak"), recipes()
    for device in devices:  # compile now, so that compilation is not measured later
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
    except Exception as error:  # every exception counts as a failure
        report.fail(f"{label}, {'device' if resident else 'host'} arrays", error)
    report.count("calls")
