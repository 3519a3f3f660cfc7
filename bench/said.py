"""Sentences beside the articles' pictures: the article's figure, ours on this device, and why they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .thesis import EPOCHS, FIGURE_11

Report = dict[str, Any]
Series = dict[str, Any]


def said(report: Report) -> dict[str, str]:
    """Return sentences by the name of the picture, for the figures that were measured."""
    found = {name: tell(report["series"]) for name, tell in _TELLING.items()}
    return {name: " ".join(text.split()) for name, text in found.items() if text}


def _ladder(series: Series) -> str:
    best: dict[str, float] = {}
    for point in series.get("ladder", ()):
        best[point["rung"]] = max(best.get(point["rung"], 0), point["its_per_s"] or 0)
    best = {name: rate for name, rate in best.items() if rate and name != "NumPy"}
    if not best:
        return ""
    fastest = max(best, key=lambda name: best[name])
    whole = {"sequential", "vec4"} <= best.keys()
    gain = f", and vec4 is {_times(best['vec4'] / best['sequential'])} times as fast as the first" if whole else ""
    return f"""The article's laptop GPU (Radeon R7 M360) runs fewer than 500 iterations per second by its first kernel,
        1,151 by merged loops and 70,000 by vec4. Here {fastest} is fastest with {best[fastest]:,.0f}{gain}. All
        iterations run in one group, so a device gains by short waits for memory and barriers, not by its many cores."""


def _two_kernels(series: Series) -> str:
    points = series.get("two kernels", ())
    rows = max((point["rows"] for point in points), default=0)
    each = {point["kernel"]: point["seconds"] for point in points if point["rows"] == rows}
    pairs = (("two_kernels", "grad1_ff4", "4.5"), ("grad2_tf4", "grad1_ns4", "3"), ("grad2_ns", "grad2_ns_loc", "10"))
    gains = [
        f"{new} is {_times(each[old] / each[new])} times as fast as {old} (article: {gain})"
        for old, new, gain in pairs
        if {old, new} <= each.keys()
    ]
    if {"chosen", "NumPy"} <= each.keys():
        gains.append(f"the chosen kernel {_times(each['NumPy'] / each['chosen'])} times as fast as NumPy (article: 17)")
    if not gains:
        return ""
    return f"""Of {rows:,} x 292: {", ".join(gains)}. The article times the kernel that it changes alone, and its GPU
        stalls at fetches whose addresses conflict. Here a call is timed whole, with both kernels."""


def _threads(series: Series) -> str:
    points = [point for point in series.get("thesis, Figure 11", ()) if "seconds" in point]
    names = ("kernel", "datapoints_per_block", "threads_per_datapoint")
    each = {tuple(point[name] for name in names): point["seconds"] / point["epochs"] for point in points}
    warp, linear = each.get(("warp_atomic", 2, 128)), each.get(("linear", 2, 128))
    cpu, chosen = each.get(("CPU, scikit-learn", None, None)), each.get(("as gpuprims chooses", None, None))
    if not (warp and linear and cpu and chosen):
        return ""
    theirs = min(row.ms for row in FIGURE_11 if row.datapoints and not row.exceeds) / EPOCHS
    gains = _beside(warp, linear), _beside(warp, cpu)
    return f"""With 2 datapoints of 128 threads the warp reduction takes {1e3 * warp:.3g} ms an epoch (thesis:
        {theirs:.2f}): {gains[0]} the linear reduction (thesis: 26 % faster), {gains[1]} scikit-learn's
        SGD on the CPU (thesis: 15 % faster than its own). The kernel that gpuprims chooses takes
        {1e3 * chosen:.3g} ms. The thesis' blocks change the weights all at once, in any order. Here one group takes the
        samples in order: it uses a single multiprocessor, all configurations give the same rates, and none loses
        accuracy as the thesis' 2 x 512 does. Teams of a group wait for each other at barriers, so more datapoints per
        block take longer, as in the thesis."""


def _spread(series: Series) -> str:
    points = series.get("thesis, Figure 8", ())
    if not points:
        return ""
    outs, most = sum(point["timed_out"] for point in points), max(point["epochs"] for point in points)
    return f"""The runs of the kernel that the thesis repairs spread up to time-outs of 100 epochs. Here {outs} of
        {len(points)} runs time out, and the longest takes {most} epoch{"s" if most > 1 else ""}."""


def _batches(series: Series) -> str:
    points = series.get("thesis, Figure 9", ())
    if not points:
        return ""
    outs = sorted({point["batch"] for point in points if point["timed_out"]})
    which = f"from {outs[0]:,} samples on, some runs do" if outs else "no run does"
    return f"""In the thesis all but trivial batches time out, by a fault in the reduction. Here {which}: about as many
        steps are needed for any batch, and an epoch of larger batches has fewer."""


def _errors(series: Series) -> str:
    points = series.get("thesis, Figure 10", ())
    if not points:
        return ""
    errors = [100 * point["test_error"] for point in points]
    return f"""Test errors are {min(errors):.1f} to {max(errors):.1f} % (thesis: 3.2 on the CPU, 6.4 on average). The
        thesis' mails are not public, and these counts are generated in their shape. As there, the way to optimise
        matters little."""


def _timeline(series: Series) -> str:
    points = series.get("thesis, Figure 13", ())
    copies = [point["seconds"] for point in points if point["what"] == "copy"]
    kernels = [point["seconds"] for point in points if point["what"] != "copy"]
    if not copies or not kernels:
        return ""
    return f"""The thesis copies for 10 ms and computes for 3.5 ms a launch. Here the longest copy, of the samples,
        takes {1e3 * max(copies):.3g} ms once for all epochs, and a launch up to {1e3 * max(kernels):.3g} ms: samples
        and weights stay on the device, as the thesis proposes in section 5.2."""


def _histogram(series: Series) -> str:
    told = []
    each = {point["way"]: point for point in series.get("increments", ())}
    if {"racy", "global_atomic", "chosen"} <= each.keys():
        us = {way: f"{_rounded(1e6 * point['seconds'])} us" for way, point in each.items()}
        longer = each["global_atomic"]["seconds"] / each["racy"]["seconds"]
        told.append(f"""The article adds 100,000 ones to 10 counters. Without atomics its GPU takes 1,580 us and loses
            99.75 % of them; with atomics in global memory it takes 31,400 us, 20 times as long. Here they take
            {us["racy"]} and {each["racy"]["lost"]:.1%} are lost; with atomics they take {us["global_atomic"]},
            {_times(longer)} times as long, and by the chosen kernel {us["chosen"]}.""")
    each = {point["way"]: point for point in series.get("histogram ways", ())}
    if {"racy", "chosen"} <= each.keys():
        gain = each["chosen"]["gb_per_s"] / each["racy"]["gb_per_s"]
        told.append(f"""Of the bytes in the picture the kernel without atomics loses {each["racy"]["lost"]:.1%}, and the
            chosen kernel is {_times(gain)} times as fast.""")
    return " ".join(told)


def _likelihood(series: Series) -> str:
    points = series.get("log-likelihood", ())
    if not points:
        return ""
    first, last = (f"{points[place]['log_likelihood']:,.0f}" for place in (0, -1))
    return f"""As in the article's film it rises in every iteration, from {first} to {last}. The points are drawn anew,
        so the values differ."""


def _rounded(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _times(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"


def _beside(ours: float, other: float) -> str:
    return f"{other / ours - 1:.0%} faster than" if ours <= other else f"{ours / other:.2g} times as long as"


_TELLING: dict[str, Callable[[Series], str]] = {
    "ladder": _ladder,
    "two-kernels": _two_kernels,
    "figure-8": _spread,
    "figure-9": _batches,
    "figure-10": _errors,
    "figure-12": _threads,
    "figure-13": _timeline,
    "histogram": _histogram,
    "log-likelihood": _likelihood,
}
