"""Calls of histogram and bincount: arguments checked, bins found, elements counted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, quoted
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.histogram.binning import Table, check_bins, direct
from gpuprims.primitives.histogram.bins import limits_of, table_of
from gpuprims.primitives.histogram.plan import count, table_on
from gpuprims.primitives.histogram.request import COUNTS, HistogramRequest, TableRequest, Weighing
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce

# Bins that bincount tries at once, so that small values are read once alone.
_TRIED = 1024
# Counts that are tried whatever the number of elements.
_ALWAYS_TRIED = 2**16


def bind(
    arrays: tuple[Any, ...],
    bins: Any = 10,
    range: tuple[float, float] | None = None,  # noqa: A002 - NumPy's name
    weights: Any = None,
    axis: int | tuple[int, ...] | None = None,
    deterministic: bool = True,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, TableRequest, None, str | Variant | None]:
    """Find the device and the bins of a histogram; ``arrays`` may go on with bins and range."""
    x, *more = arrays
    bins, limits = more[0] if more else bins, more[1] if len(more) > 1 else range
    operands = _bind("histogram", x, weights, device)
    along = axis if axis is None else axes_of(as_axis(axis), operands.natives[0].ndim)
    table = table_of(operands, bins, limits)
    dtype = None if weights is None else operands.natives[1].dtype
    described = table.kind, table.bins, table.guide.size, len(table.edges) - 1
    request = HistogramRequest(*described, along, _weighing(operands, deterministic), dtype)
    asked = None if variant is None else asked_by_name("histogram", variant)
    return operands, TableRequest(request, table), None, asked


def count_values(
    x: Any,
    bins: Any,
    limits: Any,
    weights: Any,
    axis: Any,
    device: str | Device | None,
    variant: str | Variant | None,
    *,
    density: bool,
    repeat: bool,
) -> tuple[Any, Any]:
    """Return a histogram and its edges."""
    operands = as_operands("histogram", (x,), device) if weights is None else _bind("histogram", x, weights, device)
    along = axis if axis is None else axes_of(as_axis(axis), operands.natives[0].ndim)
    table = table_of(operands, bins, limits)
    weighing = COUNTS if weights is None else _weighing(operands, repeat, as_floats=density)
    # Before the counts: behind these, a copy from the host would wait for the elements.
    edges = operands.copy_to_caller(table.edges, None if operands.on_host else table_on(operands, table, "edges"))
    dtype = None if density or weights is None else operands.natives[1].dtype
    counts = count(operands, table, len(table.edges) - 1, along, weighing, dtype, variant)
    if density:
        counts = _density(operands, counts, np.diff(table.edges))
    return operands.to_caller(counts), edges


def count_numbers(
    x: Any,
    weights: Any,
    minlength: Any,
    axis: Any,
    device: str | Device | None,
    variant: str | Variant | None,
    *,
    repeat: bool,
) -> Any:
    """Return how often each number occurs."""
    if isinstance(x, list | tuple) and not len(x):
        x = np.zeros(0, np.int64)  # NumPy would make it float64
    operands = _bind("bincount", x, weights, device)
    array = operands.natives[0]
    if array.dtype.kind not in "iub":
        raise DtypeError(f"bincount: integers; got dtype {array.dtype}")
    if axis is None and array.ndim != 1:
        raise ShapeError(f"bincount: an array of one dimension, or axis=; got shape {array.shape}")
    axes = axes_of(as_axis(axis), array.ndim)
    weighing = _weighing(operands, repeat, as_floats=True)
    return operands.to_caller(_numbers(operands, axes, _length(minlength), weighing, variant))


def _length(minlength: Any) -> int:
    if isinstance(minlength, bool) or not isinstance(minlength, int | np.integer) or minlength < 0:
        raise ArgumentError(f"bincount: a whole minlength from 0 on; got {quoted(minlength)}")
    return check_bins("bincount", int(minlength))


def _bind(label: str, x: Any, weights: Any, device: str | Device | None) -> Operands:
    """Find the device of a call, and see that each element has a weight."""
    if isinstance(x, bool | int | float | complex):
        x = np.asarray(x)  # a number beside weights would take their dtype
    operands = as_operands(label, (x,) if weights is None else (x, weights), device)
    if weights is not None and operands.natives[1].shape != operands.natives[0].shape:
        shapes = " and ".join(str(native.shape) for native in operands.natives)
        raise ShapeError(f"{label}: weights of the array's shape; got {shapes}")
    return operands


def _weighing(operands: Operands, deterministic: Any, *, as_floats: bool = False) -> Weighing:
    """Return how weights are added up; with ``as_floats`` integers of 64 bits as float64, like the result."""
    if len(operands.natives) == 1:
        return Weighing("counts")
    dtype = operands.natives[1].dtype
    if dtype.kind == "c":
        raise DtypeError(f"{operands.label}: real weights; got dtype {dtype}")
    if dtype.kind in "iub" and not (as_floats and dtype.itemsize == 8):
        return Weighing("integers")
    return Weighing("floats", bool(deterministic))


def _numbers(
    operands: Operands, axes: tuple[int, ...], minlength: int, weighing: Weighing, variant: str | Variant | None
) -> Any:
    """Return the counts of as many numbers as there are: by one reading where they are small."""
    array = operands.natives[0]
    size, dtype = math.prod(array.shape), None if len(operands.natives) == 1 else np.dtype(np.float64)

    def counted(table: Table, bins: int, dtype: Any, *, outside: bool = False) -> Any:
        return count(operands, table, bins, axes, weighing, dtype, variant, outside=outside, label="bincount")

    if not size:  # NumPy ignores their weights
        return counted(direct(minlength), minlength, np.dtype(np.int64))
    tried = max(minlength, 256 if array.dtype == np.uint8 else _TRIED)
    outputs = size // math.prod(array.shape[k] for k in axes)
    if weighing.sums == "counts" and outputs * tried <= max(size, _ALWAYS_TRIED):
        sums = counted(direct(tried), tried, None, outside=True)
        seen = operands.to_host(_outside(operands, sums, tried, all_of_them=tried != minlength))
        if not (seen[-2] or seen[-1]):
            length = tried if tried == minlength else max(minlength, int(np.flatnonzero(seen)[-1]) + 1)
            if outputs == 1:
                return operands.cut(sums, 0, (*sums.shape[:-1], length))
            return _mapped(operands, "x", sums[..., :length])  # an array of its own, without what lies between rows
    low, high = (int(end) for end in limits_of(operands))
    if low < 0:
        raise ArgumentError(f"bincount: elements from 0 on; got {low}")
    length = check_bins("bincount", max(minlength, high + 1))
    return counted(direct(length), length, dtype)


def _outside(operands: Operands, sums: Any, bins: int, *, all_of_them: bool) -> Any:
    """Return how many elements of all rows are too high and too low; with ``all_of_them``, the counts before these."""
    first = 0 if all_of_them else bins
    if sums.size == bins + 2:
        return operands.cut(sums, first, (bins + 2 - first,))
    return reduce(sums[..., first:] if first else sums, axis=tuple(range(sums.ndim - 1)), device=operands.device)


def _density(operands: Operands, sums: Any, widths: np.ndarray) -> Any:
    total = reduce(sums, axis=-1, keepdims=True, device=operands.device)
    wide = widths if operands.in_place or isinstance(sums, np.ndarray) else operands.driver.asarray(widths)
    return _mapped(operands, "s / w / t", sums, wide, total)


def _mapped(operands: Operands, fn: Any, *arrays: Any) -> Any:
    return map_arrays(fn, *arrays, device=operands.device)
