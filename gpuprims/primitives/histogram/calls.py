"""Calls of histogram and bincount: check the arguments, find the bins, count."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, quoted
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.histogram.binning import Table, check_bins, direct
from gpuprims.primitives.histogram.bins import start_limits, table_of
from gpuprims.primitives.histogram.plan import COUNTS, HistogramRequest, Weighing, count
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce

# bincount first tries this many bins, to read small numbers once.
_TRIED = 1024
# It tries up to this many counts for any number of elements.
_ALWAYS_TRIED = 2**16
# Counts that a device's call copies to the host at most, to find the last one above zero: for 326,843 counts of 4.3
# million numbers that took 1.3 of 1.8 ms (H200, CUDA 13.0, 2026-11-23).
_MOST_COPIED = 2**13


def bind(
    arrays: tuple[Any, ...],
    bins: Any = 10,
    range: tuple[float, float] | None = None,  # noqa: A002 - NumPy's name
    weights: Any = None,
    axis: int | tuple[int, ...] | None = None,
    deterministic: bool = True,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, tuple[HistogramRequest, Table], None, str | Variant | None]:
    """Find the device and the bins of a histogram; ``arrays`` may contain bins and range too."""
    x, *more = arrays
    bins, limits = more[0] if more else bins, more[1] if len(more) > 1 else range
    operands = weighed("histogram", x, weights, device)
    along = axis if axis is None else axes_of(as_axis(axis), operands.natives[0].ndim)
    table = table_of(operands, bins, limits)
    dtype = None if weights is None else operands.natives[1].dtype
    described = "histogram", table.kind, table.bins, table.guide.size, len(table.edges) - 1
    request = HistogramRequest(*described, along, as_weighing(operands, deterministic), dtype)
    return operands, (request, table), None, asked_by_name("histogram", variant)


def weighed(label: str, x: Any, weights: Any, device: str | Device | None) -> Operands:
    """Return the operands of a call; raise for weights of another shape."""
    if isinstance(x, bool | int | float | complex):
        x = np.asarray(x)  # a number beside weights would take their dtype
    operands = as_operands(label, (x,) if weights is None else (x, weights), device)
    if weights is not None and operands.natives[1].shape != operands.natives[0].shape:
        shapes = " and ".join(str(native.shape) for native in operands.natives)
        raise ShapeError(f"{label}: weights of the array's shape; got {shapes}")
    return operands


def as_weighing(operands: Operands, deterministic: Any, *, as_floats: bool = False) -> Weighing:
    """Return how to add the weights; with ``as_floats``, 64-bit integers are added as float64."""
    if len(operands.natives) == 1:
        return COUNTS
    dtype = operands.natives[1].dtype
    if dtype.kind == "c":
        raise DtypeError(f"{operands.label}: real weights; got dtype {dtype}")
    if dtype.kind in "iub" and not (as_floats and dtype.itemsize == 8):
        return Weighing("integers")
    return Weighing("floats", bool(deterministic))


def count_numbers(
    operands: Operands, axes: tuple[int, ...], minlength: Any, weighing: Weighing, variant: str | Variant | None
) -> Any:
    """Count each number up to the largest; arrays are read once if their numbers are small, or as before."""
    if isinstance(minlength, bool) or not isinstance(minlength, int | np.integer) or minlength < 0:
        raise ArgumentError(f"bincount: minlength= a non-negative integer; got {quoted(minlength)}")
    minlength = check_bins("bincount", int(minlength))
    array, last = operands.natives[0], _last_length(operands.forms[0], axes, minlength, operands.device)
    size, dtype = math.prod(array.shape), None if len(operands.natives) == 1 else np.dtype(np.float64)

    def counted(table: Table, bins: int, dtype: Any, *, outside: bool = False) -> Any:
        return count(operands, table, bins, axes, weighing, dtype, variant, outside=outside)[0]

    if not size:  # NumPy ignores the weights
        return counted(direct(minlength), minlength, np.dtype(np.int64))
    tried = max(minlength, last[0] or (256 if array.dtype == np.uint8 else _TRIED))
    outputs = size // math.prod(array.shape[k] for k in axes)
    seeks_few = operands.in_place or tried <= _MOST_COPIED or tried == minlength
    tries = weighing.sums == "counts" and seeks_few
    if tries and outputs * tried <= max(size, _ALWAYS_TRIED):
        sums = counted(direct(tried), tried, None, outside=True)
        seen = operands.to_host(_total(operands, sums, first=tried if tried == minlength else 0))
        if not (seen[-2] or seen[-1]):
            length = tried if tried == minlength else max(minlength, _end_of(seen[:tried]))
            last[0] = length
            if outputs == 1:
                return operands.cut(sums, 0, (*sums.shape[:-1], length))
            return map_arrays("x", sums[..., :length], device=operands.device)  # a contiguous copy
    limits, sums = start_limits(operands), None
    if last[0] and not tries:  # while the host waits for the limits
        sums = counted(direct(last[0]), last[0], dtype)
    low, high = (int(end) for end in limits())
    if low < 0:
        raise ArgumentError(f"bincount: non-negative elements; got {low}")
    length = check_bins("bincount", max(minlength, high + 1))
    if sums is None or length != last[0]:
        sums = counted(direct(length), length, dtype)
    last[0] = length
    return sums


def _end_of(counts: np.ndarray) -> int:
    """Return the index after the last count above zero. A call like the one before finds it at the end."""
    return counts.size if counts[-1] else counts.size - int((counts[::-1] != 0).argmax())


@lru_cache(maxsize=1024)
def _last_length(form: Form, axes: tuple[int, ...], minlength: int, device: Device) -> list[int]:
    """Return a list of the length that the last array like this one had, 0 at first: the next one has it likely too."""
    return [0]


def _total(operands: Operands, sums: Any, first: int) -> Any:
    """Return the sum of all rows' counts, from bin ``first`` on, with the two counts of elements in no bin."""
    if sums.size == sums.shape[-1]:
        return operands.cut(sums, first, (sums.size - first,))
    return reduce(sums[..., first:] if first else sums, axis=tuple(range(sums.ndim - 1)), device=operands.device)


def as_density(operands: Operands, sums: Any, widths: np.ndarray) -> Any:
    """Divide counts by their total and by the widths of the bins."""
    total = reduce(sums, axis=-1, keepdims=True, device=operands.device)
    wide = widths if operands.in_place or isinstance(sums, np.ndarray) else operands.driver.asarray(widths)
    return map_arrays("s / w / t", sums, wide, total, device=operands.device)
