"""Tables of a report: each case with its best peer and the limit, and each target with its result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuprims.cli.terminal import table, text_of

from .targets import verdicts

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

Row = dict[str, Any]


# The cases of an overview, in order, each at the largest measured size.
OVERVIEW = (
    "map 2*x+1", "reduce sum", "reduce argmax", "scan sum", "histogram 256", "histogram 16384",
    "histogram 256 of bytes", "blur cross", "blur box 9", "blur gaussian 2", "blur cross of bytes",
    "logistic gradient, 100 features", "logistic gradient, 1024 features",
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A case at a size: gpuprims' row, the fastest peer's row or None, and the other rows."""

    label: str
    ours: Row
    best: Row | None
    others: tuple[Row, ...]

    clock: str

    @property
    def ratio(self) -> float | None:
        """The speed of gpuprims relative to the best peer."""
        return None if self.best is None else float(self.best[self.clock] / self.ours[self.clock])


def lines_of(report: dict[str, Any]) -> list[Line]:
    """Return a line for each case and size, in the order of measurement."""
    groups: dict[tuple[str, int, str], list[Row]] = {}
    for row in report["rows"]:
        groups.setdefault((row["case"], row["size"], row["label"]), []).append(row)
    return [_line(label, rows) for (_, _, label), rows in groups.items() if any(row["ours"] for row in rows)]


def largest(report: dict[str, Any]) -> dict[str, Line]:
    """Return the line of each case at the largest measured size."""
    return {line.ours["case"]: line for line in sorted(lines_of(report), key=lambda line: float(line.ours["size"]))}


def _line(label: str, rows: list[Row]) -> Line:
    # If one of them has no device time, compare whole calls.
    clock = "wall_s" if any(row["clock"] == "host clock" for row in rows) else "device_s"
    ours = next(row for row in rows if row["ours"])
    best = min((row for row in rows if not row["ours"]), key=lambda row: row[clock], default=None)
    return Line(label, ours, best, tuple(row for row in rows if row is not ours and row is not best), clock)


def speed(row: Row) -> str:
    """Return a row's speed in a suitable unit."""
    if row["steps"] > 1:
        return f"{row['steps'] / row['wall_s']:,.0f} it/s"
    rate = row["gb_per_s"]
    if rate is None:
        return seconds(row["wall_s"])
    return per_second(rate)


def per_second(gigabytes: float) -> str:
    """Return a rate in a suitable unit."""
    return f"{gigabytes / 1000:.2f} TB/s" if gigabytes >= 1000 else f"{gigabytes:.3g} GB/s"


def seconds(value: float) -> str:
    """Return a time in a suitable unit."""
    unit, size = next((one for one in (("s", 1.0), ("ms", 1e-3)) if value >= one[1]), ("us", 1e-6))
    return f"{value / size:.3g} {unit}"


def percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def share(row: Row, cache: int | None) -> str:
    """Return the part of the limit that a row reaches, with a word of MARKS where the memory does not bound it."""
    fraction = row["fraction"]
    if fraction is None:
        return ""
    if cache is not None and row["bytes"] <= cache:
        return f"{percent(fraction)}, cache"
    return f"{percent(fraction)}, above" if round(fraction, 2) > 1 else percent(fraction)


MARKS = {
    "cache": "the data fit in the device's cache, which is faster than the memory that the limit is of",
    "above": "the data lie in a cache in part, or the memory was faster than while its limit was measured",
}

HEADINGS = ("case", "speed", "device", "waited for", "of the limit", "best peer", "its speed", "x peer")


def cells(line: Line, cache: int | None = None) -> tuple[str, ...]:
    """Return the cells of a line, under HEADINGS; ``cache`` is the size of the device's cache in bytes."""
    ours, best = line.ours, line.best
    peer = (best["contender"], speed(best), f"{line.ratio:.2f}") if best else ("", "", "")
    times = seconds(ours["device_s"]), seconds(ours["wall_s"])
    return (line.label, speed(ours), *times, share(ours, cache), *peer)


def legend(shares: Iterable[str]) -> list[str]:
    """Return the meaning of each word of MARKS in a column of :func:`share`."""
    used = {text.partition(", ")[2] for text in shares}
    return [f"{word}: {meaning}" for word, meaning in MARKS.items() if word in used]


TARGET_HEADINGS = ("target", "bound", "measured", "")


def target_cells(report: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for each target of the device that was measured."""
    found: list[tuple[str, ...]] = []
    for verdict in verdicts(report):
        target, got = verdict.target, verdict.got
        if got is None:
            continue
        unit = "x" if target.measure.startswith("x ") else target.measure
        case = f"{target.case}, {_size(target.size)}"
        found.append((case, str(target), f"{got:,.3g} {unit}", verdict.word))
    return found


def _size(size: int) -> str:
    power = size.bit_length() - 1
    return f"2^{power}" if size == 1 << power and power > 11 else f"{size:,}"


def aligned(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table of numbers: all columns but the first are aligned right."""
    return table(headings, rows, right=headings[1:], fold=headings[:1])


def text_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of such a table."""
    return text_of(aligned(headings, rows)).splitlines()


def summary(report: dict[str, Any]) -> list[RenderableType]:
    """Return the summary of a run: limits, cases, targets, and absent peers."""
    parts: list[RenderableType] = [
        f"limit: {name} {limit['bytes_per_s'] / 1e9:,.1f} GB/s by {limit['by']}"
        for name, limit in report["limits"].items()
    ]
    lines = lines_of(report)
    rows = [cells(line, report["device"].get("cache")) for line in lines]
    rows = [(row[0].removesuffix(" float32"), *row[1:]) for row in rows]
    shown = len(HEADINGS) if any(line.best for line in lines) else HEADINGS.index("best peer")
    if rows:
        parts += ["", aligned(HEADINGS[:shown], (row[:shown] for row in rows))]
    if report["series"]:
        parts += ["", f"figures, which --html draws: {'; '.join(report['series'])}"]
    if words := legend(row[HEADINGS.index("of the limit")] for row in rows):
        parts += ["", *words]
    if targets := target_cells(report):
        parts += ["", aligned(TARGET_HEADINGS, targets)]
    return [*parts, *(["", *report["absent"].values()] if report["absent"] else [])]
