"""histogram2d and histogramdd: count points in a grid of bins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.call_keys import Key
from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import as_out
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ShapeError
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.histogram.axes_bins import is_number
from gpuprims.primitives.histogram.calls import as_density
from gpuprims.primitives.histogram.in_slabs import counted_in_slabs
from gpuprims.primitives.histogram.plan import find_sums
from gpuprims.primitives.histogram.points import check_axes, grid_of_points
from gpuprims.primitives.histogram.tables import new_edges
from gpuprims.primitives.histogram.warm_grids import WARM, grid_key, keep_grid

# From the arrays of a call to coordinates and weights.
Columns = Callable[[Sequence[Any]], Sequence[Any]]


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
    out: Any = None,
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
    density, weights, deterministic, out, device, variant
        As of :func:`gpuprims.histogramdd`.

    Returns
    -------
    counts : array of float64
        ``out``, or a new array: a row of bins of ``y`` for each bin of ``x``.
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
    given: Any = bins
    if not is_number(bins) and len(bins) not in (1, 2):
        given = [bins, bins]
    call = _Call(given, range, density, out, deterministic, device, variant)
    counts, (xedges, yedges) = _histogram("histogram2d", (x, y), weights, call)
    return counts, xedges, yedges


@named_keywords
def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002 - NumPy's name
    density: bool | None = None,
    weights: Any = None,
    *,
    deterministic: bool = True,
    out: Any = None,
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
        A weight for each point. The sums are float64, and 64-bit integers are added as float64, as NumPy adds them.
    deterministic : bool, default True
        Return the same sums of float weights in every run; see :func:`gpuprims.histogram`.
    out : array of float64, optional
        Where to write the counts: of their shape, on the device of the coordinates. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel of a histogram to use, instead of the best one.

    Returns
    -------
    counts : array of float64
        ``out``, or a new array, with an axis for each column.
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
    call = _Call(bins, range, density, out, deterministic, device, variant)
    if not isinstance(sample, list | tuple):
        return _histogram("histogramdd", (sample,), weights, call, _columns)
    if all(isinstance(one, bool | int | float | complex) for one in sample):
        sample = [np.asarray(sample, None if sample else np.float64)]
    return _histogram("histogramdd", tuple(sample), weights, call)


def _columns(arrays: Sequence[Any]) -> Sequence[Any]:
    """Return the columns of a sample, the first array, instead of the sample."""
    rows, *weights = arrays
    if rows.ndim == 1:
        return arrays
    if rows.ndim != 2:
        raise ShapeError(f"histogramdd: a sample with a row for each point; got shape {tuple(rows.shape)}")
    check_axes("histogramdd", axes := int(rows.shape[1]))
    return [*[rows[:, axis] for axis in range(axes)], *weights]


class _Call(NamedTuple):
    """The keywords of a call."""

    bins: Any
    limits: Any
    density: Any
    out: Any
    deterministic: Any
    device: str | Device | None
    variant: str | None

    def key(self, kind: Hashable, arrays: Sequence[Any]) -> Key | None:
        """Return the key under which the call may be kept."""
        if self.out is not None or self.variant is not None or not (self.density is None or self.density is False):
            return None
        return grid_key(kind, arrays, self.bins, self.limits, self.deterministic, self.device)


def _histogram(
    label: str, coordinates: tuple[Any, ...], weights: Any, call: _Call, columns: Columns = tuple
) -> tuple[Any, list[Any]]:
    """Count points; ``columns`` finds the coordinates along each axis in the arrays of a call."""
    arrays, weighted = (coordinates, False) if weights is None else ((*coordinates, weights), True)
    key = call.key((label, columns, weighted), arrays)
    if (run := WARM.find(key)) is not None:
        counted: tuple[Any, list[Any]] = run(arrays)
        return counted
    operands = as_operands(label, arrays, call.device)
    operands = operands if columns is tuple else operands.instead(*columns(operands.natives))
    if call.density is not None:
        check_flags(label, density=call.density)
    written, chosen = as_out(operands, call.out), asked_by_name("histogram", call.variant)
    axes = len(operands.natives) - weighted
    grid = grid_of_points(operands, axes, call.bins, call.limits, deterministic=call.deterministic)

    def count(part: Operands) -> Any:
        return find_sums(part, grid.request, chosen).count(part, grid.table).sums

    if operands.on_host and operands.exceed_room:
        counts = counted_in_slabs(operands, (0,), count)
    else:
        counts = count(operands)
        keep_grid(key, grid, operands, columns)
    counts = counts.reshape(grid.shape)
    if call.density:
        counts = as_density(operands, counts, *[one.edges for one in grid.tables])
    if operands.on_host:
        edges = [one.edges.copy() for one in grid.tables]
    else:
        edges = [new_edges(operands, one, copied=False) for one in grid.tables]
    (given,) = to_out(operands, (counts,), written, (None,))
    return given, [operands.as_caller_wants(own) for own in edges]
