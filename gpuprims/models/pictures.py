"""Plots: text for the terminal, and files and axes if matplotlib is installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

_BLOCKS = "▁▂▃▄▅▆▇█"
_HEIGHT = 4  # lines


def sketch(counts: np.ndarray) -> list[str]:
    """Return a bar chart as lines of block characters, one column per count.

    Parameters
    ----------
    counts : ndarray
        Not negative; the largest fills its column.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.models.pictures import sketch
    >>> for line in sketch(np.array([32, 16, 9, 1, 0])):
    ...     print(repr(line))
    '█    '
    '█    '
    '██▁  '
    '███▁ '
    """
    eighths = np.ceil(counts * (8 * _HEIGHT / max(int(counts.max(initial=0)), 1))).astype(int)
    blocks = " " + _printable()
    lines = range(_HEIGHT - 1, -1, -1)
    return ["".join(blocks[full] for full in np.clip(eighths - 8 * line, 0, 8)) for line in lines]


def _printable() -> str:
    """Return the block characters, or "#" if the terminal's encoding lacks them."""
    try:
        _BLOCKS.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return "#" * len(_BLOCKS)
    return _BLOCKS


def draw(counts: np.ndarray, edges: np.ndarray, path: Path) -> str:
    """Plot the brightness of a photograph to a PNG file; return a message with the result.

    Parameters
    ----------
    counts, edges : ndarray
        Pixels in each bin, and the bin edges.
    path : Path
        Overwritten if it exists.
    """
    figure = _figure(8, 4.5)
    if figure is None:
        return _without(path)
    axes = figure.subplots()
    axes.stairs(counts, edges, fill=True, color="0.35")
    axes.set_title(f"Brightness of the photograph's {counts.sum():,} pixels")
    axes.set_xlabel("brightness (0: black, 255: white)")
    axes.set_ylabel(f"pixels in each bin of {edges[1] - edges[0]:g} levels")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xticks(np.linspace(edges[0], edges[-1], 9))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", alpha=0.4)
    return _save(figure, path)


def side_by_side(images: Sequence[np.ndarray], titles: Sequence[str], path: Path) -> str:
    """Draw images side by side to a PNG file; return a message with the result.

    Parameters
    ----------
    images : sequence of ndarray of uint8, of shape (rows, columns, 3)
    titles : sequence of str
    path : Path
        Overwritten if it exists.
    """
    figure = _figure(5 * len(images), 3.9)
    if figure is None:
        return _without(path)
    for axes, image, title in zip(figure.subplots(1, len(images)), images, titles, strict=True):
        axes.imshow(image)
        axes.set_title(title)
        axes.set_axis_off()
    return _save(figure, path)


def loss_curve(iterations: Sequence[int], losses: Sequence[float], title: str, ax: Any) -> Any:
    """Plot losses by iteration on the given or new axes, and return these; raise ImportError without matplotlib."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure().gca()
    ax.plot(iterations, losses)
    ax.set(xlabel="iteration", ylabel="loss per sample", title=title)
    ax.grid(alpha=0.4)
    return ax


def _figure(width: float, height: float) -> Any:
    """Return a figure of a size in inches, or None without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    return Figure(figsize=(width, height), layout="constrained")


def _without(path: Path) -> str:
    return f"no {path}, which needs matplotlib: pip install 'gpuprims[bench]'"


def _save(figure: Any, path: Path) -> str:
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        return f"no {path}, which cannot be written: {error.strerror}"
    return f"drawn in {path}"
