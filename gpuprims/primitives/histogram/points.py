"""Points in a grid of bins: what a call counts in, and plans of such calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.plans import OUT_OF_CALLS, planner
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.primitives.histogram.axes_bins import each_axis, is_number, tables_of
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.calls import as_weighing
from gpuprims.primitives.histogram.grid import grid_of
from gpuprims.primitives.histogram.plan import plan_sums, with_table
from gpuprims.primitives.histogram.request import COUNTS, HistogramRequest
from gpuprims.primitives.histogram.spec import Keys

_FLOAT64 = np.dtype(np.float64)
# A kernel reads an array for each axis, and holds the bins of each in registers.
_MOST_AXES = 8


class Grid(NamedTuple):
    """The bins of a call: along each axis, together, and how to count in them."""

    tables: tuple[Table, ...]
    table: Table
    shape: tuple[int, ...]
    request: HistogramRequest


def check_axes(label: str, axes: int) -> None:
    """Raise for more axes than a kernel reads arrays."""
    if not 0 < axes <= _MOST_AXES:
        raise ArgumentError(f"{label}: from 1 to {_MOST_AXES} axes; got {axes}")


def grid_of_points(operands: Operands, axes: int, bins: Any, limits: Any, *, deterministic: Any) -> Grid:
    """Return the bins of a call; raise for arrays and bins that do not fit."""
    label = operands.label
    check_axes(label, axes)
    for native in operands.natives:
        if native.ndim != 1 or native.shape != operands.natives[0].shape:
            shapes = " and ".join(str(tuple(native.shape)) for native in operands.natives)
            raise ShapeError(f"{label}: coordinates and weights of one dimension and of one length; got {shapes}")
    dtypes = [native.dtype for native in operands.natives[:axes]]
    if any(dtype.kind == "c" for dtype in dtypes):
        raise DtypeError(f"{label}: real numbers, which have an order; got dtype {np.result_type(*dtypes)}")
    each = each_axis(label, "bins", bins, axes), each_axis(label, "range", limits, axes)
    tables = tuple(tables_of(operands, axes, *each))
    check_flags(label, deterministic=deterministic)
    weighing = COUNTS
    if len(operands.natives) > axes:
        weighing = as_weighing(operands.instead(*operands.natives[-2:]), deterministic, as_floats=True)
    table: Table = grid_of(label, tables) if axes > 1 else tables[0]
    shape, guide = tuple(len(one.edges) - 1 for one in tables), 0 if axes > 1 else table.guide.size
    asked = math.prod(shape)
    request = HistogramRequest(label, table.kind, table.bins, guide, asked, None, weighing, _FLOAT64, keys=Keys(axes))
    return Grid(tables, table, shape, request)


def plan_call(
    grid: Grid,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a count but its memory."""
    plan = with_table(plan_sums(grid.request, forms, alignment, device, variant, generation), grid.table, alone=True)
    plan.results = (contiguous(_FLOAT64, grid.shape, alignment),)
    return plan


def _bind(
    label: str,
    arrays: tuple[Any, ...],
    bins: Any = 10,
    range: Any = None,  # noqa: A002 - NumPy's name
    weights: Any = None,
    deterministic: Any = True,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, Grid, None, str | Variant | None]:
    """Find the bins of a plan, which calls of the plan keep."""
    columns: Sequence[Any] | None
    if label == "histogram2d":
        columns, rule = arrays if len(arrays) == 2 else None, "two arrays, coordinates of the points"
        bins = bins if is_number(bins) or len(bins) in (1, 2) else [bins, bins]
    else:
        columns = arrays[0] if len(arrays) == 1 and isinstance(arrays[0], list | tuple) else None
        rule = "a list of arrays, the coordinates along each axis (pass the columns of an array)"
    if columns is None:
        raise ArgumentError(f"plan of {label}: {rule}; got {len(arrays)} array(s)")
    given = (*columns, *(() if weights is None else (weights,)))
    operands = as_operands(label, given, device)
    grid = grid_of_points(operands, len(columns), bins, range, deterministic=deterministic)
    return operands, grid, None, asked_by_name("histogram", variant)


_REFUSED = {"density": "plans return counts (divide these)", "out": OUT_OF_CALLS}
PLANS = {
    name: planner(name, partial(_bind, name), plan_call, taken=taken, positional=("bins", "range"), refused=_REFUSED)
    for name, taken in (("histogram2d", 2), ("histogramdd", 1))
}
