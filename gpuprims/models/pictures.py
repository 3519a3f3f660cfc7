"""Pictures: a sketch for the terminal, and files and axes where matplotlib is installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

_BLOCKS = "▁▂▃▄▅▆▇█"
_HEIGHT = 4  # lines


def sketch(counts: np.ndarray) -> list[str]:
    """Return lines of block characters, a column for each count; the highest is a whole column.

    Parameters
    ----------
    counts : ndarray
        Not negative.

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
    """Return the block characters, or what stands for them where the terminal's encoding lacks them."""
    try:
        _BLOCKS.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return "#" * len(_BLOCKS)
    return _BLOCKS


def draw(counts: np.ndarray, edges: np.ndarray, path: Path) -> str:
    """Draw the brightness of a photograph to a file, and return a sentence that says so, or why not.

    Parameters
    ----------
    counts, edges : ndarray
        Pixels in each bin, and where the bins begin and the last ends.
    path : Path
        A PNG file, which is written over.
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
    """Draw images beside each other to a file, and return a sentence that says so, or why not.

    Parameters
    ----------
    images : sequence of ndarray
        Of bytes: rows, columns, three channels.
    titles : sequence of str
    path : Path
        A PNG file, which is written over.
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
    """Draw a loss by iterations, on axes or on those of a new figure, and return the axes.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.figure().gca()
    ax.plot(iterations, losses)
    ax.set(xlabel="iteration", ylabel="loss per sample", title=title)
    ax.grid(alpha=0.4)
    return ax


def _figure(width: float, height: float) -> Any:
    """Return a figure of so many inches, or None without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    return Figure(figsize=(width, height), layout="constrained")


def _without(path: Path) -> str:
    return f"no {path}, for want of matplotlib: pip install 'gpuprims[bench]'"


def _save(figure: Any, path: Path) -> str:
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        return f"no {path}, which cannot be written: {error.strerror}"
    return f"drawn in {path}"
