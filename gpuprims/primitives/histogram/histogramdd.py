"""histogram2d and histogramdd: count points in a grid of bins."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, quoted
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.bins import (
    checked_limits,
    number_or_edges,
    start_limits,
    table_of_edges,
)
from gpuprims.primitives.histogram.calls import as_density, as_weighing
from gpuprims.primitives.histogram.grid import axis_between, grid_of
from gpuprims.primitives.histogram.in_slabs import counted_in_slabs
from gpuprims.primitives.histogram.plan import find_sums
from gpuprims.primitives.histogram.request import COUNTS, HistogramRequest
from gpuprims.primitives.histogram.spec import Keys
from gpuprims.primitives.histogram.tables import new_edges
from gpuprims.primitives.reduce import reduce

_FLOAT64 = np.dtype(np.float64)
# A kernel reads an array for each axis, and holds the bins of each in registers.
_MOST_AXES = 8


@named_keywords
def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002 - NumPy's name
    density: bool | None = None,
    weights: Any = None,
    *,
    deterministic: bool = True,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> tuple[Any, Any, Any]:
    """Count points in bins of two axes, as :func:`numpy.histogram2d` does.

    Parameters
    ----------
    x, y : array_like
        Coordinates of the points, of one dimension.
    bins : int, array_like, [int, int] or [array_like, array_like], default 10
        The number of bins along each axis, or their edges; of both axes, or of ``x`` and of ``y``.
    range : ((low, high), (low, high)), optional
        The first and the last edge along each axis, or None for the smallest and the largest coordinate.
    density, weights, deterministic, device, variant
        As of :func:`gpuprims.histogramdd`.

    Returns
    -------
    counts : array of float64
        A row of bins of ``y`` for each bin of ``x``.
    xedges, yedges : array
        The edges along each axis.

    Raises
    ------
    ArgumentError, ShapeError, DtypeError, ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.histogramdd`.

    Examples
    --------
    >>> import gpuprims
    >>> x, y = [0.5, 1.5, 1.5, 2.0], [0.5, 0.5, 1.5, 9.0]
    >>> counts, xedges, yedges = gpuprims.histogram2d(x, y, bins=2, range=[(0, 2), (0, 2)], device="reference")
    >>> counts
    array([[1., 0.],
           [1., 1.]])
    """
    if unknown:
        refuse_keywords("histogram2d", keywords_of(histogram2d), unknown)
    operands = as_operands("histogram2d", (x, y) if weights is None else (x, y, weights), device)
    given: Any = bins
    if not _is_number(bins) and len(bins) not in (1, 2):
        given = [bins, bins]
    counts, edges = _histogram(operands, 2, given, range, density, deterministic=deterministic, variant=variant)
    return counts, edges[0], edges[1]


@named_keywords
def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002 - NumPy's name
    density: bool | None = None,
    weights: Any = None,
    *,
    deterministic: bool = True,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> tuple[Any, list[Any]]:
    """Count points in bins of several axes, as :func:`numpy.histogramdd` does.

    Parameters
    ----------
    sample : array_like
        A row for each point and a column for each axis; or a list of arrays, the coordinates along each axis.
    bins : int or sequence, default 10
        The number of bins along all axes; or for each axis the number of bins or their edges, in ascending order.
    range : sequence of (low, high) or None, optional
        The first and the last edge along each axis where ``bins`` is a number; by default the smallest and the largest
        coordinate. Points outside of an axis are not counted.
    density : bool, optional
        Return a density, whose integral over the bins is 1, instead of counts.
    weights : array_like, optional
        A weight for each point.
    deterministic : bool, default True
        Return the same sums of float weights in every run; see :func:`gpuprims.histogram`.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel of a histogram to use, instead of the best one.

    Returns
    -------
    counts : array of float64
        With an axis for each column.
    edges : list of array
        The edges along each axis.

    Raises
    ------
    ArgumentError, ShapeError
        Bins or ranges for another number of axes, more than 8 axes, edges that decrease, coordinates that are not
        finite where the range is not given; weights of another length.
    DtypeError
        Complex coordinates or weights.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.reduce`.

    Notes
    -----
    A bin includes its left edge, and the last one its right edge too. One kernel reads all coordinates, finds the bins
    along each axis as :func:`gpuprims.histogram`, and counts. Without ``range=``, a call waits for the smallest and the
    largest coordinates. Separate arrays are read faster than columns of one.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> sample = np.float32([[0, 1], [1, 1], [1, 0], [1, 1]])
    >>> gpuprims.histogramdd(sample, bins=[2, 2], device="reference")[0]
    array([[0., 1.],
           [1., 2.]])
    """
    if unknown:
        refuse_keywords("histogramdd", keywords_of(histogramdd), unknown)
    beside = () if weights is None else (weights,)
    if isinstance(sample, list | tuple):
        flat = all(isinstance(one, bool | int | float | complex) for one in sample)
        columns = [np.asarray(sample, None if sample else np.float64)] if flat else sample
        operands, axes = as_operands("histogramdd", (*columns, *beside), device), len(columns)
    else:
        operands = as_operands("histogramdd", (sample, *beside), device)
        operands, axes = _columns(operands)
    return _histogram(operands, axes, bins, range, density, deterministic=deterministic, variant=variant)


def _columns(operands: Operands) -> tuple[Operands, int]:
    """Return the columns of a sample instead of the sample, and their number."""
    rows, *weights = operands.natives
    if rows.ndim == 1:
        return operands, 1
    if rows.ndim != 2:
        raise ShapeError(f"histogramdd: a sample with a row for each point; got shape {tuple(rows.shape)}")
    axes = int(rows.shape[1])
    return operands.instead(*[rows[:, axis] for axis in range(min(axes, _MOST_AXES + 1))], *weights), axes


def _histogram(
    operands: Operands,
    axes: int,
    bins: Any,
    limits: Any,
    density: bool | None,
    *,
    deterministic: bool,
    variant: str | None,
) -> tuple[Any, list[Any]]:
    """Count the points of a call, whose first arrays are their coordinates."""
    label = operands.label
    if density is not None:
        check_flags(label, density=density)
    if not 0 < axes <= _MOST_AXES:
        raise ArgumentError(f"{label}: from 1 to {_MOST_AXES} axes; got {axes}")
    for native in operands.natives:
        if native.ndim != 1 or native.shape != operands.natives[0].shape:
            shapes = " and ".join(str(tuple(native.shape)) for native in operands.natives)
            raise ShapeError(f"{label}: coordinates and weights of one dimension and of one length; got {shapes}")
    dtypes = [native.dtype for native in operands.natives[:axes]]
    if any(dtype.kind == "c" for dtype in dtypes):
        raise DtypeError(f"{label}: real numbers, which have an order; got dtype {np.result_type(*dtypes)}")
    chosen = asked_by_name("histogram", variant)
    tables = _tables_of(operands, axes, _each(label, "bins", bins, axes), _each(label, "range", limits, axes))
    weighing = COUNTS
    if len(operands.natives) > axes:
        weighing = as_weighing(operands.instead(*operands.natives[-2:]), deterministic)
    if axes > 1:
        table: Table = grid_of(label, tuple(tables))
        bins, shape, guide = table.bins, tuple(len(one.edges) - 1 for one in tables), 0
    else:
        (table,) = tables
        bins, shape, guide = table.bins, (len(table.edges) - 1,), table.guide.size
    asked = int(np.prod(shape, dtype=np.int64))
    request = HistogramRequest(label, table.kind, bins, guide, asked, None, weighing, _FLOAT64, keys=Keys(axes))

    def count(part: Operands) -> Any:
        return find_sums(part, request, chosen).count(part, table).sums

    in_slabs = operands.on_host and operands.exceed_room
    counts = counted_in_slabs(operands, (0,), count) if in_slabs else count(operands)
    counts = counts.reshape(shape)
    if density:
        counts = as_density(operands, counts, *[one.edges for one in tables])
    if operands.on_host:
        edges = [one.edges.copy() for one in tables]
    else:
        edges = [new_edges(operands, one, copied=False) for one in tables]
    given = operands.as_caller_wants(counts) if in_slabs else operands.to_caller(counts)
    return given, [operands.as_caller_wants(own) for own in edges]


def _is_number(bins: Any) -> bool:
    """Return True if what is given for bins has no length: a number, or a name, which is refused later."""
    return isinstance(bins, str) or not hasattr(bins, "__len__") or getattr(bins, "shape", None) == ()


def _each(label: str, name: str, given: Any, axes: int) -> list[Any]:
    """Return what is given for each axis."""
    if given is None or (name == "bins" and _is_number(given)):
        return [given] * axes
    try:
        found = list(given)
    except TypeError as error:
        raise ArgumentError(f"{label}: {name} for each axis; got {quoted(given)}") from error
    if name == "range" and not all(one is None or hasattr(one, "__len__") for one in found):
        raise ArgumentError(f"{label}: range= a pair (low, high), or None, for each axis; got {quoted(given)}")
    if len(found) != axes:
        raise ArgumentError(f"{label}: {name} for {axes} axes; got {quoted(given)} for {len(found)}")
    return found


def _tables_of(operands: Operands, axes: int, bins: list[Any], limits: list[Any]) -> list[Table]:
    """Return the bins along each axis; the kernels that find the bounds of coordinates run together."""
    label, dtype = operands.label, np.result_type(*[native.dtype for native in operands.natives[:axes]])
    asked = [one if type(one) is int and one > 0 else number_or_edges(label, one) for one in bins]
    waits: list[Any] = []
    for axis, (one, ends) in enumerate(zip(asked, limits, strict=True)):
        own = operands.instead(operands.natives[axis])
        if isinstance(one, np.ndarray):
            waits.append(None)
        elif ends is not None:
            waits.append(partial(checked_limits, label, ends))
        elif own.exceed_room:
            waits.append(partial(_checked_ends, own, dtype))
        else:
            waits.append(partial(_converted, start_limits(own), dtype))
    tables = []
    for one, wait in zip(asked, waits, strict=True):
        if isinstance(one, np.ndarray):
            tables.append(table_of_edges(label, dtype, one))
            continue
        low, high = wait()
        tables.append(axis_between(dtype, one, low, high))
    return tables


def _checked_ends(operands: Operands, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    x, device = operands.natives[0], operands.device
    ends = reduce(x, op="min", device=device), reduce(x, op="max", device=device)
    return _converted(lambda: checked_limits(operands.label, ends), dtype)


def _converted(wait: Callable[[], tuple[Any, Any]], dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Wait for the smallest and the largest coordinate, and return them in the dtype that all axes have."""
    low, high = wait()
    return (low, high) if type(low) is int else (dtype.type(low), dtype.type(high))  # of bools, or of no elements
