"""Rows on CPUs: elements that lie at one stride, so that a kernel finds the position of a row once."""

from __future__ import annotations

from dataclasses import replace

from gpuprims.core.layout import Layout

# Rows of fewer elements take longer to find than to compute; to fold, FEWEST_FOLDED (reduce, rows: cpu_rows-short).
SHORT_ROW, FEWEST_FOLDED = 32, 8
# Neighbours of a row that are no more elements apart share cache lines.
_CLOSE = 16


def by_rows(layout: Layout, least: int = SHORT_ROW) -> Layout:
    """Return a layout whose last axis has ``least`` elements, by putting the longest of close ones last if need be."""
    lengths = layout.reduced
    if len(lengths) < 2 or lengths[-1] >= least:
        return layout
    close = [all(abs(strides[k]) <= _CLOSE for strides in layout.reduced_strides) for k in range(len(lengths))]
    row = max(range(len(lengths)), key=lambda k: lengths[k] if close[k] else 0)
    if lengths[row] <= lengths[-1]:
        return layout
    order = [*(k for k in range(len(lengths)) if k != row), row]
    moved = tuple(tuple(strides[k] for k in order) for strides in layout.reduced_strides)
    return replace(layout, reduced=tuple(lengths[k] for k in order), reduced_strides=moved)
