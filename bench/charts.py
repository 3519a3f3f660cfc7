"""A report's pictures. Each function returns a figure, or None if the report has no measurement for it."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

from .convergence_chart import convergence
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
from .tables import OVERVIEW, Line, Row, largest
from .thesis_charts import figure_8, figure_9, figure_10, figure_12, figure_13, threads

_SWEPT = ("map 2*x+1", "reduce sum", "scan sum", "histogram 256")
# The result of the article's last rung, vec4 with 256 work-items.
_ARTICLE = 70_000


def roofline(report: Report) -> Any:
    """Draw GB/s of gpuprims, the fastest peer and the memory for each case."""
    lines = largest(report)
    shown = [lines[case] for case in OVERVIEW if case in lines and lines[case].ours["gb_per_s"]]
    if not shown:
        return None
    figure = new_figure(8, 1.2 + 0.52 * len(shown))
    axes = figure.subplots()
    for place, line in enumerate(reversed(shown)):
        _bar(axes, place + 0.19, line.ours, OURS, "")
        if line.best and line.best["gb_per_s"]:
            _bar(axes, place - 0.19, line.best, PEER, line.best["contender"])
    for name, limit in report["limits"].items():
        style = {"copy": "--", "read": ":"}[name]
        rate = limit["bytes_per_s"] / 1e9
        axes.axvline(rate, color=LIMIT, linestyle=style, label=f"memory, {name}: {rate:,.0f} GB/s by {limit['by']}")
    axes.set_yticks(range(len(shown)), [_two_lines(line) for line in reversed(shown)], fontsize=7)
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.margins(x=0.14)
    axes.set_xlabel("GB/s of the bytes that must be moved (device's time)")
    add_title(figure, "gpuprims (blue), the fastest peer (grey), and the limit", report)
    add_legend(figure, [axes], 2)
    return figure


def _two_lines(line: Line) -> str:
    case = line.ours["case"]
    return f"{case}\n{line.label[len(case) + 2 :]}"


def _bar(axes: Any, place: float, row: Row, colour: str, name: str) -> None:
    axes.barh(place, row["gb_per_s"], 0.36, color=colour)
    label = f"{_rate(row['gb_per_s'])}  {name}".rstrip()
    box = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none"}  # before the lines of limits
    write_beside(axes, row["gb_per_s"], place, label, 7, color="0.2", bbox=box)


def _rate(value: float) -> str:
    """Write a value with three digits or more."""
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def throughput(report: Report) -> Any:
    """Draw GB/s by size."""
    return _swept(report, "gb_per_s", 1.0, "GB/s (device's time)", "Throughput against size")


def latency(report: Report) -> Any:
    """Draw the wall time of one call by size."""
    return _swept(report, "wall_s", 1e6, "us, launch and wait", "Latency against size")


def _swept(report: Report, key: str, scale: float, unit: str, title: str) -> Any:
    rows = [row for row in report["rows"] if row["case"] in _SWEPT]
    if len({row["size"] for row in rows}) < 2:
        return None
    figure = new_figure(8, 6.4)
    peers = dict.fromkeys(row["contender"] for row in rows if not row["ours"])
    looks = {name: (COLOURS[k % 10], MARKERS[k % 10], 1.0) for k, name in enumerate(peers)}
    ours = {"gpuprims": (OURS, "o", 2.2), "gpuprims, NumPy array": ("#6fa0dc", "s", 1.6)}
    limits = {"map 2*x+1": "copy", "scan sum": "copy", "reduce sum": "read", "histogram 256": "read"}
    panels = list(figure.subplots(2, 2).flat)
    for axes, case in zip(panels, _SWEPT, strict=True):
        for name, (colour, marker, width) in (looks | ours).items():
            points = sorted((r["size"], r[key] * scale) for r in rows if (r["case"], r["contender"]) == (case, name))
            if points:
                axes.plot(*zip(*points, strict=True), color=colour, marker=marker, ms=3, lw=width, label=name)
        if key == "gb_per_s" and limits[case] in report["limits"]:
            limit = report["limits"][limits[case]]["bytes_per_s"] / 1e9
            axes.axhline(limit, color=LIMIT, ls="--", lw=1, label="memory: copy, or read")
        axes.set(xscale="log", yscale="log", title=case)
        axes.set_xscale("log", base=2)
        axes.grid(alpha=0.3)
        axes.set_xlabel("elements, float32")
        axes.set_ylabel(unit)
    add_title(figure, title, report)
    add_legend(figure, panels, 5)
    return figure


def _ladder_lines(report: Report) -> dict[str, list[tuple[int, float]]]:
    lines: dict[str, list[tuple[int, float]]] = {}
    for point in report["series"].get("ladder", ()):
        if point["its_per_s"]:
            lines.setdefault(point["rung"], []).append((point["work_items"], point["its_per_s"]))
    return {rung: sorted(points) for rung, points in lines.items()}


def ladder(report: Report) -> Any:
    """Draw iterations per second by work-items, for each rung of the article's ladder."""
    lines = _ladder_lines(report)
    if not lines:
        return None
    figure = new_figure(8, 5.4)
    axes = figure.subplots()
    numpy = lines.pop("NumPy", None)
    for k, (rung, points) in enumerate(lines.items()):
        ours = rung == "persistent"
        colour, width = (OURS, 2.2) if ours else (COLOURS[k % 10], 1.3)
        label = "persistent, chosen by default" if ours else rung
        axes.plot(*zip(*points, strict=True), marker=MARKERS[k % 10], ms=4, color=colour, lw=width, label=label)
    if numpy:
        axes.axhline(numpy[0][1], color="0.4", ls="--", lw=1, label=f"NumPy, {numpy[0][1]:,.0f}")
    axes.axhline(_ARTICLE, color=LIMIT, ls=":", lw=1, label="the article's best, Radeon R7 M360, 70,000")
    axes.set_yscale("log")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("work-items")
    axes.set_ylabel("iterations per second (device's time)")
    axes.grid(alpha=0.3)
    add_title(figure, "Batch gradient descent, 2048 x 8, by number of work-items", report, "ladder")
    add_legend(figure, [axes], 4)
    return figure


