"""The host's cost of calls on 1,000 elements: Python calls, time by part, warm calls beside peers, and first calls.

``python -m bench.host_calls`` prints the tables of docs/host-overhead.md about an OpenCL CPU; with
``GPUPRIMS_C_MODULES=off`` those without C. ``python -m bench.host_calls warm`` and ``first`` measure any device, and
``sizes`` compares calls on NumPy arrays of several sizes with NumPy's; a file ending in ``.json`` gets the figures, any
other the tables.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import statistics
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import gpuprims

from .first_calls import first_calls
from .measuring import wall_times
from .small_calls import CASES, Call, arrays, number_calls, peer_call, peers

_CALLS, _ROUNDS, _WAITED = 200, 15, 200
_SIZES = 1000, 4096, 16384
Row = dict[str, Any]


def calls_of(name: str, device: gpuprims.Device) -> dict[str, Call]:
    """Return a call on an array of the device, one on a NumPy array, and both by plans."""
    case, found = CASES[name], dict[str, Call]()
    there = {one: device.asarray(array) for one, array in arrays().items()}
    for label, given in (("device", there), ("NumPy", arrays())):
        found[label] = case.call(given)
        if case.planned:
            found[f"{label}, plan"] = case.plan(given)
    return found


def python_calls(call: Call) -> int:
    """Return how many functions of Python a call runs, without its own frame: the least of a few."""
    return min(len(_frames(call)) for _ in range(5)) - 1


def _frames(call: Call) -> list[str]:
    seen = list[str]()

    def hook(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name)

    sys.setprofile(hook)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def times(calls: dict[str, Call]) -> dict[str, float]:
    """Return microseconds a call, the medians of rounds in which the calls take turns."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(_ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(_CALLS):
                call()
            found[name].append((time.perf_counter() - start) / _CALLS * 1e6)
    return {name: statistics.median(walls) for name, walls in found.items()}


def parts(name: str, device: gpuprims.Device) -> dict[str, float]:
    """Return the functions of Python that take most of a call on a NumPy array, as shares of its time."""
    call, profile = calls_of(name, device)["NumPy"], cProfile.Profile()
    for _ in range(_CALLS):
        call()
    profile.enable()
    for _ in range(_CALLS):
        call()
    profile.disable()
    stats: Any = pstats.Stats(profile)
    own = {where[2]: line[2] for where, line in stats.stats.items() if where[0] != __file__}
    longest = sorted(own, key=lambda function: -own[function])[:4]
    return {function: own[function] / stats.total_tt for function in longest}


def costs(device: gpuprims.Device) -> str:
    """Return the tables of Python calls, time, and functions that take most of it."""
    labels = ("device", "device, plan", "NumPy", "NumPy, plan")
    lines = [f"| Python calls | {' | '.join(labels)} |", f"| --- | {'--- | ' * len(labels)}"]
    with gpuprims.use_device(device):
        for name in CASES:
            own = calls_of(name, device)
            for call in own.values():
                for _ in range(20):
                    call()
            device.synchronize()
            counts = (python_calls(own[label]) if label in own else "" for label in labels)
            lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
        lines += ["", f"| us a call | {' | '.join(labels)} |", f"| --- | {'--- | ' * len(labels)}"]
        for name in CASES:
            found = times(calls_of(name, device))
            device.synchronize()
            lines.append(f"| {name} | {' | '.join(_us(found.get(label)) for label in labels)} |")
        lines += ["", "| NumPy, by functions | share of the time |", "| --- | --- |"]
        for name in CASES:
            said = ", ".join(f"{function} {share:.0%}" for function, share in parts(name, device).items())
            lines.append(f"| {name} | {said} |")
    return "\n".join(lines)


def _us(number: float | None) -> str:
    return "" if number is None else f"{number:.1f}"


