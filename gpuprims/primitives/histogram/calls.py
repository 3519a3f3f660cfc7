"""Calls of histogram and bincount: check the arguments, find the bins."""

from __future__ import annotations

import operator
from functools import cache
from functools import reduce as reduce_python
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.keywords import check_flags
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.expressions import Expr, trace
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.bins import table_of
from gpuprims.primitives.histogram.plan import HistogramPlan, find_sums
from gpuprims.primitives.histogram.request import COUNTS, HistogramRequest, Weighing
from gpuprims.primitives.histogram.rules import bins_by_rule
from gpuprims.primitives.histogram.sought import sought
from gpuprims.primitives.histogram.variants import HistogramVariant
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce


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
    if len(more) > 2:
        raise ArgumentError(f"histogram: an array, bins and range by position; got {len(arrays)} arguments")
    bins, limits = more[0] if more else bins, more[1] if len(more) > 1 else range
    operands = weighed("histogram", x, weights, device)
    along = axis if axis is None else axes_of(as_axis(axis), operands.natives[0].ndim)
    table = table_of(operands, *bins_by_rule(operands, bins, limits))
    dtype = None if weights is None else operands.natives[1].dtype
    request = HistogramRequest.of(table, along, as_weighing(operands, deterministic), dtype)
    return operands, (request, table), None, asked_by_name("histogram", variant)


def planned(
    operands: Operands,
    bins: Any,
    limits: Any,
    along: tuple[int, ...] | None,
    weighing: Weighing,
    dtype: Dtype | None,
    variant: str | Variant | None,
    *,
    seeks: int,
) -> tuple[HistogramPlan, Table]:
    """Return the launch plan of a call and its table, which the kernel makes for ``seeks`` bins if it can."""
    table = sought(operands, seeks)
    if table is not None:
        plan = find_sums(operands, HistogramRequest.of(table, along, weighing, dtype, edges=True), variant)
        if HistogramVariant.of(plan.variant).seeks:
            return plan, table
    table = table_of(operands, bins, limits)
    request = HistogramRequest.of(table, along, weighing, dtype, edges=not operands.on_host)
    return find_sums(operands, request, variant), table


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
    check_flags(operands.label, deterministic=deterministic)
    if len(operands.natives) == 1:
        return COUNTS
    dtype = operands.natives[1].dtype
    if dtype.kind == "c":
        raise DtypeError(f"{operands.label}: real weights; got dtype {dtype}")
    if dtype.kind in "iub" and not (as_floats and dtype.itemsize == 8):
        return Weighing("integers")
    return Weighing("floats", bool(deterministic))


def as_density(operands: Operands, sums: Any, *edges: np.ndarray) -> Any:
    """Divide counts by their total and by the widths of the bins, along as many last axes as there are edges."""
    axes = len(edges)
    total = reduce(sums, axis=tuple(range(-axes, 0)), keepdims=True, device=operands.device)
    on_host = operands.in_place or isinstance(sums, np.ndarray)
    widths = []
    for axis, own in enumerate(edges):
        wide = np.diff(own).reshape(-1, *[1] * (axes - 1 - axis))
        widths.append(wide if on_host else operands.driver.asarray(wide))
    return map_arrays(_divided(axes), sums, *widths, total, device=operands.device)


@cache
def _divided(axes: int) -> Expr:
    return trace(lambda s, *divisors: reduce_python(operator.truediv, divisors, s), axes + 2)