# The article's own numbers, on a Radeon R7 M360; it draws those of the rungs between without naming them.
_ARTICLES_RUNGS = {"sequential": 500, "merged_loops": 1151, "vec4": _ARTICLE}


def rungs(report: Report) -> Any:
    """Draw the best result of each rung as a bar, with the article's own numbers beside."""
    best = {rung: max(points, key=lambda point: point[1]) for rung, points in _ladder_lines(report).items()}
    if not best:
        return None
    figure = new_figure(8, 4.2)
    axes = figure.subplots()
    names = sorted(best, key=lambda rung: best[rung][1])
    colours = [OURS if name == "persistent" else "0.4" if name == "NumPy" else "#d1701f" for name in names]
    axes.barh(names, [best[name][1] for name in names], color=colours)
    for place, name in enumerate(names):
        items, rate = best[name]
        with_items = "" if name == "NumPy" else f", {items} work-item{'s' if items > 1 else ''}"
        theirs = _ARTICLES_RUNGS.get(name, 0)
        near = rate < theirs < 8 * rate  # then the text is beyond the article's mark
        write_beside(axes, theirs if near else rate, place, f"{rate:,.0f}{with_items}", 7.5, 8 if near else 3)
    said = [(_ARTICLES_RUNGS[name], place) for place, name in enumerate(names) if name in _ARTICLES_RUNGS]
    if said:
        label = "the article's GPU, a Radeon R7 M360: fewer than 500, 1,151 and 70,000"
        axes.plot(*zip(*said, strict=True), "D", color=LIMIT, ms=5, label=label)
        add_legend(figure, [axes], 1)
    axes.set_xscale("log")
    axes.set_xlim(
        min([best[name][1] for name in names] + [rate for rate, _ in said]) / 2,
        max(best[name][1] for name in names) * 30,
    )
    axes.set_xlabel("iterations per second (device's time), each rung at its best number of work-items")
    add_title(figure, "The ladder: batch gradient descent, 2048 x 8", report, "ladder")
    return figure


# How many times as fast the articles for .NET found a kernel as the one that it improves; the last, a GPU as its CPU.
_NET_GAINS = {"grad1_ff4": 4.5, "grad1_ns4": 3, "grad2_ns_loc": 10, "NumPy": 17}


