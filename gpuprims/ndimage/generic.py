"""generic_filter: a function of each element's neighbours, traced once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, ExpressionError, GpuprimsError, quoted, said
from gpuprims.expressions.trace import Recorder
from gpuprims.ndimage.arguments import extras_of
from gpuprims.ndimage.calls import Bound, begin, filtering
from gpuprims.ndimage.neighbourhoods import Index, neighbourhood_of
from gpuprims.ndimage.padded import in_row
from gpuprims.ndimage.ranks import spread
from gpuprims.primitives.stencil.grids import reaches
from gpuprims.primitives.stencil.neighbours import Neighbours, finished
from gpuprims.primitives.stencil.rounding import summed
from gpuprims.primitives.stencil.stencils import Dtype, Stencil, typed_over
from gpuprims.primitives.stencil.weights import float_of

# Most neighbours of a function.
_MOST = 512


# Folds of a row, such as those that np.ptp calls.
_FOLDED = np.add, np.multiply, np.maximum, np.minimum
# Filters to use instead of functions that sort.
_FILTERS = {np.median: "median_filter(x, size)", np.percentile: "percentile_filter(x, percentile, size)"}


class TracedNeighbours(np.ndarray):
    """The neighbours that a function gets, as a row of traced numbers.

    Functions of NumPy apply to each of them. Sums, means, smallest and largest elements, variances and standard
    deviations are traced too.
    """

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Apply a function of NumPy to each number, with the function's other arguments."""
        if method == "reduce" and ufunc in _FOLDED and set(keywords.values()) <= {None, 0}:
            return _fold(ufunc, inputs[0])
        if method != "__call__" or keywords:
            raise ExpressionError(f"row of neighbours: np.{ufunc.__name__} of each; got np.{ufunc.__name__}.{method}")
        found = np.empty(self.shape, object)
        for k in range(self.size):
            found[k] = ufunc(*[one[k] if isinstance(one, TracedNeighbours) else one for one in inputs])
        return found.view(TracedNeighbours)

    def sum(self, *args: Any, **keywords: Any) -> Any:
        """Return the sum."""
        return _fold(np.add, self)

    def min(self, *args: Any, **keywords: Any) -> Any:
        """Return the smallest."""
        return _fold(np.minimum, self)

    def max(self, *args: Any, **keywords: Any) -> Any:
        """Return the largest."""
        return _fold(np.maximum, self)

    def mean(self, *args: Any, **keywords: Any) -> Any:
        """Return the mean."""
        return self.sum() / self.size

    def var(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, **keywords: Any) -> Any:
        """Return the variance."""
        far = self - self.mean()
        return (far * far).sum() / (self.size - ddof)

    def std(self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, **keywords: Any) -> Any:
        """Return the standard deviation."""
        return np.sqrt(self.var(ddof=ddof))


def _fold(function: Callable[[Any, Any], Any], values: np.ndarray) -> Any:
    first, *others = values
    for one in others:
        first = function(first, one)
    return first


@filtering
def generic_filter(
    input: Any,  # noqa: A002 - SciPy's name
    function: Callable[..., Any],
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    extra_arguments: Sequence[Any] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: Any = None,
    device: str | Device | None = None,
) -> Any:
    """Apply a function to each element's neighbours, as :func:`scipy.ndimage.generic_filter`.

    Parameters
    ----------
    input, size, footprint, output, mode, cval, origin, axes, device
        As :func:`rank_filter` takes them.
    function : callable
        A function of the neighbours, a row of numbers in C order, and of ``extra_arguments`` and ``extra_keywords``. It
        is called once, to trace it: it may use indices and slices, the operators and NumPy functions of
        :func:`gpuprims.map`, and ``sum``, ``mean``, ``min``, ``max``, ``var`` and ``std`` of the row. Up to 512
        neighbours.

    Returns
    -------
    array
        Of the shape of ``input``; ``output`` itself if that is an array. Integers are computed in float64 and cut
        towards zero, as in SciPy; floats in float32, or in float64 if ``input`` or the result is float64.

    Raises
    ------
    ExpressionError
        The function cannot be traced.
    ArgumentError, ShapeError, AxisError, DtypeError, ArrayError, DeviceMismatchError, NoVariantError
        As :func:`rank_filter`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims import ndimage
    >>> ndimage.generic_filter(np.float32([5, 1, 7, 3]), lambda v: v.max() - v.min(), 3, device="reference")
    array([4., 6., 6., 4.], dtype=float32)
    """
    call = begin("ndimage.generic_filter", input, output, device)
    near = neighbourhood_of(call.label, len(call.shape), size, footprint, origin, axes)
    offsets = near.offsets
    if len(offsets) > _MOST:
        raise ArgumentError(f"{call.label}: up to {_MOST} neighbours; got {len(offsets)}")
    value = float_of(call.element, call.result, double=call.double)
    extras = extras_of(call.label, extra_arguments, extra_keywords)
    traced = _traced(call.label, function, len(offsets), value, *extras)
    border = call.border(mode, cval, call.element)
    if not reaches(near.axes):
        return in_row(
            call,
            near.axes,
            offsets,
            border,
            lambda places: _of_function(traced, tuple((at,) for at in places), call.element, call.result),
        )

    def stencil(count: int, places: tuple[int, ...]) -> Stencil:
        spaced = tuple(spread(one, count, places) for one in offsets)
        return _of_function(traced, spaced, call.element, call.result)

    return Bound(call, (call.along(near.axes, stencil, border),))


def _traced(
    label: str, function: Callable[..., Any], count: int, value: Dtype, more: tuple[Any, ...], named: dict[str, Any]
) -> Neighbours:
    """Trace a function of a row of numbers, at arbitrary offsets."""
    if not callable(function):
        raise ExpressionError(f"{label}: a function of a row of neighbours; got {quoted(function)}")
    for sorting, instead in _FILTERS.items():
        if function is sorting:
            raise ExpressionError(f"{label}: a function without a sort; got np.{sorting.__name__} (write {instead})")
    recorder = Recorder()
    row = np.empty(count, object)
    for k in range(count):
        row[k] = recorder.argument(k).astype(value)
    try:
        returned = function(row.view(TracedNeighbours), *more, **named)
    except GpuprimsError:
        raise
    except Exception as error:  # whatever the caller's function raises
        rule = "a function of a row of neighbours, with operators and functions of gpuprims.map"
        raise ExpressionError(f"{label}: {rule}; got {said(error)}") from error
    if isinstance(returned, np.ndarray | tuple | list):
        got = f"a row of {len(returned)}" if isinstance(returned, np.ndarray) else f"a {type(returned).__name__}"
        raise ExpressionError(f"{label}: a function that returns one number; got {got} (such as v.max())")
    return finished(recorder, returned, tuple((k,) for k in range(count)))


@lru_cache(maxsize=256)
def _of_function(traced: Neighbours, offsets: tuple[Index, ...], element: Dtype, result: Dtype) -> Stencil:
    """Return the stencil of a traced function of neighbours at some offsets."""
    placed = Neighbours(traced.expr, offsets)
    applied = typed_over(placed, element)
    return Stencil(offsets, applied, summed(applied.dtypes[0], result, None), contracted=False)
