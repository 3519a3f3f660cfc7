"""Histograms of segments: a grid of bins that has a row for each segment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.arrays import unchanged
from gpuprims.core.call_keys import Key
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.layout import contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.core.warm_calls import Run, WarmCalls
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.bins import table_of
from gpuprims.primitives.histogram.grid import Grid, grid_of
from gpuprims.primitives.histogram.in_slabs import counted_in_slabs
from gpuprims.primitives.histogram.plan import find_sums, plan_sums
from gpuprims.primitives.histogram.request import HistogramRequest, Weighing
from gpuprims.primitives.histogram.spec import Keys
from gpuprims.primitives.histogram.tables import edges_of
from gpuprims.primitives.segments.contents import ByContents, is_usual, keeps_contents, kept_if_small
from gpuprims.primitives.segments.offsets import Segments, index_dtype
from gpuprims.primitives.segments.rows import rows_of

SEGMENTED = WarmCalls()


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
    segments = Segments(offsets, operands)
    segments.check()
    table, count = table_of(operands, bins, limits), segments.count
    asked = len(table.edges) - 1
    grid, request = _counting(operands.label, table, count, weighing, dtype)

    def sums(part: Operands) -> Any:
        return find_sums(part, request, variant).count(part, grid).sums

    if operands.on_host and operands.exceed_room:
        rows = np.repeat(np.arange(count, dtype=np.int32), segments.lengths())
        found = counted_in_slabs(operands.instead(rows, *operands.natives), (0,), sums)
    else:
        found = sums(operands.instead(rows_of(operands, segments), *operands.natives))
    return found.reshape(count, asked), table


def _counting(
    label: str, table: Table, count: int, weighing: Weighing, dtype: Dtype | None
) -> tuple[Grid, HistogramRequest]:
    """Return the grid of ``count`` segments, and what to count."""
    grid, asked = grid_of(label, (table,), count), count * (len(table.edges) - 1)
    return grid, HistogramRequest(label, grid.kind, grid.bins, 0, asked, None, weighing, dtype, keys=Keys(rows=True))


def count_again(
    operands: Operands,
    offsets: Any,
    bins: Any,
    limits: Any,
    weighing: Weighing,
    dtype: Dtype | None,
    key: Key | None,
) -> tuple[Any, Any] | None:
    """Count in bins that the call names, and keep how for later calls on a device's arrays; None for others."""
    natives, device, size = operands.natives, operands.device, math.prod(operands.natives[0].shape)
    if not size or natives[0].ndim != 1 or not keeps_contents(key, operands, offsets):
        return None
    table, bare, forms, label = table_of(operands, bins, limits), operands.instead(), operands.forms, operands.label

    def prepare(offsets: np.ndarray) -> Run:
        segments = Segments(offsets, bare, size)
        segments.check()
        shape = segments.count, len(table.edges) - 1
        grid, request = _counting(label, table, segments.count, weighing, dtype)
        rows = kept_if_small(device, lambda: rows_of(bare, segments))
        given = contiguous(index_dtype(segments.count), (size,), bare.alignment), *forms
        plan = plan_sums(request, given, bare.alignment, device, None, REGISTRY.generation)

        def run(arrays: Sequence[Any]) -> tuple[Any, Any]:
            part = Operands(label, device, (rows(), *arrays), False, unchanged, given)
            return bare.cut(plan.count(part, grid).sums, 0, shape), edges_of(device, table)

        return run

    run = ByContents(device, prepare).run
    there = offsets if is_usual(offsets) else as_operands(label, (offsets,), device).natives[0]
    found: tuple[Any, Any] = run((*natives, there))
    SEGMENTED.keep_run(key, run)
    return found


def refuse_beside_segments(axis: Any) -> None:
    """Raise for an axis, which segments do not have."""
    if axis is not None:
        raise ArgumentError(f"histogram: no axis= with segments=, which lie along the one axis; got {quoted(axis)}")
