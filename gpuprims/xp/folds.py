"""The array API's statistics, cumulative sums and products, and truth tests, by reduce and scan."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as np

from gpuprims.core.device import device_of
from gpuprims.core.keywords import check_flags, refusing_keywords
from gpuprims.core.operands import as_operands
from gpuprims.core.warm_calls import Run, WarmCalls
from gpuprims.errors import ArgumentError, AxisError, ShapeError, quoted
from gpuprims.expressions.masks import plain_array
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.map.diff import diff as differences
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.scan import scan

_DOTS = WarmCalls()
Axis = int | tuple[int, ...] | None


@refusing_keywords
def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Return sums. Sums of small integers have 64 bits.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.sum(np.arange(6, dtype=np.uint8).reshape(2, 3), axis=1)
    array([ 3, 12], dtype=uint64)
    """
    return reduce(x, op="sum", axis=axis, dtype=dtype, keepdims=keepdims)


@refusing_keywords
def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Return products. Products of small integers have 64 bits."""
    return reduce(x, op="prod", axis=axis, dtype=dtype, keepdims=keepdims)


@refusing_keywords
def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return the largest elements, or NaN if there is one."""
    return reduce(x, op="max", axis=axis, keepdims=keepdims)


@refusing_keywords
def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return the smallest elements, or NaN if there is one."""
    return reduce(x, op="min", axis=axis, keepdims=keepdims)


@refusing_keywords
def mean(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return means."""
    return reduce(x, op="mean", axis=axis, keepdims=keepdims)


