"""Calls of the functions around the primitives, beside NumPy and SciPy on a CPU, or CuPy and torch on a GPU.

``python -m bench.neighbours --device cuda:0`` prints a table; ``--only "median_filter*"`` selects works, ``--sizes``
replaces their sizes, and ``--launches`` adds the kernels of each call with their times. Each result is compared with a
peer's. A GPU's times are the device's, of calls that follow one another; those of small works and of CPUs include the
host's and the wait.
"""

from __future__ import annotations

import argparse
import fnmatch
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import gpuprims

from .ahead import delay_of
from .clocks import HostClock, clock_of, timed_device
from .contenders import to_host
from .measuring import Racer, race, wall_times
from .neighbouring_works import WORKS, Work

# Seconds for a work, most calls that are waited for, and most elements that are compared.
_SECONDS, _WAITED, _COMPARED = 0.3, 60, 2**22


@dataclass(frozen=True)
class Row:
    """Seconds of one work by each contender, and what was found besides."""

    work: Work
    size: int
    times: dict[str, float]
    note: str = ""

    def line(self) -> str:
        """Return a line of the table: times, bytes a second, and the best peer's time over ours."""
        own, peers = self.times.get("gpuprims"), [one for name, one in self.times.items() if name != "gpuprims"]
        said = ", ".join(f"{name} {1e6 * one:.1f}" for name, one in self.times.items() if name != "gpuprims")
        if own is None:
            return f"| {self.work.name} | {self.size} | | | {said} | | {self.note}"
        rate = f"{self.work.bytes_of(self.size) / own / 1e12:.3f}" if self.work.nbytes else ""
        ratio = f"{min(peers) / own:.2f}" if peers else ""
        return f"| {self.work.name} | {self.size} | {1e6 * own:.1f} | {rate} | {said} | {ratio} | {self.note}"


def peers_of(device: gpuprims.Device) -> dict[str, Callable[[Any], Any]]:
    """Return the names of peers that are installed, and how each gets a NumPy array."""
    if device.backend != "cuda":
        return {"NumPy": lambda x: x} if device.capabilities.kind == "cpu" else {}
    found: dict[str, Callable[[Any], Any]] = {}
    try:
        import cupy

        found["CuPy"] = cupy.asarray
    except ImportError:
        pass
    try:
        import torch

        found["torch"] = lambda x: torch.as_tensor(x).cuda()
    except ImportError:
        pass
    return found


def measured(device: gpuprims.Device, work: Work, size: int, *, launches: bool) -> Row:
    """Time a work of some size beside its peers."""
    given = work.arrays(size)
    size = given[0].size
    on_cpu = device.capabilities.kind == "cpu"
    there = given if on_cpu else [device.asarray(one) for one in given]
    calls: dict[str, Callable[[], Any]] = {}

    calls["gpuprims"] = partial(work.run, *there)
    for name, placed in peers_of(device).items():
        function = work.peer(name)
        if function is not None:
            calls[name] = partial(function, *[placed(one) for one in given])
    note, found, result = "", None, None
    for name in list(calls):
        try:
            result = calls[name]()
            if len(calls) > 1:
                last = _last_of(result)
                result = to_host(device, last) if name == "gpuprims" else _to_numpy(last)
        except Exception as error:  # a peer without memory or such a call: the others are still timed
            note += f" {name}: {type(error).__name__} {str(error)[:80]}"
            del calls[name]
            continue
        if work.check and found is not None and not _close(result, found):
            note += f" {name} differs"
        found = result if found is None else found
    del found, result
    if launches and "gpuprims" in calls:
        note += _launches(calls["gpuprims"])
    if on_cpu or work.waited:
        walls = wall_times(calls, max(3, min(_WAITED, int(4e7 / max(size, 1)))), device.synchronize)
        return Row(work, size, {name: statistics.median(one) for name, one in walls.items()}, note)
    clock, host = clock_of(device), HostClock(device.synchronize)
    delay = delay_of(device, clock)
    racers = {name: Racer(call, clock, host, delay) for name, call in calls.items()}
    return Row(work, size, {name: one.device_s for name, one in race(racers, _SECONDS).items()}, note)


def _last_of(result: Any) -> Any:
    """Return the last elements of results."""
    if isinstance(result, tuple | list):
        return tuple(_last_of(one) for one in result)
    many = math.prod(getattr(result, "shape", ())) > _COMPARED
    return result.reshape(-1)[-_COMPARED:] if many else result


def _to_numpy(result: Any) -> Any:
    if isinstance(result, tuple | list):
        return tuple(_to_numpy(one) for one in result)
    if hasattr(result, "cpu"):
        return result.cpu().numpy()
    return result.get() if hasattr(result, "get") else np.asarray(result)


def _close(result: Any, expected: Any) -> bool:
    if isinstance(expected, tuple | list):
        return all(_close(*both) for both in zip(result, expected, strict=False))
    result, expected = np.asarray(result), np.asarray(expected)
    if result.shape != expected.shape:
        return False
    scale = float(np.max(np.abs(expected), initial=0)) if expected.dtype.kind == "f" else 0
    return bool(np.allclose(result, expected, rtol=1e-4, atol=1e-5 * scale, equal_nan=True))


def _launches(call: Callable[[], Any]) -> str:
    call()
    with gpuprims.profile() as seen:
        call()
    return " " + ", ".join(f"{one.kernel} {1e6 * one.seconds:.1f}" for one in seen.launches)


def main() -> None:
    """Print the table of a device."""
    parser = argparse.ArgumentParser(prog="python -m bench.neighbours")
    parser.add_argument("--device", default=None, help="the device to measure")
    parser.add_argument("--only", default="*", help="patterns of works, with ; between them")
    parser.add_argument("--sizes", help="sizes to measure instead, with commas between them")
    parser.add_argument("--launches", action="store_true", help="add the kernels of each call")
    given = parser.parse_args()
    device = timed_device(gpuprims.Device(given.device))
    print(f"{device.capabilities.name}, {device.capabilities.driver}, {device.backend}\n")
    print("| work | elements | gpuprims, us | TB/s | peers, us | best peer over gpuprims | notes\n| " + "--- | " * 7)
    patterns = [one.strip() for one in given.only.split(";")]
    for work in WORKS:
        if not any(fnmatch.fnmatch(work.name, one) for one in patterns):
            continue
        sizes = [int(one) for one in given.sizes.split(",")] if given.sizes else work.sizes
        for size in sizes:
            with gpuprims.use_device(device):
                print(measured(device, work, size, launches=given.launches).line(), flush=True)


if __name__ == "__main__":
    main()
