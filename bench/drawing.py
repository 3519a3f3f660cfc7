"""Colours, titles and legends that all pictures of a report share."""

from __future__ import annotations

import textwrap
from typing import Any

Report = dict[str, Any]

OURS, PEER, LIMIT, WRONG = "#1f4e9c", "#9aa4b0", "#b03a2e", "#d98880"
# Colours and markers of peers and rungs.
COLOURS = (
    "#d1701f",
    "#2e8b57",
    "#8e44ad",
    "#c0392b",
    "#7f6a4d",
    "#16808a",
    "#b0508c",
    "#6b8e23",
    "#555555",
    "#3f77c4",
)
MARKERS = "osv^D<>pX*"


def new_figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plain_log(axes: Any, axis: str) -> None:
    """Scale an axis by logarithms, with ticks at 1, 2 and 5 of each power of ten, written without powers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set(**{f"{axis}scale": "log"})
    where = getattr(axes, f"{axis}axis")
    where.set_major_locator(LogLocator(subs=(1, 2, 5)))
    where.set_major_formatter(StrMethodFormatter("{x:,g}"))
    where.set_minor_formatter(NullFormatter())


def on(report: Report, series: str | None = None) -> str:
    """Say on what and when a report was measured, or one of its series, which may be newer."""
    device = report["device"]
    date = report.get("series_dates", {}).get(series, report["date"])
    runtime = f", {device['platform'].split(',')[0]}" if device["kind"] == "cpu" else ""
    return f"{device['name']}{runtime}, {device['backend']}, {date}"


def write_beside(
    axes: Any, value: float, place: int | float, text: str, size: float, points: int = 3, **how: Any
) -> None:
    """Write a text to the right of a bar's end; spaces before it would vanish in a browser."""
    at = {"xytext": (points, 0), "textcoords": "offset points", "va": "center", "fontsize": size}
    axes.annotate(text, (value, place), **at, **how)


def add_title(figure: Any, text: str, report: Report, series: str | None = None) -> None:
    """Write a title over the whole figure, in lines that fit: names of devices may be longer than the axes."""
    lines = [line for part in (text, on(report, series)) for line in textwrap.wrap(part, 90)]
    figure.suptitle("\n".join(lines), fontsize=10)


def add_legend(figure: Any, axes: Any, columns: int) -> None:
    """Write one legend under all axes, with each name once."""
    named: dict[str, Any] = {}
    for one in axes:
        handles, labels = one.get_legend_handles_labels()
        named |= {label: handle for handle, label in zip(handles, labels, strict=True) if label not in named}
    figure.legend(named.values(), named, fontsize=7.5, loc="outside lower center", ncols=columns)
