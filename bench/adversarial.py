"""Works that order elements, on data that is hard for some of their ways, beside the same works on random data.

``python -m bench.adversarial --device cuda:0 --size 2**28`` prints a table: for each work and data the time, how many
times that of random data it is, and NumPy's if the device is a CPU. ``--only "sort*"`` selects works. Results of up to
2^24 elements are compared with NumPy's. A GPU's times are the device's, of calls that follow one another; those of
works that wait for a number, and of CPUs, include the host's and the wait.
"""

from __future__ import annotations

import argparse
import fnmatch
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import gpuprims

from .ahead import delay_of
from .clocks import HostClock, clock_of, timed_device
from .contenders import to_host
from .measuring import Racer, race, wall_times

# Seconds for a work, most calls that are waited for, most elements that are compared, and the k of top_k.
_SECONDS, _WAITED, _COMPARED, _K = 2.0, 30, 2**24, 1000


def _random(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.random(n, np.float32)


def _ramp(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32)


def _organ_pipe(rng: np.random.Generator, n: int) -> np.ndarray:
    rising = np.arange(n, dtype=np.float32)
    return np.minimum(rising, rising[::-1])


def _nan_heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    x = _random(rng, n)
    x[rng.random(n, np.float32) < 0.5] = np.nan
    return x


# Float32 of each kind; "random" comes first, because times are compared with its.
DATA: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "random": _random,
    "sorted": _ramp,
    "reversed": lambda rng, n: _ramp(rng, n)[::-1].copy(),
    "all equal": lambda rng, n: np.full(n, 2.5, np.float32),
    "two values": lambda rng, n: (rng.random(n, np.float32) < 0.5).astype(np.float32),
    "organ pipe": _organ_pipe,
    "skewed": lambda rng, n: np.floor(40 * rng.standard_exponential(n, np.float32)),
    "NaN-heavy": _nan_heavy,
    "denormal": lambda rng, n: rng.integers(1, 2**23, n, np.uint32).view(np.float32),
}


class Adversarial(NamedTuple):
    """A work: its call, NumPy's, what a check compares of a result and the input, and whether it waits for a number."""

    name: str
    run: Callable[[Any], Any]
    host: Callable[[np.ndarray], Any]
    check: Callable[[Any, np.ndarray], Any] = lambda result, x: result
    waited: bool = False


def _largest(x: np.ndarray) -> np.ndarray:
    """Return the elements that come first in a descending sort, NaN before numbers."""
    return np.sort(np.partition(x, x.size - _K)[-_K:])[::-1]


WORKS = (
    Adversarial("sort", gpuprims.sort, np.sort),
    Adversarial("argsort", gpuprims.argsort, np.sort, lambda order, x: x[order]),
    Adversarial("top_k 1000", partial(gpuprims.top_k, k=_K), _largest, lambda found, x: found[0]),
    Adversarial("median", gpuprims.median, np.median),
    Adversarial("unique", gpuprims.unique, np.unique, waited=True),
)


def lines(device: gpuprims.Device, work: Adversarial, size: int) -> Iterator[str]:
    """Time a work on each kind of data, and yield the lines of a table."""
    rng, on_cpu = np.random.default_rng(20261126), device.capabilities.kind == "cpu"
    arrays = {name: make(rng, size) for name, make in DATA.items()}
    there = {name: x if on_cpu else device.asarray(x) for name, x in arrays.items()}
    calls = {name: partial(work.run, x) for name, x in there.items()}
    notes = {name: _note(device, work, calls[name](), x) if size <= _COMPARED else "" for name, x in arrays.items()}
    numpys: dict[str, Callable[[], Any]] = {}
    if on_cpu:
        numpys = {f"NumPy, {name}": partial(work.host, x) for name, x in arrays.items()}
    if on_cpu or work.waited:
        rounds = max(3, min(_WAITED, int(4e7 / max(size, 1))))
        walls = wall_times(calls | numpys, rounds, device.synchronize)
        times = {name: statistics.median(one) for name, one in walls.items()}
    else:
        clock, host = clock_of(device), HostClock(device.synchronize)
        delay = delay_of(device, clock)
        racers = {name: Racer(call, clock, host, delay) for name, call in calls.items()}
        times = {name: one.device_s for name, one in race(racers, _SECONDS).items()}
    for name in DATA:
        numpy = f"{times[f'NumPy, {name}'] * 1e6:.1f}" if numpys else ""
        ratio = times[name] / times["random"]
        yield f"| {work.name} | {name} | {times[name] * 1e6:.1f} | {ratio:.2f} | {numpy} | {notes[name]}"


def _note(device: gpuprims.Device, work: Adversarial, result: Any, x: np.ndarray) -> str:
    """Return what is to be said of a result: nothing if it is NumPy's."""
    got = work.check(to_host(device, result), x)
    return "" if np.array_equal(got, work.host(x), equal_nan=True) else "differs from NumPy"


def main() -> None:
    """Print the table of a device."""
    parser = argparse.ArgumentParser(prog="python -m bench.adversarial")
    parser.add_argument("--device", default=None, help="the device to measure")
    parser.add_argument("--only", default="*", help="a pattern of works")
    parser.add_argument("--size", default="2**22", help="elements, such as 1000000 or 2**24")
    given = parser.parse_args()
    base, _, power = given.size.partition("**")
    size = int(base) ** int(power or 1)
    device = timed_device(gpuprims.Device(given.device))
    print(f"{device.capabilities.name}, {device.capabilities.driver}, {device.backend}; {size} float32\n")
    print("| work | data | gpuprims, us | times random | NumPy, us | notes\n| " + "--- | " * 6)
    for work in WORKS:
        if not fnmatch.fnmatch(work.name, given.only):
            continue
        with gpuprims.use_device(device):
            for line in lines(device, work, size):
                print(line, flush=True)


if __name__ == "__main__":
    main()
