"""The charts of the site, drawn from the reports in bench/results as SVG whose colours follow the page."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from bench import charts

Report = dict[str, Any]

_RESULTS = Path(__file__).parents[2] / "bench" / "results"
_INK, _PAPER = "#010203", "#040506"
# What a chart draws, and what the page shows in its place.
_COLOURS = {
    _INK: "currentColor",
    "#333333": "currentColor",
    "#000000": "currentColor",
    _PAPER: "var(--pst-color-background)",
    "#ffffff": "var(--pst-color-background)",
    "#1f4e9c": "var(--gp-ours)",
    "#555555": "var(--pst-color-text-muted)",
}
_STYLE = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK),
    "axes.facecolor": _PAPER,
    "legend.facecolor": _PAPER,
    "svg.fonttype": "none",
    "svg.hashsalt": "gpuprims",
    "font.family": "sans-serif",
}
_SWEEPS = ("histogram", "throughput", "latency")
_PAGES = {
    "h200": ("cuda-nvidia-h200", ("ladder", "rungs", "two-kernels", "threads", "figure-12", "convergence", *_SWEEPS)),
    "cpu": ("opencl-amd-epyc-intel", ("ladder", "threads", "figure-12", "convergence", *_SWEEPS)),
}


def write(folder: Path) -> None:
    """Draw every chart into a folder."""
    with mpl.rc_context(_STYLE):
        for name, figure in _figures():
            (folder / f"chart-{name}.svg").write_text(_svg(figure), encoding="utf-8")


def _figures() -> Iterator[tuple[str, Figure]]:
    reports = {place: json.loads((_RESULTS / f"{file}.json").read_text()) for place, (file, _) in _PAGES.items()}
    for place, (_, names) in _PAGES.items():
        for name in names:
            if (figure := charts.CHARTS[name](reports[place])) is not None:  # None if no run has measured it
                yield f"{name}-{place}", figure
    yield "log-likelihood", _log_likelihood(reports["h200"])
    yield "when-a-gpu-pays", _when_a_gpu_pays(reports["h200"], reports["cpu"])
    yield "scaling-h200", _scaling(json.loads((_RESULTS / "scaling-nvidia-h200.json").read_text()))


def _svg(figure: Figure) -> str:
    """Return a figure with the page's colours, as wide as its place."""
    # Smaller than in a report, so that letters are larger beside it.
    figure.set_size_inches(figure.get_size_inches() * 0.8)
    held = io.StringIO()
    figure.savefig(held, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None})
    text = held.getvalue()
    for drawn, shown in _COLOURS.items():
        text = text.replace(drawn, shown)
    return re.sub(r'(<svg [^>]*?)width="[^"]*" |(<svg [^>]*?)height="[^"]*" ', r"\1\2", text)


def _log_likelihood(report: Report) -> Figure:
    """Draw the log-likelihood of the article's regression after each iteration."""
    points = report["series"]["log-likelihood"]
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot([p["iteration"] for p in points], [p["log_likelihood"] for p in points], color="#1f4e9c")
    axes.set(xlabel="iteration", ylabel="log-likelihood")
    axes.grid(alpha=0.3)
    return figure


def _when_a_gpu_pays(gpu: Report, cpu: Report) -> Figure:
    """Draw the time of a running sum by size: on two CPU cores, on a GPU, and on a GPU with the way there and back."""
    case, bytes_per_s = "scan sum", 25e9  # each way, as docs/performance.md says

    def times(report: Report, contender: str) -> tuple[list[int], list[float]]:
        rows = [r for r in report["rows"] if r["case"] == case and r["contender"] == contender]
        rows.sort(key=lambda row: row["size"])
        return [row["size"] for row in rows], [row["wall_s"] * 1e6 for row in rows]

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.loglog(*times(cpu, "NumPy"), "o-", color="#d1701f", label="NumPy, one CPU core", markersize=4)
    axes.loglog(*times(cpu, "gpuprims"), "s-", color="#2e8b57", label="gpuprims, two CPU cores", markersize=4)
    sizes, on_device = times(gpu, "gpuprims")
    way = [time + 2 * 4 * size / bytes_per_s * 1e6 for size, time in zip(sizes, on_device, strict=True)]
    axes.loglog(sizes, way, "--", color="#1f4e9c", label="gpuprims, H200, and 25 GB/s each way (computed)")
    axes.loglog(sizes, on_device, "D-", color="#1f4e9c", label="gpuprims, H200, array on the device", markersize=4)
    axes.set(xlabel="float32 elements of a running sum", ylabel="microseconds a call, with the wait")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return figure


def _scaling(report: Report) -> Figure:
    """Draw how many times one device's rate several devices reach: as many elements on each, and shared elements."""
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    titles = {"weak": "as many elements on each device", "strong": "the devices share the elements"}
    most = max(row["devices"] for row in report["rows"])
    for axes, (kind, title) in zip(figure.subplots(1, 2, sharey=True), titles.items(), strict=True):
        axes.plot([1, most], [1, most], ":", color="#555555", label="perfect")
        rows = [row for row in report["rows"] if row["kind"] == kind and row["work"] != "LogReg"]
        marks = zip(dict.fromkeys(row["work"] for row in rows), "osD^v", strict=False)
        for work, mark in marks:
            own = sorted((row for row in rows if row["work"] == work), key=lambda row: row["devices"])
            counts = [1, *(row["devices"] for row in own)]
            factor = [row["devices"] if kind == "weak" else 1 for row in own]
            rates = [1, *(n * row["alone"] / row["together"] for n, row in zip(factor, own, strict=True))]
            axes.plot(counts, rates, f"{mark}-", label=work, markersize=4)
        axes.set(xlabel=f"devices; {title}", xticks=sorted({row["devices"] for row in rows} | {1}))
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("times one device's rate")
    figure.axes[0].legend(fontsize=8)
    return figure
