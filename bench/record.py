"""Record what calls do on one device, to compare a changed library with an earlier one.

``python -m bench.record --device SPEC --out FILE.json`` records, for some 300 calls with fixed inputs, the variants
that run, the SHA-256 of each result, the time of a warm call and that of the first one; and how many functions a warm
call on 1,000 elements calls. ``python -m bench.record --compare BEFORE.json AFTER.json`` fails where variants or
results differ.

A first call's time depends on the compile cache: record twice, and keep the second recording.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import gpuprims

from .record_calls import calls
from .record_compare import FORMAT, RecordError, Recording, compare, load
from .record_kit import Call, array

# Warm calls: rounds at least and at most, seconds for all of them, and seconds of a round, of so many calls at most. A
# call that takes longer than the last number is measured once.
_LEAST_ROUNDS, _MOST_ROUNDS, _BUDGET, _SPAN, _MOST_CALLS, _LONG = 3, 15, 0.1, 1e-3, 50, 0.5
_SMALL = 1_000
# Warm calls whose functions are counted: the first ones fill caches, and the least count is kept.
_COUNTED = 5


@contextmanager
def variants_chosen() -> Iterator[list[str]]:
    """Collect the variants that :meth:`gpuprims.Device.select` returns, each once, in order of their first choice."""
    names: list[str] = []
    select = gpuprims.Device.select

    def noted(self: gpuprims.Device, *arguments: Any, **keywords: Any) -> Any:
        variant = select(self, *arguments, **keywords)
        if (name := f"{variant.primitive}/{variant.name}") not in names:
            names.append(name)
        return variant

    with patch.object(gpuprims.Device, "select", noted):
        yield names


def described(result: Any, *, exact: bool = True) -> list[dict[str, Any]]:
    """Return type, dtype, shape and, where bytes repeat, the SHA-256 of each array of a result."""
    if isinstance(result, tuple):
        return [one for part in result for one in described(part, exact=exact)]
    host = np.asarray(result.get() if hasattr(result, "get") else result)
    one: dict[str, Any] = {"type": type(result).__name__, "dtype": str(host.dtype), "shape": list(host.shape)}
    if exact:
        one["sha256"] = hashlib.sha256(host.tobytes()).hexdigest()
    return [one]


def record_call(call: Call, wait: Callable[[], None], *, rounds: int = _MOST_ROUNDS) -> dict[str, Any]:
    """Run a call for the first time, then warm, and return what it did.

    Parameters
    ----------
    call : Call
    wait : callable
        Waits for the device.
    rounds : int
        Measurements of the warm call at most.

    Returns
    -------
    dict
        The variants, and the results with times in seconds, or the class of the exception.
    """
    with variants_chosen() as variants, warnings.catch_warnings(action="ignore"):
        wait()
        start = time.perf_counter()
        try:
            result = call.run()
        except Exception as error:  # a refusal is a result too: both recordings must have the same
            return {"variants": variants, "raised": type(error).__name__}
        wait()
        first = time.perf_counter() - start
        results = described(result, exact=call.exact)
        del result
        times = _warm_times(call.run, wait, rounds)
        if sum(times) < _LONG and described(call.run(), exact=call.exact) != results:
            results = [{**one, "sha256": "differs from run to run"} for one in results]
    return {
        "variants": variants,
        "results": results,
        "first": first,
        "seconds": statistics.median(times),
        "least": min(times),
    }


def _warm_times(run: Callable[[], Any], wait: Callable[[], None], rounds: int) -> list[float]:
    once = _span(run, wait, 1)
    if once > _LONG:
        return [once]
    number = min(max(int(_SPAN / once), 1), _MOST_CALLS)
    times: list[float] = []
    end = time.perf_counter() + _BUDGET
    while len(times) < min(rounds, _LEAST_ROUNDS) or (len(times) < rounds and time.perf_counter() < end):
        times.append(_span(run, wait, number))
    return times


def _span(run: Callable[[], Any], wait: Callable[[], None], number: int) -> float:
    """Return the seconds of one call: make ``number`` calls, wait for the last, and divide."""
    start = time.perf_counter()
    for _ in range(number):
        run()
    wait()
    return (time.perf_counter() - start) / number


def function_calls(run: Callable[[], Any]) -> tuple[int, int]:
    """Return how many functions a warm call calls: those in Python, and those in C.

    Parameters
    ----------
    run : callable
        A :class:`functools.partial`, which adds no call of its own.
    """
    counts = []
    for _ in range(_COUNTED):
        events = {"call": 0, "c_call": 0}

        def note(frame: Any, event: str, argument: Any, events: dict[str, int] = events) -> None:
            if event in events:
                events[event] += 1

        sys.setprofile(note)
        try:
            result = run()
        finally:
            sys.setprofile(None)
        del result
        counts.append((events["call"], events["c_call"] - 1))  # without setprofile itself
    return min(counts)


def _counted(device: gpuprims.Device) -> dict[str, tuple[int, int]]:
    there = device.asarray(array("float32", _SMALL))
    runs = {
        "reduce": partial(gpuprims.reduce, there),
        "map": partial(gpuprims.map, "2*x + 1", there),
        "scan": partial(gpuprims.scan, there),
        "histogram": partial(gpuprims.histogram, there, 10, (-3, 3)),
        "histogram of its own range": partial(gpuprims.histogram, there),
        "stencil": partial(gpuprims.stencil, there, [0.25, 0.5, 0.25]),
    }
    return {name: function_calls(run) for name, run in runs.items()}


def record(device: gpuprims.Device, *, quick: bool = False, without: Sequence[str] = ()) -> Recording:
    """Record all calls on a device.

    Parameters
    ----------
    device : gpuprims.Device
    quick : bool, default False
        Use small inputs and few rounds.
    without : sequence of str
        Leave out calls whose names contain one of these.

    Returns
    -------
    dict
        What JSON can hold.
    """
    recorded: dict[str, Any] = {}
    for call in calls(device, quick=quick):
        if any(part in call.name for part in without):
            continue
        if call.name in recorded:
            raise RecordError(f"record: a name for each call; got {call.name!r} twice")
        recorded[call.name] = record_call(call, device.synchronize, rounds=1 if quick else _MOST_ROUNDS)
    able = device.capabilities
    return {
        "format": FORMAT,
        "device": f"{device.backend} {able.kind} {able.vendor} {able.name} {able.driver}",
        "versions": {"gpuprims": gpuprims.__version__, "numpy": np.__version__, "python": platform.python_version()},
        "quick": quick,
        "function_calls": _counted(device),
        "calls": recorded,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or compare; returns the exit status: 1 for other variants or results, 2 for unusable files."""
    parser = argparse.ArgumentParser(prog="python -m bench.record", description=__doc__.split("\n\n")[0])
    parser.add_argument("--device", help="a spec such as cuda:0 or opencl:intel (the default device)")
    parser.add_argument("--out", type=Path, help="the file to write")
    parser.add_argument("--quick", action="store_true", help="small inputs and few rounds")
    parser.add_argument(
        "--without", action="append", default=[], metavar="TEXT", help="leave out calls named so: PoCL crashes on some"
    )
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    chosen = parser.parse_args(arguments)
    if (chosen.out is None) == (chosen.compare is None):
        parser.error("one of --out and --compare is needed")
    try:
        if chosen.compare:
            lines, same = compare(*map(load, chosen.compare))
            print("\n".join(lines))
            return int(not same)
        os.environ["GPUPRIMS_TUNING"] = "off"  # choices of `gpuprims tune` are no part of the code
        start = time.perf_counter()
        recording = record(gpuprims.Device(chosen.device), quick=chosen.quick, without=chosen.without)
    except RecordError as error:
        print(error, file=sys.stderr)
        return 2
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(recording, indent=1) + "\n")
    raised = sum("raised" in call for call in recording["calls"].values())
    taken = time.perf_counter() - start
    for name, call in recording["calls"].items():
        if any("differs" in one.get("sha256", "") for one in call.get("results", ())):
            print(f"differs from run to run: {name}")
    print(f"{chosen.out}: {len(recording['calls'])} calls, {raised} refused, {taken:.0f} s, {recording['device']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