@refusing_keywords
def std(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Return standard deviations; ``correction`` is NumPy's ``ddof``."""
    return reduce(x, op="std", axis=axis, ddof=_ddof(correction), keepdims=keepdims)


@refusing_keywords
def var(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """Return variances; ``correction`` is NumPy's ``ddof``."""
    return reduce(x, op="var", axis=axis, ddof=_ddof(correction), keepdims=keepdims)


def _ddof(correction: float) -> float:
    """Return whole corrections as integers, by which calls find their plans."""
    return int(correction) if type(correction) is float and correction.is_integer() else correction


@refusing_keywords
def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return True where all elements are true."""
    return reduce(x, op="all", axis=axis, keepdims=keepdims)


@refusing_keywords
def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return True where an element is true."""
    return reduce(x, op="any", axis=axis, keepdims=keepdims)


@refusing_keywords
def count_nonzero(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """Return how many elements are not zero."""
    return reduce(x, op="count_nonzero", axis=axis, keepdims=keepdims)


@refusing_keywords
def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the index of the first largest element, or of the first NaN."""
    return reduce(x, op="argmax", axis=axis, keepdims=keepdims)


@refusing_keywords
def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the index of the first smallest element, or of the first NaN."""
    return reduce(x, op="argmin", axis=axis, keepdims=keepdims)


@refusing_keywords
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return inner products along an axis, with the complex conjugate of the first array; integers keep their dtype.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.vecdot(np.eye(2), np.array([3.0, 4.0])).tolist()
    [3.0, 4.0]
    """
    key, arrays, run = _DOTS.find_into(axis, (x1, x2), None) if type(axis) is int else (None, (x1, x2), None)
    if run is None:
        run = _dot(x1, x2, axis)
        _DOTS.keep_run(key, run)
    return run(arrays)


def _dot(x1: Any, x2: Any, axis: int) -> Run:
    """Return the function that takes inner products of arrays like these, which are checked."""
    # The axis is counted from the end, because the arrays may have unlike numbers of axes.
    given: Any = axis
    if not isinstance(given, int | np.integer) or given >= 0:
        raise ArgumentError(f"vecdot: axis= below 0, counted from the last; got {quoted(axis)}")
    # Plain arrays are what they seem; describing others takes longer than a short call.
    plain = builtins.all(type(one) is np.ndarray and one.dtype.kind in "biufc" for one in (x1, x2))
    natives = (x1, x2) if plain else as_operands("vecdot", (x1, x2), None).natives
    if axis < -builtins.min(axes := [one.ndim for one in natives]):
        raise AxisError(f"vecdot: axis= of an axis that both arrays have; got {axis} for {axes[0]} and {axes[1]} axes")
    lengths = [one.shape[axis] for one in natives]
    if lengths[0] != lengths[1]:  # NumPy would repeat a vector of one element; the array API forbids that
        raise ShapeError(f"vecdot: vectors of equal length; got {lengths[0]} and {lengths[1]} along axis {axis}")
    # Sums of small integers have 64 bits, but inner products the dtype of a product.
    dtype = np.result_type(*(one.dtype for one in natives))
    if dtype.kind == "b":  # NumPy's product of bools is their conjunction, and its sum a disjunction
        return lambda arrays: reduce(*arrays, op="any", map="x & y", axis=axis)
    own = dtype if dtype.kind in "iu" else None
    return lambda arrays: reduce(*arrays, map="conj(x) * y", axis=axis, dtype=own)


@refusing_keywords
def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Return cumulative sums along an axis. ``axis`` is optional for 1-d arrays; ``include_initial`` puts 0 first.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.cumulative_sum(np.arange(4), include_initial=True).tolist()
    [0, 0, 1, 3, 6]
    """
    return _running("cumulative_sum", "sum", x, axis, dtype, include_initial=include_initial)


@refusing_keywords
def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Return cumulative products along an axis; ``include_initial`` puts 1 first."""
    return _running("cumulative_prod", "prod", x, axis, dtype, include_initial=include_initial)


def _running(label: str, op: Any, x: Any, axis: int | None, dtype: Any, *, include_initial: bool) -> Any:
    check_flags(label, include_initial=include_initial)
    x = x if hasattr(x, "ndim") else plain_array(label, x)
    if axis is None:
        if x.ndim > 1:
            raise ArgumentError(f"{label}: axis= for an array of {x.ndim} axes; got None")
        axis = 0
    x = x if x.ndim else x.reshape(1)  # as for NumPy, a number is a vector of one element
    running = scan(x, op=op, axis=axis, dtype=dtype)
    if not include_initial:
        return running
    nothing = _cut(x, axis, slice(0, 0))
    return concatenated([reduce(nothing, op=op, axis=axis, dtype=dtype, keepdims=True), running], axis)


@refusing_keywords
def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Return differences of neighbours along an axis, ``n`` times; of bools whether they differ.

    Examples
    --------
    >>> import numpy as np, gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     gpuprims.xp.diff(np.array([1, 4, 9, 16]), n=2).tolist()
    [2, 2]
    """
    return differences(x, n, axis, prepend, append)


def _cut(x: Any, axis: int, part: slice) -> Any:
    """Return a part of an array along an axis, a view where its library makes one."""
    at = axis % x.ndim
    return x[(slice(None),) * at + (part,)]


def concatenated(arrays: list[Any], axis: int) -> Any:
    """Join arrays along an axis: by their own library, those of a device by maps."""
    first = arrays[0]
    at = axis % first.ndim
    device = device_of(first)
    if device is None:
        root = type(first).__module__.partition(".")[0]
        return sys.modules[_WITH_CONCATENATE.get(root, root)].concatenate(arrays, at)
    shape = list(first.shape)
    shape[at] = builtins.sum(one.shape[at] for one in arrays)
    dtype, start = np.result_type(*(one.dtype for one in arrays)), 0
    whole = device.driver.empty(tuple(shape), dtype)
    for one in arrays:
        end = start + one.shape[at]
        if one.size:
            map_elements(lambda element: element.astype(dtype), one, out=_cut(whole, at, slice(start, end)))
        start = end
    return whole


# Where libraries have the function, by the root of their array's class.
_WITH_CONCATENATE = {"jaxlib": "jax.numpy", "jax": "jax.numpy"}
