"""Plots: text for the terminal, and files and axes if matplotlib is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

_HEIGHT = 4  # lines


def sketch(counts: np.ndarray) -> list[str]:
    """Return a bar chart as lines of block characters, or "#" if the terminal's encoding lacks them.

    >>> for line in sketch(np.array([32, 16, 9, 1, 0])):
    ...     print(repr(line))
    '█    '
    '█    '
    '██▁  '
    '███▁ '
    """
    blocks = " ▁▂▃▄▅▆▇█"
    try:
        blocks.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        blocks = " ########"
    eighths = np.ceil(counts * (8 * _HEIGHT / max(int(counts.max(initial=0)), 1))).astype(int)
    lines = range(_HEIGHT - 1, -1, -1)
    return ["".join(blocks[full] for full in np.clip(eighths - 8 * line, 0, 8)) for line in lines]


def draw(counts: np.ndarray, edges: np.ndarray, path: Path) -> str:
    """Plot the brightness of a photograph to a PNG file; return a message with the result."""

    def paint(figure: Any) -> None:
        axes = figure.subplots()
        axes.stairs(counts, edges, fill=True, color="0.35")
        axes.set(title=f"Brightness of the photograph's {counts.sum():,} pixels")
        axes.set(xlabel="brightness (0: black, 255: white)")
        axes.set(ylabel=f"pixels in each bin of {edges[1] - edges[0]:g} levels")
        axes.set(xlim=(edges[0], edges[-1]), xticks=np.linspace(edges[0], edges[-1], 9))
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.grid(axis="y", alpha=0.4)

    return _save(path, (8, 4.5), paint)


def side_by_side(images: Sequence[np.ndarray], titles: Sequence[str], path: Path) -> str:
    """Draw images side by side to a PNG file; return a message with the result."""

    def paint(figure: Any) -> None:
        for axes, image, title in zip(figure.subplots(1, len(images)), images, titles, strict=True):
            axes.imshow(image)
            axes.set_title(title)
            axes.set_axis_off()

    return _save(path, (5 * len(images), 3.9), paint)


def loss_curve(iterations: Sequence[int], losses: Sequence[float], title: str, ax: Any) -> Any:
    """Plot losses by iteration on the given or new axes, and return these; raise ImportError without matplotlib."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure().gca()
    ax.plot(iterations, losses)
    ax.set(xlabel="iteration", ylabel="loss per sample", title=title)
    ax.grid(alpha=0.4)
    return ax


def _save(path: Path, inches: tuple[float, float], paint: Callable[[Any], None]) -> str:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return f"no {path}, which needs matplotlib: pip install 'gpuprims[bench]'"
    figure = Figure(figsize=inches, layout="constrained")
    paint(figure)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        return f"no {path}, which cannot be written: {error.strerror}"
    return f"drawn in {path}"
