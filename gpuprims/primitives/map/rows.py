"""Maps by rows: elements that lie at one stride, so that a CPU finds the position of a row once."""

from __future__ import annotations

from dataclasses import replace

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.layout import Layout
from gpuprims.expressions import TypedExpr
from gpuprims.primitives.joined import scalar_in_loops
from gpuprims.primitives.map.tiles import MapVariant

# Rows of fewer elements take longer to find than to compute.
_SHORT_ROW = 32
# Neighbours of a row that are no more elements apart share cache lines.
_CLOSE = 16


def by_rows(layout: Layout) -> Layout:
    """Return a layout whose last axis is long, by putting the longest of close elements last if need be."""
    lengths = layout.reduced
    if len(lengths) < 2 or lengths[-1] >= _SHORT_ROW:
        return layout
    close = [all(abs(strides[k]) <= _CLOSE for strides in layout.reduced_strides) for k in range(len(lengths))]
    row = max(range(len(lengths)), key=lambda k: lengths[k] if close[k] else 0)
    if lengths[row] <= lengths[-1]:
        return layout
    order = [*(k for k in range(len(lengths)) if k != row), row]
    moved = tuple(tuple(strides[k] for k in order) for strides in layout.reduced_strides)
    return replace(layout, reduced=tuple(lengths[k] for k in order), reduced_strides=moved)


def joined(variant: MapVariant, layout: Layout, function: TypedExpr, capabilities: Capabilities) -> MapVariant:
    """Return a variant with as many work-items a group as the device's compiler joins in a vector.

    It vectorises more functions in work-items, but in loops alone it loads vectors of numbers that lie apart, such as
    the real parts of complex numbers (rows: cpu_chunks).
    """
    dense = all(
        strides[-1:] in ((), (0,), (1,)) and form.dtype.kind != "c" and form.lanes == 1
        for form, strides in zip(layout.forms, layout.reduced_strides, strict=True)
    )
    block = max(capabilities.warp, 1) if dense or scalar_in_loops(function) else 1
    return variant.resized(block=block, items=max(variant.tile // block, 1))
