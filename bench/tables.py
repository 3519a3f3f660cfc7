"""Tables of a report: each case with its best peer and the limit, and each target with its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .targets import verdicts

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


HEADINGS = ("case", "speed", "device", "waited for", "of the limit", "best peer", "its speed", "x peer")


def cells(line: Line) -> tuple[str, ...]:
    """Return the cells of a line, under HEADINGS."""
    ours, best = line.ours, line.best
    peer = (best["contender"], speed(best), f"{line.ratio:.2f}") if best else ("", "", "")
    times = seconds(ours["device_s"]), seconds(ours["wall_s"])
    return (line.label, speed(ours), *times, percent(ours["fraction"]), *peer)


TARGET_HEADINGS = ("target", "bound", "measured", "")


def target_cells(report: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for each target of the device."""
    found: list[tuple[str, ...]] = []
    for verdict in verdicts(report):
        target, got = verdict.target, verdict.got
        unit = "x" if target.measure.startswith("x ") else target.measure
        case = f"{target.case}, {_size(target.size)}"
        found.append((case, str(target), "" if got is None else f"{got:,.3g} {unit}", verdict.word))
    return found


def _size(size: int) -> str:
    power = size.bit_length() - 1
    return f"2^{power}" if size == 1 << power and power > 11 else f"{size:,}"


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return aligned lines; all columns but the first are aligned right."""
    widths = [max(len(row[k]) for row in (headings, *rows)) for k in range(len(headings))]
    return [
        "  ".join(
            cell.rjust(width) if k else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (headings, *rows)
    ]


def summary(report: dict[str, Any]) -> list[str]:
    """Return the summary of a run: limits, cases, targets, and absent peers."""
    limits = [
        f"limit: {name} {limit['bytes_per_s'] / 1e9:,.1f} GB/s by {limit['by']}"
        for name, limit in report["limits"].items()
    ]
    lines = [*limits, "", *text_table(HEADINGS, [cells(line) for line in lines_of(report)])]
    if targets := target_cells(report):
        lines += ["", *text_table(TARGET_HEADINGS, targets)]
    return [*lines, "", *report["absent"].values()]
