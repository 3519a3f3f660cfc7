"""histogram and bincount: how many elements lie in each bin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuprims.core.device import Device, device_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.primitive import Primitive
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, quoted
from gpuprims.expressions.masks import plain_array, refuse_masked
from gpuprims.operators import Op
from gpuprims.operators.extremes import highest, lowest
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.histogram.binning import Table, check_bins, direct, key_dtype, table_of_edges, table_of_range
from gpuprims.primitives.histogram.counting import Weighing, count, table_on
from gpuprims.primitives.histogram.variants import VARIANTS
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce

PRIMITIVE = Primitive("histogram", VARIANTS)

# Bins that bincount tries at once, so that small values are read once alone.
_TRIED = 1024
# Counts that are tried whatever the number of elements.
_ALWAYS_TRIED = 2**16


def histogram(
    x: Any,
    bins: Any = 10,
    range: tuple[float, float] | None = None,  # noqa: A002 - NumPy's name
    density: bool | None = None,
    weights: Any = None,
    *,
    axis: int | tuple[int, ...] | None = None,
    deterministic: bool = True,
    device: str | Device | None = None,
    variant: str | None = None,
) -> tuple[Any, Any]:
    """Count the elements in each bin, as :func:`numpy.histogram`.

    Parameters
    ----------
    x : array_like
        Real numbers, of any shape.
    bins : int or array_like, default 10
        How many bins of one width, or their edges, ascending.
    range : (low, high), optional
        The first and the last edge of so many bins; by default the smallest and the largest element. Elements outside
        are left out, as NaN is.
    density : bool, optional
        Return, instead of counts, a density whose integral over the bins is 1.
    weights : array_like, optional
        What each element counts, of the shape of ``x``; sums have their dtype.
    axis : int or tuple of int, optional
        Count along these axes alone, for a histogram of each row; all have the same edges.
    deterministic : bool, default True
        Whether sums of float weights are to be the same from run to run. Without, they are added by atomic operations
        as they come.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    counts : array
        Of int64, or the dtype of the weights, or float64 of a density; along its last axis the bins, after the axes
        that are not counted along.
    edges : array
        One more than there are bins.

    Raises
    ------
    ArgumentError, ShapeError, AxisError
        Bins that do not rise, a range that is not finite, weights of another shape.
    DtypeError
        Complex elements.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.reduce`.

    Notes
    -----
    A bin holds its left edge, and the last one its right edge too. The bin of an element on an edge, or so near to one
    that arithmetic rounds, is NumPy's. So that sums are the same from run to run, float weights are cut into integers
    on GPUs, by the size of the largest in their bin, and added up in order on CPUs.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> counts, edges = gpuprims.histogram([1, 2, 1, 4], bins=[0, 1, 2, 3], device="reference")
    >>> counts, edges
    (array([0, 2, 1]), array([0, 1, 2, 3]))
    >>> gpuprims.histogram(np.float32([[0, 1, 1], [2, 2, 9]]), bins=3, range=(0, 3), axis=1, device="reference")[0]
    array([[1, 2, 0],
           [0, 0, 2]])
    """
    operands = _bind("histogram", x, weights, device)
    axes = axes_of(as_axis(axis), operands.natives[0].ndim)
    table = _table(operands, bins, range)
    weighing = _weighing(operands, deterministic, as_floats=bool(density))
    # Before the counts, behind which what is copied from the host would wait for the elements.
    edges = operands.hand_over(table.edges, lambda: table_on(operands, table, "edges"))
    dtype = None if density or weights is None else operands.natives[1].dtype
    counts = count(operands, table, axes, weighing, len(table.edges) - 1, variant, dtype=dtype)
    if density:
        counts = _density(operands, counts, np.diff(table.edges))
    return operands.finish(counts), edges


def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    axis: int | None = None,
    deterministic: bool = True,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Count how often each number occurs, as :func:`numpy.bincount`.

    Parameters
    ----------
    x : array_like of int
        Not negative; of one dimension, or of any with ``axis``.
    weights : array_like, optional
        What each element counts, of the shape of ``x``; the sums are float64.
    minlength : int, default 0
        Fewest numbers to count; as many as the largest element and one, if that is more.
    axis : int, optional
        Count along this axis alone, for counts of each row.
    deterministic : bool, default True
        Whether sums of float weights are to be the same from run to run; see :func:`gpuprims.histogram`.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, of a histogram's, instead of the best one.

    Returns
    -------
    array
        Of int64, or of float64 with weights; the numbers are along its last axis. Of int64 for an empty array, with or
        without weights, as in NumPy. The call waits for the largest number.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError
        A negative element or length, elements that are not integers.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.reduce`.

    Examples
    --------
    >>> import gpuprims
    >>> gpuprims.bincount([0, 1, 1, 3, 2, 1, 7], device="reference")
    array([1, 3, 1, 1, 0, 0, 0, 1])
    >>> gpuprims.bincount([0, 1, 1], weights=[0.5, 1, 2], minlength=3, device="reference")
    array([0.5, 3. , 0. ])
    """
    if isinstance(x, list | tuple) and not len(x):
        x = np.zeros(0, np.int64)  # which NumPy would make float64
    operands = _bind("bincount", x, weights, device)
    array = operands.natives[0]
    if array.dtype.kind not in "iub":
        raise DtypeError(f"bincount: integers; got dtype {array.dtype}")
    if axis is None and array.ndim != 1:
        raise ShapeError(f"bincount: an array of one dimension, or axis=; got shape {array.shape}")
    axes = axes_of(as_axis(axis), array.ndim)
    weighing = _weighing(operands, deterministic, as_floats=True)
    return operands.finish(_numbers(operands, axes, _length(minlength), weighing, variant))


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


# edges ---------------------------------------------------------------------------------------------------------------


def _table(operands: Operands, bins: Any, limits: Any) -> Table:
    """Return the table of a call's bins."""
    array = operands.natives[0]
    key_dtype(array.dtype)  # raises for what has no order
    if isinstance(bins, str):
        raise ArgumentError(
            f"histogram: a number of bins, or their edges; got {quoted(bins)} (numpy.histogram_bin_edges)"
        )
    given = _given_edges(bins)
    if given.ndim == 0:
        number = _number_of(given)
        low, high = _limits(operands) if limits is None else _checked_limits(limits)
        return table_of_range(array.dtype, number, low, high)
    if given.ndim != 1:
        raise ShapeError(f"histogram: edges of one dimension; got {given.shape}")
    if given.dtype.kind not in "iufb" or given.size < 2:
        raise ArgumentError(f"histogram: two edges or more, of real numbers; got {given.size} of dtype {given.dtype}")
    if not (given[1:] >= given[:-1]).all():
        raise ArgumentError("histogram: edges that do not fall; got some that do, or NaN")
    check_bins("histogram", given.size - 1)
    return table_of_edges(array.dtype, given)


