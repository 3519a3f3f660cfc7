"""Medians and quantiles, as NumPy's, by selection of the elements between which they lie."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.arrays import copy_on
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, did_you_mean, quoted
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.ordering import check_ordered
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.selection.methods import METHODS, OF_ELEMENTS
from gpuprims.primitives.selection.plan import select
from gpuprims.primitives.signatures import Where


class _Call(NamedTuple):
    operands: Operands
    axes: tuple[int, ...]
    n: int
    shape: tuple[int, ...]  # of the result for one quantile
    variant: Any


def _call(label: str, x: Any, axis: Any, keepdims: bool, where: Where) -> _Call:
    """Check the arguments that all functions have."""
    operands = as_operands(label, (x,), where.get("device"))
    (native,) = operands.natives
    check_ordered(label, native.dtype)
    axes = axes_of(as_axis(axis), len(native.shape))
    n = math.prod(native.shape[one] for one in axes)
    if not n:
        raise ShapeError(f"{label}: one element or more along axis={axis}; got an array of shape {native.shape}")
    lengths = [1 if one in axes else length for one, length in enumerate(native.shape)]
    shape = tuple(lengths if keepdims else [length for one, length in enumerate(lengths) if one not in axes])
    return _Call(operands, axes, n, shape, asked_by_name(label, where.get("variant")))


def _ranked(call: _Call, ranks: np.ndarray) -> Any:
    """Return the elements of some ranks, along the first axis of an array of the caller's library."""
    return select(call.operands, call.axes, ranks.tolist(), call.variant)


def _largest(call: _Call, x: Any) -> Any:
    """Return the largest element of each row, NaN if there is one."""
    found = reduce(x, op="max", axis=call.axes, keepdims=True, device=call.operands.device)
    return found.reshape(call.shape)


def _there(call: _Call, array: np.ndarray) -> Any:
    """Return an array of the host where those of the call lie."""
    return array if call.operands.on_host else copy_on(call.operands.device, array)


def _is_float(call: _Call) -> bool:
    return bool(call.operands.natives[0].dtype.kind == "f")


