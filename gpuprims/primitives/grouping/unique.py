"""unique: the distinct elements of an array."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack, overload

import numpy as np

from gpuprims.core.call_keys import Key
from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import AxisError, quoted
from gpuprims.expressions import trace
from gpuprims.primitives.grouping.by_numpy import DISTINCT, computed_by_numpy, distinct_by_numpy, takes_few
from gpuprims.primitives.grouping.consecutive import returned
from gpuprims.primitives.grouping.direct import direct_distinct
from gpuprims.primitives.grouping.distinct import DistinctRequest, plan_distinct, takes_one_plan
from gpuprims.primitives.grouping.few import few_distinct
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.indices import numbers, scatter
from gpuprims.primitives.grouping.runs import find_lengths, find_runs
from gpuprims.primitives.grouping.scanned_runs import Wanted
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.signatures import Array, Host, HostArray, UniqueKeywords
from gpuprims.primitives.sort.calls import in_order
from gpuprims.primitives.take import take

_INT64 = np.dtype(np.int64)
_WARM = WarmCalls()
_AS_INT64 = trace(lambda index: index.astype(np.int64), 1)


@overload
def unique(x: Host, **keywords: Unpack[UniqueKeywords]) -> HostArray: ...
@overload
def unique(x: Array, **keywords: Unpack[UniqueKeywords]) -> Array: ...
@overload
def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: None = None,
    **keywords: Unpack[UniqueKeywords],
) -> Any: ...


@named_keywords
def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: None = None,
    *,
    equal_nan: bool = True,
    out: Any = None,
    device: str | Device | None = None,
    **unknown: Any,
) -> Any:
    """Return the distinct elements in ascending order, as :func:`numpy.unique` does.

    Parameters
    ----------
    x : array_like
        An array of any shape, read in C order.
    return_index : bool, default False
        True to return the index of the first occurrence of each distinct element, too.
    return_inverse : bool, default False
        True to return, for each element of ``x``, its index among the distinct elements, too.
    return_counts : bool, default False
        True to return how often each distinct element occurs, too.
    axis : None
        For compatibility with NumPy. It must be None: slices along an axis are not compared.
    equal_nan : bool, default True
        True if NaN equals NaN.
    out : array or tuple of arrays, optional
        Where to write: for each result an array on the device of ``x``, with the dtype of the result and at least its
        length. The length of ``x`` is always enough. The inverse has the shape of ``x``. By default new arrays.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array or tuple of arrays
        The distinct elements. With ``return_index``, ``return_inverse`` or ``return_counts``, a tuple of these, the
        indices, the inverse and the counts, as int64. The inverse has the shape of ``x``. Arrays are of the library of
        ``x``. With ``out``, they are views of the first elements of its arrays.

    Raises
    ------
    AxisError, ShapeError
        An ``axis``; an ``out`` that is too short, found when the number of distinct elements is known.
    ArrayError, DtypeError, DeviceMismatchError
        As :func:`gpuprims.sort`.

    Notes
    -----
    The elements are sorted, with their indices if needed, and the first of each run is kept. Integers in a small range,
    and large arrays with up to about a thousand distinct integers, are counted instead, unless indices or the inverse
    are wanted. NaN is last, and -0.0 equals 0.0. Complex numbers are ordered by their real parts, then by their
    imaginary parts. A call waits for the number of distinct elements. Before that it may wait for the smallest and the
    largest integer, and for a sample.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.int32([[3, 1], [3, 2]])
    >>> gpuprims.unique(x, device="reference")
    array([1, 2, 3], dtype=int32)
    >>> distinct, inverse, counts = gpuprims.unique(x, return_inverse=True, return_counts=True, device="reference")
    >>> inverse
    array([[2, 0],
           [2, 1]])
    >>> counts
    array([1, 1, 2])
    """
    if unknown:
        refuse_keywords("unique", keywords_of(unique), unknown)
    if axis is not None:
        refuse_axis(axis)
    wanted = return_index, return_inverse, return_counts
    key = None
    if (out is None or not any(wanted)) and type(return_index) is type(return_inverse) is type(return_counts) is bool:
        key, given, run = _WARM.find_into((*wanted, equal_nan), (x,), out, device)
        if run is not None:
            return run(given)
    check_flags("unique", return_index=return_index, return_inverse=return_inverse, return_counts=return_counts)
    check_flags("unique", equal_nan=equal_nan)
    operands = as_operands("unique", (x,), device)
    return distinct(*wanted, equal_nan, operands, as_out(operands, out), key)


def distinct(
    return_index: bool,
    return_inverse: bool,
    return_counts: bool,
    equal_nan: bool,
    operands: Operands,
    out: Out | None,
    key: Key | None = None,
) -> Any:
    """Return the distinct elements and further results, and keep the function for later calls with the key."""
    wanted = return_index, return_inverse, return_counts
    kernels = partial(_by_kernels, *wanted, equal_nan)
    if takes_few(operands, DISTINCT):
        compute = distinct_by_numpy(operands, index=return_index, inverse=return_inverse, counts=return_counts)
        kept = key if out is None else None
        if (found := computed_by_numpy(operands, compute, kernels, _WARM, kept)) is not NotImplemented:
            several = found if type(found) is tuple else (found,)
            return returned(operands, several[0], [*several[1:]], out, inverse=_place(*wanted))
    elif not (return_index or return_inverse) and takes_one_plan(operands, counted=return_counts):
        plan = find_plan(plan_distinct, operands, DistinctRequest(bool(equal_nan), bool(return_counts)), None, None)
        if out is None:
            _WARM.keep(key, plan, operands)
        elif (run := plan.writer_of(operands, out)) is not None:
            _WARM.keep_run(key, run)
        return plan.run(operands, out)
    return kernels(operands, out)


def _place(return_index: bool, return_inverse: bool, _: bool) -> int | None:
    """Return the place of the inverse among the results."""
    return 1 + return_index if return_inverse else None


def _by_kernels(
    return_index: bool,
    return_inverse: bool,
    return_counts: bool,
    equal_nan: bool,
    operands: Operands,
    out: Out | None = None,
) -> Any:
    """Return the distinct elements and further results, by kernels."""
    elements = flat(operands, operands.natives[0])
    wanted = return_index, return_inverse, return_counts
    given = partial(returned, operands, out=out, inverse=_place(*wanted))
    if not elements.shape[0]:
        shapes = ((0,), operands.natives[0].shape, (0,))
        nothing = [operands.empty(shape, _INT64) for shape, one in zip(shapes, wanted, strict=True) if one]
        return given(elements, nothing)
    if not return_index and not return_inverse:
        for find in (direct_distinct, few_distinct):
            if (found := find(elements, operands.device, counted=return_counts)) is not None:
                return given(found[0], list(found[1:]))
        ordered = in_order("unique", "keys", (elements,), operands.device, real=False)
        if return_counts:
            values, counts = find_lengths(operands, ordered, equal_nan=equal_nan)
            return given(values, [counts])
        return given(find_runs(operands, ordered, Wanted(values=True), equal_nan=equal_nan).values, [])
    return given(*_with_indices(operands, elements, equal_nan, *wanted))


def _with_indices(operands: Operands, elements: Any, equal_nan: bool, *wanted: bool) -> tuple[Any, list[Any]]:
    """Return the distinct elements and further results, by a sort that moves indices along."""
    device, (n,) = operands.device, elements.shape
    ordered, order = in_order("unique", "pairs", (elements, numbers(n, elements, device)), device, real=False)
    return_index, return_inverse, return_counts = wanted
    asked = Wanted(values=True, offsets=return_index or return_counts, ranks=return_inverse)
    runs = find_runs(operands, ordered, asked, equal_nan=equal_nan)
    results = []
    if return_index:
        first = take(order, runs.begins(operands), mode="clip", device=device)
        results.append(map_arrays(_AS_INT64, first, device=device))
    if return_inverse:
        inverse = scatter(runs.ranks, order, operands.empty((n,), _INT64), device)
        results.append(operands.cut(inverse, 0, operands.natives[0].shape))
    if return_counts:
        results.append(runs.lengths(operands))
    return runs.values, results


def refuse_axis(axis: object) -> None:
    """Raise unless ``axis`` is None."""
    if axis is not None:
        raise AxisError(f"unique: axis=None only; got {quoted(axis)} (to find distinct rows, number them first)")
