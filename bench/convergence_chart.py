"""The picture of loss against time."""

from __future__ import annotations

from typing import Any

from .drawing import COLOURS, MARKERS, Report, add_legend, add_title, new_figure


def convergence(report: Report) -> Any:
    """Draw how far each solver is above the minimum, against time."""
    points = report["series"].get("loss against time", ())
    if not points:
        return None
    figure = new_figure(8, 4.6)
    axes = figure.subplots()
    for k, solver in enumerate(dict.fromkeys(point["solver"] for point in points)):
        mine = [(1e3 * point["seconds"], point["excess"]) for point in points if point["solver"] == solver]
        peer = solver == "scikit-learn"
        colour = "0.4" if peer else COLOURS[k % 10]
        style = {"ls": "--" if peer else "-", "marker": MARKERS[k % 10], "ms": 3.5, "color": colour}
        axes.plot(*zip(*mine, strict=True), label=solver, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("ms since the start of the fit")
    axes.set_ylabel("objective above the minimum, relative to it")
    axes.grid(alpha=0.3, which="both")
    add_title(figure, f"Loss against time, {points[0]['rows']:,} x 100 float32", report, "loss against time")
    add_legend(figure, [axes], 4)
    return figure
