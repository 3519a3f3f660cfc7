"""The pictures of the thesis' figures, and the table of its Figure 11 with its own numbers beside ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import (
    COLOURS,
    LIMIT,
    MARKERS,
    OURS,
    PEER,
    WRONG,
    Report,
    add_legend,
    add_title,
    new_figure,
    plain_log,
    write_beside,
)
from .thesis import EPOCHS, FIGURE_11, Published

TABLE_HEADINGS = (
    *("kernel", "datapoints per block", "threads per datapoint", "ms an epoch", "thesis"),
    *("train TPR %", "FPR %", "error %", "test TPR %", "FPR %", "error %", "thesis' test error %"),
)
_EXCEEDS = "exceeds resources"


def _points(report: Report, number: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = report["series"].get(f"thesis, Figure {number}", [])
    return found


def _published(point: dict[str, Any]) -> Published | None:
    """Return the row of the thesis for a configuration of ours; the thesis has no times of its linear reduction."""
    asked = point["datapoints_per_block"] or 0, point["threads_per_datapoint"] or 0
    of_thesis = point["kernel"] == "warp_atomic" or point["kernel"].startswith("CPU")
    return next((row for row in FIGURE_11 if (row.datapoints, row.threads) == asked), None) if of_thesis else None


def figure_11_rows(report: Report) -> list[tuple[str, ...]]:
    """Return the cells under TABLE_HEADINGS of each configuration."""
    rows = []
    for point in _points(report, 11):
        said, asked = _published(point), (point["datapoints_per_block"], point["threads_per_datapoint"])
        named = (point["kernel"], *("-" if number is None else str(number) for number in asked))
        theirs = "-" if said is None else _EXCEEDS if said.exceeds else f"{said.ms / EPOCHS:.2f}"
        error = "-" if said is None else f"{said.test[2]:.2f}"
        if "refused" in point:
            rows.append((*named, _EXCEEDS, theirs, *("-",) * 6, error))
            continue
        rates = [
            f"{100 * point[f'{part}_{rate}']:.2f}" for part in ("train", "test") for rate in ("tpr", "fpr", "error")
        ]
        ours = f"{1e3 * point['seconds'] / point['epochs']:.3g}"
        rows.append((*named, ours, theirs, *rates, error))
    return rows


def figure_8(report: Report) -> Any:
    """Draw the spread of the times of 30 shuffled runs, each until its test error is below 5 %."""
    points = _points(report, 8)
    if not points:
        return None
    figure = new_figure(8, 3.4)
    axes = figure.subplots()
    parts = {False: ("reached 5 %", OURS), True: ("time-outs of 100 epochs", WRONG)}
    edges = np.histogram_bin_edges([1e3 * point["seconds"] for point in points], 20)  # of both, or of the one there is
    for timed_out, (label, colour) in parts.items():
        times = [1e3 * point["seconds"] for point in points if point["timed_out"] == timed_out]
        axes.hist(times, bins=edges, color=colour, label=f"{label}: {len(times)}")
    axes.set(xlabel="ms of a run until the test error is below 5 %", ylabel="runs")
    axes.yaxis.get_major_locator().set_params(integer=True)
    add_title(
        figure, f"Spread of the times of {len(points)} shuffled runs (thesis, Figure 8)", report, "thesis, Figure 8"
    )
    add_legend(figure, [axes], 2)
    return figure


def figure_9(report: Report) -> Any:
    """Draw the epochs until the error is below 5 % by batch size, and the share of time-outs."""
    points = _points(report, 9)
    if not points:
        return None
    figure = new_figure(8, 3.8)
    axes = figure.subplots()
    sizes = sorted({point["batch"] for point in points})
    for timed_out, label, colour in ((False, "reached 5 %", OURS), (True, "time-out", WRONG)):
        mine = [(sizes.index(p["batch"]), p["epochs"]) for p in points if p["timed_out"] == timed_out]
        if mine:
            axes.plot(*zip(*mine, strict=True), "o", color=colour, label=label, alpha=0.7)
    axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    plain_log(axes, "y")
    axes.set(xlabel="samples of a batch", ylabel="epochs until the error is below 5 %")
    axes.grid(alpha=0.3)
    add_title(figure, "Batch size against time-outs of 100 epochs (thesis, Figure 9)", report, "thesis, Figure 9")
    add_legend(figure, [axes], 2)
    return figure


def figure_10(report: Report) -> Any:
    """Draw the test error of each way to optimise."""
    points = _points(report, 10)
    if not points:
        return None
    figure = new_figure(8, 3.2)
    axes = figure.subplots()
    names = [point["optimiser"] for point in points]
    axes.barh(names, [100 * point["test_error"] for point in points], color=[PEER, *[OURS] * (len(names) - 1)])
    for place, point in enumerate(points):
        write_beside(axes, 100 * point["test_error"], place, f"{100 * point['test_error']:.1f} %", 8)
    axes.axvline(6.4, color=LIMIT, ls=":", label="the thesis' average, 6.4 %")
    axes.margins(x=0.15)
    axes.set_xlabel("test error in per cent, without time-outs")
    add_title(figure, "Test error by optimiser (thesis, Figure 10)", report, "thesis, Figure 10")
    add_legend(figure, [axes], 1)
    return figure


def figure_12(report: Report) -> Any:
    """Draw the time of an epoch by the total number of threads, ours and the thesis'."""
    points = [point for point in _points(report, 11) if "seconds" in point]
    if not points:
        return None
    figure = new_figure(8, 4.4)
    axes = figure.subplots()
    theirs = [(row.datapoints * row.threads, row.ms / EPOCHS) for row in FIGURE_11[1:] if not row.exceeds]
    lines = {"the thesis, 2017": theirs}
    for point in points:
        each = 1e3 * point["seconds"] / point["epochs"]
        if point["threads_per_datapoint"] is None:
            colour = PEER if point["kernel"].startswith("CPU") else OURS
            axes.axhline(each, color=colour, ls="--", label=f"{point['kernel']}, {each:.3g} ms")
        else:
            total = point["threads_per_datapoint"] * point["datapoints_per_block"]
            lines.setdefault(f"sgd/{point['kernel']}", []).append((total, each))
    for k, (name, some) in enumerate(lines.items()):
        axes.plot(*zip(*sorted(some), strict=True), MARKERS[k], color=COLOURS[k], label=name)
    axes.set_xscale("log", base=2)
    plain_log(axes, "y")
    axes.set(xlabel="threads requested: threads per datapoint x datapoints per block", ylabel="ms of an epoch")
    axes.grid(alpha=0.3, which="both")
    add_title(
        figure, "Time of an epoch against threads, 4,500 x 1,024 (thesis, Figure 12)", report, "thesis, Figure 11"
    )
    add_legend(figure, [axes], 3)
    return figure