def _given_edges(bins: Any) -> np.ndarray:
    """Return edges, or a number of them, as an array of the host, wherever they lie."""
    home = device_of(bins)
    if home is not None:
        return home.driver.to_host(bins)
    return plain_array("histogram", bins, "a number of bins, or their edges", ArgumentError)


def _number_of(bins: np.ndarray) -> int:
    if bins.dtype.kind not in "iu" or bins < 1:
        raise ArgumentError(f"histogram: a positive number of bins, or their edges; got {quoted(bins.tolist())}")
    return check_bins("histogram", int(bins))


def _checked_limits(limits: Any) -> tuple[Any, Any]:
    refuse_masked("histogram: range=", limits)
    try:
        low, high = (end[()] if isinstance(end, np.ndarray) else end for end in limits)
        fits = bool(np.isfinite(low) and np.isfinite(high) and low <= high)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"histogram: range=(low, high), two real numbers; got {quoted(limits)}") from error
    if not fits:
        raise ArgumentError(f"histogram: range= of finite numbers, the first no larger; got {quoted(limits)}")
    return low, high


_ENDS = Op(
    lambda p, q: (np.minimum(p[0], q[0]), np.maximum(p[1], q[1])),
    lambda dtypes: (*highest(dtypes[:1]), *lowest(dtypes[1:])),
    components=2,
    prepare=lambda x, j: (x, x),
    commutative=True,
    name="the smallest and the largest",
)


def _limits(operands: Operands) -> tuple[Any, Any]:
    """Return the smallest and the largest element, by one reading of the array."""
    array = operands.natives[0]
    if not math.prod(array.shape):
        return 0, 1
    found = reduce(array, op=_ENDS, device=operands.device)
    low, high = (operands.fetch(one)[()] for one in found)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ArgumentError(f"histogram: a finite range, where none is given that of the elements; got [{low}, {high}]")
    return (int(low), int(high)) if array.dtype == np.bool_ else (low, high)


# sums ----------------------------------------------------------------------------------------------------------------


def _weighing(operands: Operands, deterministic: Any, *, as_floats: bool) -> Weighing:
    """Say how weights are added up; with ``as_floats`` those of 64 bits as float64, as the result is."""
    if len(operands.natives) == 1:
        return Weighing("counts")
    dtype = operands.natives[1].dtype
    if dtype.kind == "c":
        raise DtypeError(f"{operands.label}: real weights; got dtype {dtype}")
    if dtype.kind in "iub" and not (as_floats and dtype.itemsize == 8):
        return Weighing("integers")
    return Weighing("floats", bool(deterministic))


def _numbers(operands: Operands, axes: tuple[int, ...], minlength: int, weighing: Weighing, variant: str | None) -> Any:
    """Return the counts of as many numbers as there are: by one reading where they are small."""
    array = operands.natives[0]
    size, dtype = math.prod(array.shape), None if len(operands.natives) == 1 else np.dtype(np.float64)
    if not size:  # NumPy ignores their weights
        return count(operands, direct(minlength), axes, weighing, minlength, variant, dtype=np.dtype(np.int64))
    tried = max(minlength, 256 if array.dtype == np.uint8 else _TRIED)
    outputs = size // math.prod(array.shape[k] for k in axes)
    if weighing.sums == "counts" and outputs * tried <= max(size, _ALWAYS_TRIED):
        sums = count(operands, direct(tried), axes, weighing, tried, variant, outside=True)
        seen = operands.fetch(_outside(operands, sums, tried, all_of_them=tried != minlength))
        if not (seen[-2] or seen[-1]):
            length = tried if tried == minlength else max(minlength, int(np.flatnonzero(seen)[-1]) + 1)
            if outputs == 1:
                return operands.cut(sums, 0, (*sums.shape[:-1], length))
            return _mapped(operands, "x", sums[..., :length])  # an array of its own, without what lies between rows
    low, high = (int(end) for end in _limits(operands))
    if low < 0:
        raise ArgumentError(f"bincount: elements from 0 on; got {low}")
    length = check_bins("bincount", max(minlength, high + 1))
    return count(operands, direct(length), axes, weighing, length, variant, dtype=dtype)


def _outside(operands: Operands, sums: Any, bins: int, *, all_of_them: bool) -> Any:
    """Return how many elements are in no bin, too high and too low, of all rows; after those that are, if asked."""
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