def warm_calls(device: gpuprims.Device) -> list[Row]:
    """Return microseconds of each warm call, waited for, by gpuprims, by a plan and by peers, the medians."""
    there = {name: device.asarray(array) for name, array in arrays().items()}
    beside, rows, first = peers(device), list[Row](), 0.0
    cases = {name: _contenders(name, device, there, beside) for name in CASES}
    for name, calls in (cases | {"float(reduce)": number_calls(device, beside)}).items():
        walls = wall_times(calls, _WAITED, device.synchronize)
        row = {label: 1e6 * statistics.median(one) for label, one in walls.items()}
        first = first or row["gpuprims"]
        rows.append({"call": name, "of reduce": row["gpuprims"] / first, **row})
    return rows


def _contenders(
    name: str, device: gpuprims.Device, there: dict[str, Any], beside: dict[str, tuple[Any, dict[str, Any]]]
) -> dict[str, Call]:
    case = CASES[name]
    calls = {"gpuprims": case.call(there)}
    if case.planned:
        calls["gpuprims, plan"] = case.plan(there)
    if device.capabilities.kind == "cpu":
        calls["gpuprims, NumPy array"] = case.call(arrays(), device=device)
    for peer, (module, given) in beside.items():
        call = peer_call(case, peer, module, given)
        if call is not None:
            calls[peer] = call
    return calls


def sizes(device: gpuprims.Device) -> list[Row]:
    """Return microseconds of each warm call on NumPy arrays of 1,000 elements, and NumPy's time over ours for more."""
    rows = list[Row]()
    for name, case in CASES.items():
        row: Row = {"call": name}
        for size in _SIZES:
            given = arrays(size)
            theirs = peer_call(case, "NumPy", np, given)
            if theirs is None:
                break
            calls = {"gpuprims": case.call(given, device=device), "NumPy": theirs}
            walls = wall_times(calls, _WAITED, device.synchronize)
            ours, peer = (1e6 * statistics.median(walls[label]) for label in calls)
            row |= {"us": ours, "NumPy": peer} if size == _SIZES[0] else {}
            row[f"NumPy / ours, {size:,}"] = round(peer / ours, 2)
        if len(row) > 1:
            rows.append(row)
    return rows


def table(rows: list[Row]) -> str:
    """Return rows as a table, whose columns are those of any row."""
    labels = list(dict.fromkeys(label for row in rows for label in row))
    lines = [f"| {' | '.join(labels)} |", f"| {'--- | ' * len(labels)}"]
    for row in rows:
        cells = (_figure(row[one]) if isinstance(row.get(one), float) else str(row.get(one, "")) for one in labels)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _figure(number: float) -> str:
    return f"{number:.1f}" if number >= 1 else f"{number:.2f}"


def main() -> None:
    """Print the tables that are asked for, or write them to a file."""
    parser = argparse.ArgumentParser(prog="python -m bench.host_calls")
    parser.add_argument("what", nargs="?", choices=("costs", "warm", "first", "sizes"), default="costs")
    parser.add_argument("--device", default="opencl:cpu", help="the device to measure (default opencl:cpu)")
    parser.add_argument("--jobs", type=int, default=1, help="first calls to measure at the same time (default 1)")
    parser.add_argument("--output", type=Path, help="a file for the tables, or, if its name ends in .json, the figures")
    given = parser.parse_args()
    device = gpuprims.Device(given.device)
    able = device.capabilities
    said = f"{given.what} calls of {able.name}, {able.driver}, gpuprims {gpuprims.__version__}"
    rows: list[Row] = []
    if given.what == "costs":
        text = costs(device)
    else:
        measured = {"warm": warm_calls, "sizes": sizes}.get(given.what)
        rows = measured(device) if measured else first_calls(device.spec, CASES, given.jobs)
        text = f"{table(rows)}\n\n{'Microseconds' if measured else 'Milliseconds'} a call."
    if given.output is None:
        print(f"{said}\n\n{text}")
    elif given.output.suffix == ".json" and rows:
        given.output.write_text(json.dumps({"measured": said, "rows": rows}, indent=1) + "\n")
    else:
        given.output.write_text(f"{said}\n\n{text}\n")


if __name__ == "__main__":
    main()
