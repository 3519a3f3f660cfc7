"""median, quantile and percentile, by selection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.host_values import host_values
from gpuprims.core.keywords import check_flags, is_one_of, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out
from gpuprims.core.taking import with_the_same
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.core.warm_calls import WarmCalls, by_value
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, did_you_mean, quoted
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.ordering import check_ordered
from gpuprims.primitives.selection.by_numpy import Way
from gpuprims.primitives.selection.methods import METHODS, OF_ELEMENTS
from gpuprims.primitives.selection.plan import beside_arrays
from gpuprims.primitives.selection.quantile_plans import QuantileRequest, plan_call

MOST = {"quantile": 1, "percentile": 100}
_NUMBERS = frozenset({int, float})
_WARM = WarmCalls()


def _folded(
    label: str, x: Any, axis: Any, keepdims: bool, device: str | Device | None
) -> tuple[Operands, tuple[int, ...], int, tuple[int, ...]]:
    """Return the operands, the axes to fold, their number of elements, and the shape of one quantile."""
    operands = as_operands(label, (x,), device)
    check_flags(label, keepdims=keepdims)
    (native,) = operands.natives
    check_ordered(label, native.dtype)
    axes = axes_of(as_axis(axis), len(native.shape))
    n = math.prod(native.shape[one] for one in axes)
    if not n and label != "median":
        raise ShapeError(f"{label}: one element or more along axis={axis}; got an array of shape {native.shape}")
    lengths = [1 if one in axes else length for one, length in enumerate(native.shape)]
    shape = tuple(lengths if keepdims else [length for one, length in enumerate(lengths) if one not in axes])
    return operands, axes, n, shape


Bound = tuple[Operands, QuantileRequest, Out | None, str | Variant | None]


def bind_median(
    arrays: tuple[Any, ...],
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    keepdims: bool = False,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> Bound:
    """Find the device of a call, and add the array of middle ranks."""
    if len(arrays) != 1:
        raise ArgumentError(f"median: one array; got {len(arrays)}")
    operands, axes, n, shape = _folded("median", arrays[0], axis, keepdims, device)
    own = operands.natives[0].dtype
    way: Way = "element" if n % 2 else "mean"
    request = QuantileRequest(way, axes, own if own.kind == "f" else np.dtype(np.float64), 1, shape)
    middle = np.unique([max(n - 1, 0) // 2, n // 2]).astype(np.int64)
    result = None if out is None else as_out(operands, out)
    return beside_arrays(operands, middle), request, result, asked_by_name("median", variant)


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
    """Return the median, as :func:`numpy.median` does.

    Parameters
    ----------
    x : array_like
        Real numbers or bools.
    axis : int or tuple of int, optional
        The axes along which to take medians. By default all.
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
        The middle element, or the mean of the two middle elements. NaN if an element is NaN, or without elements. The
        dtype is that of ``x``, or float64 for integers and bools.

    Raises
    ------
    ArgumentError, AxisError, ShapeError, DtypeError, ArrayError, DeviceMismatchError
        Arguments that do not fit.
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
    key = None
    if keepdims is False and out is None and (axis is None or by_value(axis)):
        key, given, run = _WARM.find_into((axis, variant), (x,), None, device)
        if run is not None:
            return run(given)
    operands, request, result, asked = bind_median((x,), axis, out, keepdims, device, variant)
    plan = find_plan(plan_call, operands, request, result, asked)
    _WARM.keep(key, plan, operands, with_the_same(operands, 1))
    return plan.run(operands, result)


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
    """Return quantiles, as :func:`numpy.quantile` does.

    Parameters
    ----------
    x : array_like
        Real numbers.
    q : float or array_like of float
        Probabilities from 0 to 1.
    axis : int or tuple of int, optional
        The axes along which to take quantiles. By default all.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of ``x``. By default a new array.
    method : str, default "linear"
        How to compute a quantile between two elements, by NumPy's names: ``"linear"``, ``"lower"``, ``"higher"``,
        ``"nearest"``, ``"midpoint"``, ``"inverted_cdf"``, ``"averaged_inverted_cdf"``, ``"closest_observation"``,
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
        Quantiles: the axes of ``q``, followed by the remaining axes of ``x``. NaN if an element is NaN. For floats the
        dtype is that of ``x``, or float64 if ``q`` is a float64 array. For integers it is float64, also where NumPy's
        differences overflow in int8, or the dtype of ``x`` for methods that choose an element: ``"lower"``,
        ``"higher"``, ``"nearest"``, ``"inverted_cdf"`` and ``"closest_observation"``.

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
    return _quantiles("quantile", x, q, axis, out, method, keepdims, device, variant)


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
    """Return percentiles, as :func:`numpy.percentile` does: :func:`quantile` of ``q / 100``.

    The other parameters are those of :func:`quantile`.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.percentile(np.float32([3, 1, 4, 1, 5]), 50, device="reference")
    np.float32(3.0)
    """
    if unknown:
        refuse_keywords("percentile", keywords_of(percentile), unknown)
    return _quantiles("percentile", x, q, axis, out, method, keepdims, device, variant)


def _by_value(q: Any) -> tuple[Any, ...] | None:
    """Return a key for a Python number, or a list or tuple of them; None for other objects."""
    kind = type(q)
    if kind is float or kind is int:
        return kind, q
    given = q if kind is list or kind is tuple else (q,)
    kinds = tuple([type(one) for one in given])
    return (kind, *kinds, *given) if _NUMBERS.issuperset(kinds) else None


def _fractions(label: str, q: Any, most: int) -> tuple[np.ndarray, np.dtype[Any]]:
    """Return ``q=`` as float64 from 0 to 1, or raise, and its dtype."""
    given = host_values(label, q, f"q= numbers from 0 to {most}")
    if given.dtype.kind not in "fiub":
        raise DtypeError(f"{label}: q= numbers from 0 to {most}; got {quoted(q)}")
    fractions = given.astype(np.float64) / most
    if not np.all((fractions >= 0) & (fractions <= 1)):
        hint = " (percentile takes percents)" if most == 1 else ""
        raise ArgumentError(f"{label}: q= from 0 to {most}; got {quoted(q)}{hint}")
    return fractions, given.dtype


def _quantiles(
    label: str, x: Any, q: Any, axis: Any, out: Any, method: str, keepdims: bool, device: Any, variant: Any
) -> Any:
    key = None
    if keepdims is False and out is None and (at := _by_value(q)) is not None and by_value(axis):
        key, given, run = _WARM.find_into((label, at, axis, method, variant), (x,), None, device)
        if run is not None:
            return run(given)
    how = axis, out, method, keepdims, device, variant
    operands, request, result, asked = bind_quantile(label, (x, q), None, *how)
    plan = find_plan(plan_call, operands, request, result, asked)
    _WARM.keep(key, plan, operands, with_the_same(operands, len(operands.natives) - 1))
    return plan.run(operands, result)


def bind_quantile(
    label: str,
    arrays: tuple[Any, ...],
    q: Any = None,
    axis: int | tuple[int, ...] | None = None,
    out: Any = None,
    method: str = "linear",
    keepdims: bool = False,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> Bound:
    """Find the device of a call, and add arrays of ranks and fractions; ``q`` may be the second of ``arrays``."""
    given = arrays if q is None else (*arrays, q)
    if len(given) != 2:
        raise ArgumentError(f"{label}: an array and q; got {len(given)} argument(s)")
    x, q = given
    operands, axes, n, kept = _folded(label, x, axis, keepdims, device)
    fractions, of_q = _fractions(label, q, MOST[label])
    if not is_one_of(method, METHODS):
        known = ", ".join(METHODS)
        raise ArgumentError(f"{label}: method= among {known}; got {quoted(method)}{did_you_mean(method, METHODS)}")
    own = operands.natives[0].dtype
    if own.kind == "b":
        raise DtypeError(f"{label}: numbers, to interpolate; got dtype bool (convert them, for example to uint8)")
    dtype = own if own.kind == "f" else np.dtype(np.float64)
    if type(q) not in (int, float):
        dtype = np.result_type(own, of_q if of_q.kind == "f" else np.float64)
    places = np.clip(METHODS[method](n, fractions.reshape(-1)), 0, n - 1)
    before, shape = np.floor(places), (*fractions.shape, *kept)
    result, asked = None if out is None else as_out(operands, out), asked_by_name(label, variant)
    whole = label == "quantile" and of_q.kind in "iu"  # the smallest or the largest element, in its own dtype
    if method in OF_ELEMENTS or (method == "linear" and whole):  # as NumPy
        request = QuantileRequest("element", axes, own, places.size, shape)
        return beside_arrays(operands, before.astype(np.int64)), request, result, asked
    ranks = np.concatenate([before, np.minimum(before + 1, n - 1)]).astype(np.int64)
    parts = (places - before).astype(dtype).reshape(fractions.shape + (1,) * len(kept))
    request = QuantileRequest("between", axes, dtype, places.size, shape)
    return beside_arrays(operands, ranks, parts), request, result, asked