def figure_13(report: Report) -> Any:
    """Draw when the device copied and ran kernels in a training of a few epochs."""
    points = _points(report, 13)
    if not points:
        return None
    figure = new_figure(8, 2.6)
    axes = figure.subplots()
    lanes = sorted({point["what"] for point in points}, key=lambda what: what != "copy")
    begin = min(point["start"] for point in points)
    for place, what in enumerate(lanes):
        spans = [(1e3 * (p["start"] - begin), 1e3 * p["seconds"]) for p in points if p["what"] == what]
        axes.broken_barh(spans, (place - 0.35, 0.7), color="#d1a01f" if what == "copy" else OURS)
    axes.set_yticks(range(len(lanes)), lanes)
    axes.set_xlabel("ms since the first copy, in a profile: each launch is waited for")
    add_title(figure, "Timeline of a training of 5 epochs (thesis, Figure 13)", report, "thesis, Figure 13")
    return figure


def threads(report: Report) -> Any:
    """Draw the training time by the number of requested threads."""
    points = report["series"].get("threads", ())
    if not points:
        return None
    figure = new_figure(8, 4.6)
    axes = figure.subplots()
    for k, rows in enumerate(sorted({point["datapoints_per_block"] for point in points} - {None})):
        mine = sorted(
            (point["threads_per_datapoint"] * rows, point["seconds"] * 1e3)
            for point in points
            if point["datapoints_per_block"] == rows
        )
        label = f"{rows} datapoint{'s' if rows > 1 else ''} per block"
        axes.plot(*zip(*mine, strict=True), marker=MARKERS[k % 10], ms=4, color=COLOURS[k % 10], label=label)
    for point in points:
        if point["datapoints_per_block"] is None:
            chosen = point["seconds"] * 1e3
            axes.axhline(chosen, color=OURS, ls="--", label=f"as gpuprims chooses, {chosen:.3g} ms")
    axes.set_xscale("log", base=2)
    plain_log(axes, "y")
    axes.set_xlabel("threads requested: threads per datapoint x datapoints per block")
    axes.set_ylabel("ms of training")
    axes.grid(alpha=0.3, which="both")
    shape = f"{points[0]['rows']:,} x {points[0]['features']:,} generated mail, {_epochs(points[0]['epochs'])}"
    add_title(figure, f"Stochastic gradient descent: {shape}", report, "threads")
    add_legend(figure, [axes], 3)
    return figure


def _epochs(epochs: int) -> str:
    return "1 epoch" if epochs == 1 else f"{epochs} epochs"