def two_kernels(report: Report) -> Any:
    """Draw the time of a gradient by each kernel of the articles for .NET, with the gains that these found."""
    points = report["series"].get("two kernels", ())
    if not points:
        return None
    figure = new_figure(8, 4.4)
    axes = figure.subplots()
    sizes = sorted({point["rows"] for point in points}, reverse=True)
    names = list(dict.fromkeys(point["kernel"] for point in points))
    for k, rows in enumerate(sizes):
        mine = {point["kernel"]: point["seconds"] * 1e6 for point in points if point["rows"] == rows}
        places = [place + 0.4 * k for place in range(len(names))]
        axes.barh(places, [mine[name] for name in names], 0.36, color=COLOURS[k], label=f"{rows:,} x 292")
        for place, name in zip(places, names, strict=True):
            write_beside(axes, mine[name], place, f"{_rate(mine[name])} us", 7)
    said = {name: f"{name}\n(article: {gain:g} x)" for name, gain in _NET_GAINS.items()}
    said |= {
        "chosen": "as gpuprims chooses",
        "NumPy": f"NumPy (article's CPU:\n{_NET_GAINS['NumPy']} x its GPU's time)",
    }
    axes.set_yticks([place + 0.2 for place in range(len(names))], [said.get(name, name) for name in names], fontsize=8)
    plain_log(axes, "x")
    axes.margins(x=0.15)
    axes.set_xlabel("us of a loss and gradient (device's time), samples transposed once")
    add_title(figure, "Two kernels, as for .NET: each adds to the one below what its name says", report, "two kernels")
    add_legend(figure, [axes], 2)
    return figure


def histogram(report: Report) -> Any:
    """Draw GB/s of each way to count bytes, and the counts lost without atomics."""
    points = report["series"].get("histogram ways", ())
    if not points:
        return None
    figure = new_figure(8, 3)
    axes = figure.subplots()
    names = {"racy": "naive, no atomics (wrong)", "chosen": "the kernel that gpuprims chooses"}
    for place, point in enumerate(reversed(points)):
        colour = {"racy": WRONG, "chosen": OURS}.get(point["way"], PEER)
        axes.barh(place, point["gb_per_s"], color=colour)
        lost = f", loses {point['lost']:.2%} of the counts" if point["way"] == "racy" else ""
        write_beside(axes, point["gb_per_s"], place, f"{_rate(point['gb_per_s'])} GB/s{lost}", 8)
    labels = [names.get(point["way"], point["way"].replace("_", " ")) for point in reversed(points)]
    axes.set_yticks(range(len(points)), labels)
    axes.set_xlim(0, 1.45 * max(point["gb_per_s"] for point in points))
    axes.set_xlabel("GB/s of bytes read")
    add_title(figure, "A histogram of bytes, 256 bins", report, "histogram ways")
    return figure


CHARTS: dict[str, Callable[[Report], Any]] = {
    "roofline": roofline,
    "throughput": throughput,
    "latency": latency,
    "ladder": ladder,
    "rungs": rungs,
    "two-kernels": two_kernels,
    "threads": threads,
    "histogram": histogram,
    "figure-8": figure_8,
    "figure-9": figure_9,
    "figure-10": figure_10,
    "figure-12": figure_12,
    "figure-13": figure_13,
    "convergence": convergence,
}
_FRAMES = 32


def pictures(report: Report) -> Iterator[tuple[str, bytes]]:
    """Draw every picture with measurements; returns file names and contents."""
    for name, draw in CHARTS.items():
        figure = draw(report)
        if figure is not None:
            yield f"{name}.png", _png(figure)
    if report["series"].get("log-likelihood"):
        yield "log-likelihood.gif", _animation(report)


def _png(figure: Any) -> bytes:
    """Return a picture with a palette, a third of the size."""
    from PIL import Image

    held, small = io.BytesIO(), io.BytesIO()
    figure.savefig(held, format="png", dpi=100)
    Image.open(held).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def _animation(report: Report) -> bytes:
    """Draw the log-likelihood rising to its maximum, like the article's animation."""
    from PIL import Image

    points = report["series"]["log-likelihood"]
    steps, values = [p["iteration"] for p in points], [p["log_likelihood"] for p in points]
    frames = []
    for frame in range(_FRAMES):
        shown = 2 + round((len(points) - 2) * frame / (_FRAMES - 1))
        figure = new_figure(5.6, 3.4)
        axes = figure.subplots()
        axes.plot(steps[:shown], values[:shown], color=OURS)
        axes.plot(steps[shown - 1], values[shown - 1], "o", color=OURS)
        low, high = min(values), max(values)
        axes.set_ylim(low - 0.05 * (high - low), high + 0.1 * (high - low))
        axes.set_xlim(0, steps[-1])
        axes.set(xlabel="iteration", ylabel="log-likelihood", title=f"iteration {steps[shown - 1]}")
        axes.grid(alpha=0.3)
        held = io.BytesIO()
        figure.savefig(held, format="png", dpi=120)
        frames.append(Image.open(held).convert("RGB").quantize(32))
    held = io.BytesIO()
    durations = [80] * (len(frames) - 1) + [1500]
    frames[0].save(held, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    return held.getvalue()
