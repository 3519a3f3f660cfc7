"""Histograms and counts of host arrays that a device has no room for, slab by slab."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.variant import Variant
from gpuprims.primitives.axes import axes_of
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.bins import table_of
from gpuprims.primitives.histogram.numbers import numbers_of
from gpuprims.primitives.histogram.plan import find_sums
from gpuprims.primitives.histogram.request import HistogramRequest, Weighing
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.slabs import joined_from_slabs, slab_bytes


def histogram_in_slabs(
    operands: Operands,
    bins: Any,
    limits: Any,
    along: tuple[int, ...] | None,
    weighing: Weighing,
    dtype: Dtype | None,
    variant: str | Variant | None,
) -> tuple[np.ndarray, Table]:
    """Return the sums of host arrays along some axes, and the table of their bins."""
    x = operands.natives[0]
    if limits is None and np.ndim(bins) == 0:
        limits = tuple([reduce(x, op=op, device=operands.device) for op in ("min", "max")])
    table = table_of(operands, bins, limits)
    request = HistogramRequest.of(table, along, weighing, dtype)

    def count(slab: Operands) -> Any:
        return find_sums(slab, request, variant).count(slab, table).sums

    return counted_in_slabs(operands, axes_of(along, x.ndim), count), table


def numbers_in_slabs(
    operands: Operands, along: tuple[int, ...], minlength: Any, weighing: Weighing, variant: str | Variant | None
) -> np.ndarray:
    """Return the counts of the numbers in host arrays along some axes, or sums of their weights."""
    return counted_in_slabs(
        operands, along, lambda slab: numbers_of(slab, along, minlength, weighing, variant).count(slab)
    )


def counted_in_slabs(operands: Operands, along: tuple[int, ...], count: Callable[[Operands], Any]) -> np.ndarray:
    """Add up the results of ``count`` for all slabs, in as many bins as any slab has."""
    kept = [axis for axis in range(operands.natives[0].ndim) if axis not in along]

    def run(parts: Sequence[np.ndarray]) -> np.ndarray:
        slab = as_operands(operands.label, tuple(parts), operands.device)
        counts: np.ndarray = slab.to_host(count(slab))
        return counts

    def join(axis: int, found: list[np.ndarray]) -> np.ndarray:
        length = max(counts.shape[-1] for counts in found)
        padded = [_padded(counts, length) for counts in found]
        return sum(padded[1:], padded[0]) if axis in along else np.concatenate(padded, kept.index(axis))

    return joined_from_slabs(operands.natives, slab_bytes(operands.device), [*kept, *along], run, join)


def _padded(counts: np.ndarray, length: int) -> np.ndarray:
    return np.pad(counts, [(0, 0)] * (counts.ndim - 1) + [(0, length - counts.shape[-1])])
