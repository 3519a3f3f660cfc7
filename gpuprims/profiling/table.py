"""Profiles as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from gpuprims.errors import shortened
from gpuprims.profiling.records import Compile, Copy, Launch, Phase, Seen, rate

T = TypeVar("T", bound=Seen)


class DeviceSeen(NamedTuple):
    """A device of a profile, what told its times, and the bytes per second of a copy."""

    spec: str
    name: str
    clock: str
    limit: float | None


_MARKS = {
    "cache": "cache: the arrays fit in the device's cache, which is faster than its memory",
    "over": "over: faster than a copy, as launches may be that only read, or need a part of their arrays",
}


Group = tuple[str | None, Sequence[tuple[str, ...]]]


def table_of(devices: Sequence[DeviceSeen], seen: Iterable[Seen]) -> str:
    """Return the text of a profile. Devices are named beside each call if there are several."""
    kinds: dict[type[Seen], list[Any]] = {Launch: [], Copy: [], Compile: []}
    several = len(devices) > 1
    for one in seen:
        kinds[type(one)].append(replace(one, call=f"{one.call} on {one.device}") if several else one)
    parts = [[_about(device) for device in devices] or ["nothing was launched, copied or compiled"]]
    if kinds[Launch]:
        parts.append(_launches(kinds[Launch]))
    if kinds[Copy]:
        parts.append(_copies(kinds[Copy]))
    if kinds[Compile]:
        parts.append(_compiles(kinds[Compile]))
    return "\n\n".join("\n".join(part) for part in parts)


def _about(device: DeviceSeen) -> str:
    copies = "no room to measure copies" if device.limit is None else f"copies at {device.limit / 1e9:.1f} GB/s"
    return f"{device.spec} {device.name}: {copies}, times by {device.clock}"


def _grouped(heading: tuple[str, ...], groups: Sequence[Group], texts: int) -> list[str]:
    """Return aligned lines: each group's label, if any, above its rows, with ``texts`` columns before the numbers."""
    rows = [heading, *(row for _, group in groups for row in group)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = iter(_line(row, widths, texts) for row in rows)
    told = [next(lines)]
    for label, group in groups:
        told += [*([] if label is None else [label]), *islice(lines, len(group))]
    return told


def _line(row: Sequence[str], widths: Sequence[int], texts: int) -> str:
    pairs = list(zip(row, widths, strict=True))
    cells = [cell.ljust(width) for cell, width in pairs[:texts]] + [cell.rjust(width) for cell, width in pairs[texts:]]
    return "  ".join(cells).rstrip()


def _launches(launches: Sequence[Launch]) -> list[str]:
    total, marks, groups = _seconds(launches), set[str](), list[Group]()
    heading = ("call and kernel", "calls", "launches", "ms", "time", "MB/call", "GB/s", "of limit")
    for call, group in _longest_first(launches, lambda one: one.call):
        rows = list[tuple[str, ...]]()
        for kernel, some in _longest_first(group, lambda one: one.kernel):
            calls, seconds, nbytes = _calls(some), _seconds(some), _bytes_of(some)
            reached = rate(nbytes, seconds)
            mark = _mark(some, reached)
            times = f"{calls}", f"{len(some)}", f"{1e3 * seconds:.3f}", f"{seconds / max(total, 1e-9):.0%}"
            rates = f"{nbytes / calls / 1e6:.3f}", f"{reached / 1e9:.1f}", _of_limit(some[0].limit, reached, mark)
            rows.append((f"  {kernel}", *times, *rates))
            marks.add(mark)
            rows += [_of_phase(phase, seconds) for phase in _phases(some)]
        groups.append((call, rows))
    counts = f"{_calls(launches)}", f"{len(launches)}", f"{1e3 * total:.3f}"
    groups.append((None, [("total", *counts, "", "", "", "")]))
    return [*_grouped(heading, groups, 1), *(text for mark, text in _MARKS.items() if mark in marks)]


def _phases(launches: Sequence[Launch]) -> tuple[Phase, ...]:
    """Return the phases of a kernel's launches together, weighted by their time."""
    shares: defaultdict[str, float] = defaultdict(float)
    ticks: defaultdict[str, int] = defaultdict(int)
    for one in launches:
        for phase in one.phases:
            ticks[phase.name] += phase.ticks
            shares[phase.name] += phase.share * one.seconds
    whole = max(sum(shares.values()), 1e-12)
    return tuple(Phase(name, ticks[name], share / whole) for name, share in shares.items())


def _of_phase(phase: Phase, seconds: float) -> tuple[str, ...]:
    return (
        f"    {shortened(phase.name, 44)}",
        "",
        "",
        f"{1e3 * phase.share * seconds:.3f}",
        f"{phase.share:.0%}",
        "",
        "",
        "",
    )


def _calls(seen: Iterable[Seen]) -> int:
    return len({one.number for one in seen})


def _seconds(seen: Iterable[Seen]) -> float:
    return sum(one.seconds for one in seen)


def _bytes_of(launches: Sequence[Launch]) -> int:
    """Return the bytes of one kernel's launches. Passes of a call over the same arrays count once."""
    passes: defaultdict[int, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for one in launches:
        passes[one.number][one.prepared] += one.nbytes
    return sum(max(call.values()) for call in passes.values())


def _mark(launches: Sequence[Launch], reached: float) -> str:
    if all(one.in_cache for one in launches):
        return "cache"
    limit = launches[0].limit
    return "over" if limit is not None and reached > limit else ""


def _of_limit(limit: float | None, reached: float, mark: str) -> str:
    return " ".join(filter(None, ["" if limit is None else f"{reached / limit:.0%}", mark]))


def _copies(copies: Sequence[Copy]) -> list[str]:
    groups = list[Group]()
    for call, group in _longest_first(copies, lambda one: one.call):
        rows = list[tuple[str, ...]]()
        for (direction, overlapping), some in _longest_first(group, lambda one: (one.direction, one.overlapping)):
            told = f"  {direction}, overlapping" if overlapping else f"  {direction}"
            seconds, nbytes = _seconds(some), sum(one.nbytes for one in some)
            numbers = f"{1e3 * seconds:.3f}", f"{nbytes / 1e6:.3f}", f"{rate(nbytes, seconds) / 1e9:.1f}"
            rows.append((told, f"{len(some)}", *numbers))
        groups.append((call, rows))
    return _grouped(("call and copy", "copies", "ms", "MB", "GB/s"), groups, 1)


def _compiles(compiles: Sequence[Compile]) -> list[str]:
    groups = [
        (call, [(f"  {one.kernel}", one.source, f"{1e3 * one.seconds:.1f}") for one in group])
        for call, group in _longest_first(compiles, lambda one: one.call)
    ]
    return _grouped(("call and kernel", "from", "ms"), groups, 2)


def _longest_first(seen: Sequence[T], key: Any) -> Iterator[tuple[Any, list[T]]]:
    """Give the records of each key, those that took longest first."""
    groups: defaultdict[Any, list[T]] = defaultdict(list)
    for one in seen:
        groups[key(one)].append(one)
    yield from sorted(groups.items(), key=lambda item: -_seconds(item[1]))
