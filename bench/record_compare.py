"""Two recordings of ``bench.record`` side by side: what is lost, chosen otherwise, computed otherwise, or slower."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .tables import seconds

FORMAT = 1
# A time is slower, or faster, beyond this factor; a first call, measured once, also by so many seconds.
BAND, FIRST_BAND = 1.25, 1e-3

Recording = dict[str, Any]


class RecordError(ValueError):
    """A file that is no recording, or two that cannot be compared."""


def load(path: Path) -> Recording:
    """Read a recording.

    Raises
    ------
    RecordError
        The file is of another format.
    """
    try:
        read: Recording = json.loads(path.read_text())
        if read["format"] != FORMAT:
            raise ValueError(f"format {read['format']!r}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{path}: a recording of format {FORMAT}; got {error!r}") from error
    return read


def compare(before: Recording, after: Recording) -> tuple[list[str], bool]:
    """Return lines that tell what differs between two recordings, and whether calls still do the same.

    Raises
    ------
    RecordError
        The recordings are of different devices, or only one is quick.
    """
    for key in ("device", "quick"):
        if before[key] != after[key]:
            raise RecordError(f"compare: recordings of the same {key}; got {before[key]!r} and {after[key]!r}")
    old, new = before["calls"], after["calls"]
    both = [name for name in old if name in new]
    lost, added = [name for name in old if name not in new], [name for name in new if name not in old]
    sets = {name: (set(old[name]["variants"]), set(new[name]["variants"])) for name in both}
    variants = [name for name, (one, other) in sets.items() if not (one <= other or other <= one)]
    unseen = sum(one != other for one, other in sets.values()) - len(variants)
    blind = any(one for one, _ in sets.values()) and not any(other for _, other in sets.values())
    results = [name for name in both if any(old[name].get(key) != new[name].get(key) for key in ("results", "raised"))]
    lines = [
        f"calls             {len(both)} in both",
        *_section("only before", lost),
        *_section("only after", added),
        *_section("variants differ", [f"{name}: {_listed(old[name])} -> {_listed(new[name])}" for name in variants]),
        f"choices unseen    {unseen} in one of the two, where a call like it was made before",
        *(["after: Device.select chose no variant of any call"] if blind else []),
        *_section("results differ", [f"{name}: {_change(old[name], new[name])}" for name in results]),
    ]
    timed = [name for name in both if "seconds" in old[name] and "seconds" in new[name]]
    lines += _times(old, new, timed) + _first_calls(old, new, timed) + _function_calls(before, after)
    return lines, not (lost or variants or results or blind)


def _section(title: str, entries: Sequence[str]) -> list[str]:
    return [f"{title:18}{len(entries)}", *(f"  {entry}" for entry in entries)]


def _listed(call: dict[str, Any]) -> str:
    return ", ".join(call["variants"]) or "none"


def _change(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Return how results differ: by what they are, or only by their bytes."""
    kinds = [
        call.get("raised") or ", ".join(f"{one['type']} {one['dtype']}{one['shape']}" for one in call["results"])
        for call in (old, new)
    ]
    return "other bytes" if kinds[0] == kinds[1] else " -> ".join(kinds)


def _times(old: dict[str, Any], new: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return the warm calls beyond the band; both the median and the least time must be, since machines are busy."""
    ratios = {}
    for name in names:
        both = [new[name][key] / old[name][key] for key in ("seconds", "least")]
        ratios[name] = min(both) if min(both) > 1 else max(both) if max(both) < 1 else 1.0
    slower = sorted((name for name in names if ratios[name] > BAND), key=lambda name: -ratios[name])
    faster = sum(ratio < 1 / BAND for ratio in ratios.values())
    told = [f"{ratios[name]:5.2f}  {_pair(old, new, name, 'seconds')}  {name}" for name in slower]
    leasts = [new[name]["least"] / old[name]["least"] for name in names]
    return [*_section(f"slower, > {BAND}", told), f"faster            {faster}", _mean("times", leasts)]


def _first_calls(old: dict[str, Any], new: dict[str, Any], names: Sequence[str]) -> list[str]:
    ratios = {name: new[name]["first"] / old[name]["first"] for name in names}
    slower = [name for name in names if ratios[name] > BAND and new[name]["first"] - old[name]["first"] > FIRST_BAND]
    told = [f"{ratios[name]:5.2f}  {_pair(old, new, name, 'first')}  {name}" for name in slower]
    sums = [seconds(sum(one[name]["first"] for name in names)) for one in (old, new)]
    all_of_them = f"first calls, sum  {sums[0]} -> {sums[1]}"
    return [*_section("first, > 1.25", told), all_of_them, _mean("first calls", list(ratios.values()))]


def _pair(old: dict[str, Any], new: dict[str, Any], name: str, key: str) -> str:
    return f"{seconds(old[name][key]):>9} -> {seconds(new[name][key]):>9}"


def _mean(title: str, ratios: Sequence[float]) -> str:
    mean = math.exp(statistics.fmean(map(math.log, ratios))) if ratios else 1.0
    return f"{title + ', mean':18}{mean:.3f} (geometric, after / before)"


def _function_calls(before: Recording, after: Recording) -> list[str]:
    lines = ["functions called by a warm call, Python (C)"]
    for name, (python, c) in before["function_calls"].items():
        now = after["function_calls"].get(name)
        lines.append(f"  {name:28}{python} ({c}) -> " + (f"{now[0]} ({now[1]})" if now else "none"))
    return lines