@named_keywords
def median(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    *,
    keepdims: bool = False,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the median, as :func:`numpy.median`, by selection.

    Parameters
    ----------
    x : array_like
        Real numbers or bools.
    axis : int or tuple of int, optional
        The axes along which to take medians; by default all.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of ``x``. By default a new array.
    keepdims : bool, default False
        True to keep these axes, with length 1.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel of ``selection`` to use, instead of the best one.

    Returns
    -------
    array
        The middle element, or the mean of the two in the middle; NaN if an element is NaN. Of integers and bools
        float64.

    Raises
    ------
    ArgumentError, AxisError, ShapeError, DtypeError, ArrayError, DeviceMismatchError
        Arguments that do not fit; an empty array.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.median(np.float32([3, 1, 4, 1]), device="reference")
    np.float32(2.0)
    """
    if unknown:
        refuse_keywords("median", keywords_of(median), unknown)
    call = _call("median", x, axis, keepdims, {"device": device, "variant": variant})
    middle = np.unique([(call.n - 1) // 2, call.n // 2])
    found, count = _ranked(call, middle), middle.size
    dtype = call.operands.natives[0].dtype if _is_float(call) else np.dtype(np.float64)
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype

    def mean(low: Any, high: Any, largest: Any) -> Any:
        middle_ = low.astype(wide) if count == 1 else (low.astype(wide) + high.astype(wide)) / wide.type(2)
        return np.where(np.isnan(largest), largest, middle_.astype(dtype)) if _is_float(call) else middle_.astype(dtype)

    low, high = found[:1].reshape(call.shape), found[count - 1 :].reshape(call.shape)
    largest = _largest(call, x) if _is_float(call) else low
    return _returned(map_arrays(mean, low, high, largest, out=out, device=call.operands.device), out)


def _returned(result: Any, out: Any) -> Any:
    """Return a result as NumPy does: a scalar in place of an array without axes, unless it is the caller's."""
    return result[()] if out is None and isinstance(result, np.ndarray) and not result.shape else result


@named_keywords
def quantile(
    x: Any,
    q: Any,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return quantiles, as :func:`numpy.quantile`, by selection.

    Parameters
    ----------
    x : array_like
        Real numbers.
    q : float or array_like of float
        Quantiles from 0 to 1, on the host.
    axis : int or tuple of int, optional
        The axes along which to take quantiles; by default all.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of ``x``. By default a new array.
    method : str, default "linear"
        How to choose between two elements: NumPy's ``"linear"``, ``"lower"``, ``"higher"``, ``"nearest"``,
        ``"midpoint"``, ``"inverted_cdf"``, ``"averaged_inverted_cdf"``, ``"closest_observation"``,
        ``"interpolated_inverted_cdf"``, ``"hazen"``, ``"weibull"``, ``"median_unbiased"`` or ``"normal_unbiased"``.
    keepdims : bool, default False
        True to keep these axes, with length 1.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel of ``selection`` to use, instead of the best one.

    Returns
    -------
    array
        Of the shape of ``q``, followed by the other axes. Floats have the dtype of ``x``, or float64 if ``q`` is an
        array of float64. Integers give float64, or their own dtype with methods that choose an element: ``"lower"``,
        ``"higher"``, ``"nearest"``, ``"inverted_cdf"`` and ``"closest_observation"``. NaN if an element is NaN.

    Raises
    ------
    ArgumentError, AxisError, ShapeError, DtypeError, ArrayError, DeviceMismatchError
        Arguments that do not fit; an empty array.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([3, 1, 4, 1, 5])
    >>> gpuprims.quantile(x, 0.5, device="reference")
    np.float32(3.0)
    >>> gpuprims.quantile(x, [0.25, 0.9], method="lower", device="reference")
    array([1., 4.], dtype=float32)
    """
    if unknown:
        refuse_keywords("quantile", keywords_of(quantile), unknown)
    call = _call("quantile", x, axis, keepdims, {"device": device, "variant": variant})
    return _quantiles("quantile", call, x, q, _fractions("quantile", q, 1), method, out)


@named_keywords
def percentile(
    x: Any,
    q: Any,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return percentiles, as :func:`numpy.percentile`: :func:`quantile` of ``q / 100``, with its other parameters.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.percentile(np.float32([3, 1, 4, 1, 5]), 50, device="reference")
    np.float32(3.0)
    """
    if unknown:
        refuse_keywords("percentile", keywords_of(percentile), unknown)
    call = _call("percentile", x, axis, keepdims, {"device": device, "variant": variant})
    return _quantiles("percentile", call, x, q, _fractions("percentile", q, 100), method, out)


def _fractions(label: str, q: Any, most: int) -> np.ndarray:
    """Return quantiles as float64 from 0 to 1, or raise."""
    try:
        given = np.asarray(q)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{label}: q= numbers from 0 to {most}, on the host; got {type(q).__name__}") from error
    if given.dtype.kind not in "fiub":
        raise DtypeError(f"{label}: q= numbers from 0 to {most}, on the host; got dtype {given.dtype}")
    fractions = given.astype(np.float64) / most
    if not np.all((fractions >= 0) & (fractions <= 1)):
        hint = " (percentile takes percents)" if most == 1 else ""
        raise ArgumentError(f"{label}: q= from 0 to {most}; got {quoted(q)}{hint}")
    return fractions


def _quantiles(label: str, call: _Call, x: Any, q: Any, fractions: np.ndarray, method: str, out: Any) -> Any:
    if method not in METHODS:
        known = ", ".join(METHODS)
        raise ArgumentError(f"{label}: method= among {known}; got {quoted(method)}{did_you_mean(method, METHODS)}")
    own = call.operands.natives[0].dtype
    if own.kind == "b":
        raise DtypeError(f"{label}: numbers, between which quantiles lie; got dtype bool (convert them, as to uint8)")
    dtype, given = own if own.kind == "f" else np.dtype(np.float64), np.asarray(q).dtype
    if type(q) not in (int, float):
        dtype = np.result_type(own, given if given.kind == "f" else np.float64)
    of_elements = method in OF_ELEMENTS or (method == "linear" and given.kind in "iu")  # as NumPy
    dtype = own if of_elements else dtype
    places = np.clip(METHODS[method](call.n, fractions.reshape(-1)), 0, call.n - 1)
    before = np.floor(places)
    ranks = before if of_elements else np.concatenate([before, np.minimum(before + 1, call.n - 1)])
    found = _ranked(call, ranks.astype(np.int64))
    count = places.size
    shape = (*fractions.shape, *call.shape)
    parts = (places - before).astype(dtype).reshape(fractions.shape + (1,) * len(call.shape))
    low, high = found[:count].reshape(shape), (found[-count:] if count else found).reshape(shape)
    largest = _largest(call, x) if _is_float(call) else low

    def between(a: Any, b: Any, t: Any, most: Any) -> Any:
        if of_elements:
            return np.where(np.isnan(most), most, a) if _is_float(call) else a
        step = (b - a).astype(dtype) if _is_float(call) else b.astype(dtype) - a.astype(dtype)  # rounded as in NumPy
        a, b = a.astype(dtype), b.astype(dtype)
        number = np.where(t >= dtype.type(0.5), b - step * (dtype.type(1) - t), a + step * t)
        return np.where(np.isnan(most), most.astype(dtype), number) if _is_float(call) else number

    arrays = low, high, _there(call, parts), largest
    return _returned(map_arrays(between, *arrays, out=out, device=call.operands.device), out)
