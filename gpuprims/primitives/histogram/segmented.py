"""Histograms of segments: a grid of bins that has a row for each segment."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.operands import Operands
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.bins import table_of
from gpuprims.primitives.histogram.grid import grid_of
from gpuprims.primitives.histogram.in_slabs import counted_in_slabs
from gpuprims.primitives.histogram.plan import find_sums
from gpuprims.primitives.histogram.request import HistogramRequest, Weighing
from gpuprims.primitives.histogram.spec import Keys
from gpuprims.primitives.segments.offsets import Segments
from gpuprims.primitives.segments.rows import rows_of


def histogram_of_segments(
    operands: Operands,
    offsets: Any,
    bins: Any,
    limits: Any,
    weighing: Weighing,
    dtype: Dtype | None,
    variant: str | Variant | None,
) -> tuple[Any, Table]:
    """Return the sums of each segment, in bins that all share, and the table of these."""
    label, segments = operands.label, Segments(offsets, operands)
    segments.check()
    table, count = table_of(operands, bins, limits), segments.count
    asked = len(table.edges) - 1
    grid = grid_of(label, (table,), count)
    keys = Keys(rows=True)
    request = HistogramRequest(label, grid.kind, grid.bins, 0, count * asked, None, weighing, dtype, keys=keys)

    def sums(part: Operands) -> Any:
        return find_sums(part, request, variant).count(part, grid).sums

    if operands.on_host and operands.exceed_room:
        rows = np.repeat(np.arange(count, dtype=np.int32), segments.lengths())
        found = counted_in_slabs(operands.instead(rows, *operands.natives), (0,), sums)
    else:
        found = sums(operands.instead(rows_of(operands, segments), *operands.natives))
    return found.reshape(count, asked), table


def refuse_beside_segments(axis: Any) -> None:
    """Raise for an axis, which segments do not have."""
    if axis is not None:
        raise ArgumentError(f"histogram: no axis= with segments=, which lie along the one axis; got {quoted(axis)}")
