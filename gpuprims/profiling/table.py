"""Profiles as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from gpuprims.profiling.records import Compile, Copy, Launch, Seen, rate

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


def table_of(devices: Sequence[DeviceSeen], seen: Iterable[Seen]) -> str:
    """Return the text of a profile."""
    kinds: dict[type[Seen], list[Any]] = {Launch: [], Copy: [], Compile: []}
    for one in seen:
        kinds[type(one)].append(one)
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


def aligned(rows: Sequence[Sequence[str]], texts: int) -> list[str]:
    """Return lines with aligned columns: so many of text, and numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k < texts else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _launches(launches: Sequence[Launch]) -> list[str]:
    total, marks = _seconds(launches), set[str]()
    rows = [("call", "kernel", "device", "calls", "launches", "ms", "time", "MB/call", "GB/s", "of limit")]
    for (call, device), group in _longest_first(launches, lambda one: (one.call, one.device)):
        shown = call
        for kernel, some in _longest_first(group, lambda one: one.kernel):
            calls, seconds, nbytes = _calls(some), _seconds(some), _bytes_of(some)
            reached = rate(nbytes, seconds)
            mark = _mark(some, reached)
            times = f"{calls}", f"{len(some)}", f"{1e3 * seconds:.3f}", f"{seconds / max(total, 1e-9):.0%}"
            rates = f"{nbytes / calls / 1e6:.3f}", f"{reached / 1e9:.1f}", _of_limit(some[0].limit, reached, mark)
            rows.append((shown, kernel, device, *times, *rates))
            marks.add(mark)
            shown = ""
    rows.append(("total", "", "", f"{_calls(launches)}", f"{len(launches)}", f"{1e3 * total:.3f}", "", "", "", ""))
    return [*aligned(rows, 3), *(text for mark, text in _MARKS.items() if mark in marks)]


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
    rows = [("call", "copy", "device", "copies", "ms", "MB", "GB/s")]
    groups = _longest_first(copies, lambda one: (one.call, one.direction, one.device, one.overlapping))
    for (call, direction, device, overlapping), some in groups:
        told = f"{direction}, overlapping" if overlapping else direction
        seconds, nbytes = _seconds(some), sum(one.nbytes for one in some)
        numbers = f"{1e3 * seconds:.3f}", f"{nbytes / 1e6:.3f}", f"{rate(nbytes, seconds) / 1e9:.1f}"
        rows.append((call, told, device, f"{len(some)}", *numbers))
    return aligned(rows, 3)


def _compiles(compiles: Sequence[Compile]) -> list[str]:
    rows = [("call", "kernel", "device", "from", "ms")]
    rows += [(one.call, one.kernel, one.device, one.source, f"{1e3 * one.seconds:.1f}") for one in compiles]
    return aligned(rows, 4)


def _longest_first(seen: Sequence[T], key: Any) -> Iterator[tuple[Any, list[T]]]:
    """Give the records of each key, those that took longest first."""
    groups: defaultdict[Any, list[T]] = defaultdict(list)
    for one in seen:
        groups[key(one)].append(one)
    yield from sorted(groups.items(), key=lambda item: -_seconds(item[1]))
