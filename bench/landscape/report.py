"""The report of a landscape: percentiles of each primitive and over all, the worst calls, JSON, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..tables import seconds, text_table
from .calls import PRIMITIVES
from .known import Known
from .measure import Row

_PERCENTS = (5, 25, 50, 75)
_WORST = 25
_ABOVE = "above 1: arrays lie in a cache, are only read, or launches hide behind each other"
# A call is slower than a peer if the peer needs less than this share of its time.
_SLOWER = 1 / 1.1
_FIRST = (50, 95)
_HEADINGS = ("", "calls", "worst", *(f"{percent} %" for percent in _PERCENTS))


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the worst value and the percentiles, between neighbours where there is none."""
    if not values:
        return {}
    found = {"worst": float(min(values))}
    return found | {str(percent): float(np.percentile(values, percent)) for percent in _PERCENTS}


def slower(rows: Sequence[Row]) -> list[Row]:
    """Return the calls that the best peer does faster by more than a tenth."""
    return [row for row in rows if row.best and row.best[1] < _SLOWER]


def summary_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the percentiles of each primitive and of all."""
    groups = {name: [row for row in rows if row.primitive == name] for name in PRIMITIVES}
    return {name: _summary(group) for name, group in (groups | {"all": list(rows)}).items() if group}


def _summary(rows: Sequence[Row]) -> dict[str, Any]:
    raced, firsts = [row.best[1] for row in rows if row.best], [row.first_s for row in rows if row.timed]
    return {
        "calls": len(rows),
        "refused": sum(bool(row.refused) for row in rows),
        "wrong": sum(bool(row.wrong) for row in rows),
        "raced": len(raced),
        "slower": len(slower(rows)),
        "fraction": spread([row.fraction for row in rows if row.timed]),
        "peer": spread(raced),
        "first_s": {str(percent): float(np.percentile(firsts, percent)) for percent in _FIRST} if firsts else {},
    }


def lines(rows: Sequence[Row]) -> list[str]:
    """Return the report as lines of text."""
    found = summary_of(rows)
    above = [_ABOVE] if any(row.fraction > 1 for row in rows if row.timed) else []
    told = ["fraction of the limit", *_table(found, "fraction", "calls"), *above, ""]
    told += ["best peer's time over ours", *_table(found, "peer", "raced"), ""]
    told += ["first calls, which compile", *_first_calls(found), ""]
    total = found["all"]
    told.append(f"slower than the best peer by more than 10 %: {total['slower']} of {total['raced']}")
    for name in sorted({name for row in rows for name in row.absent}):
        told.append(f"calls that {name} does not do: {sum(name in row.absent for row in rows)} (reasons in the report)")
    told += _listed("refused", [f"{row.text}\n  {row.refused}" for row in rows if row.refused])
    told += _listed("wrong", [f"{row.text}\n  {row.wrong}" for row in rows if row.wrong])
    worst = sorted((row for row in rows if row.timed), key=lambda row: row.fraction)[:_WORST]
    return told + _listed("furthest from the limit", [_line(row) for row in worst])


def known_lines(cliffs: Sequence[Known], rows: Sequence[Row]) -> list[str]:
    """Return the table of the known calls: what was measured beside the targets, and the peers."""
    cells: list[tuple[str, ...]] = []
    for cliff, row in zip(cliffs, rows, strict=True):
        if not row.timed:
            cells.append((cliff.name, row.wrong or row.refused, "", "", ""))
            continue
        peer = f"{row.best[0]} {row.best[1]:.2f}" if row.best else ""
        measured = _in_unit(cliff.target, cliff.reached(row.bytes, row.device_s))
        cells.append((cliff.name, _in_unit(cliff.target, cliff.target), measured, f"{row.fraction:.2f}", peer))
    headings = ("call", "target", "measured", "of the limit", "best peer's time over ours")
    return text_table(headings, cells)


def _in_unit(target: float, value: float) -> str:
    return seconds(value) if target < 1 else f"{value / 1e12:.3g} TB/s"


def _table(found: dict[str, Any], measure: str, count: str) -> list[str]:
    cells = [
        (name, str(one[count]), *(f"{one[measure][key]:.3g}" for key in ("worst", *map(str, _PERCENTS))))
        for name, one in found.items()
        if one[measure]
    ]
    return text_table(_HEADINGS, cells)


def _first_calls(found: dict[str, Any]) -> list[str]:
    cells = [
        (name, *(seconds(one["first_s"][str(percent)]) for percent in _FIRST))
        for name, one in found.items()
        if one["first_s"]
    ]
    return text_table(("", *(f"{percent} %" for percent in _FIRST)), cells)


def _listed(title: str, told: Sequence[str]) -> list[str]:
    return ["", f"{title}: {len(told)}", *told]


def _line(row: Row) -> str:
    beside = f", {row.best[0]} {row.best[1]:.2f}" if row.best else ""
    times = f"{row.fraction:.3g} of the limit, {seconds(row.device_s)} of {seconds(row.floor_s)}{beside}"
    return f"{times}, {row.variants}\n  {row.text}"


def as_data(row: Row) -> dict[str, Any]:
    """Return a row for JSON."""
    timed = {"fraction": row.fraction} if row.timed else {}
    best = {"best_peer": row.best[0], "peer_over_ours": row.best[1]} if row.best else {}
    return asdict(row) | timed | best


def picture(rows: Sequence[Row], title: str, path: Path) -> bool:
    """Draw the sorted fractions of each primitive; False where matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for name in (*PRIMITIVES, "all"):
        found = sorted(row.fraction for row in rows if row.timed and name in (row.primitive, "all"))
        if found:
            style: dict[str, Any] = {"marker": ".", "alpha": 0.8}
            if name == "all":
                style = {"color": "black", "linewidth": 2.5}
            axes.plot((np.arange(len(found)) + 0.5) / len(found), found, label=f"{name}, {len(found)}", **style)
    axes.set(yscale="log", xlabel="share of the calls", ylabel="fraction of the limit", title=title)
    axes.axhline(1, color="#b03a2e", linestyle="--")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(ncols=2, fontsize="small")
    figure.savefig(path, dpi=120)
    return True
