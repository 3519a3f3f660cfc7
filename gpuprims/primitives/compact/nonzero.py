"""count_nonzero, nonzero and argwhere: how many elements are not zero, and where they are."""

from __future__ import annotations

from functools import cache
from typing import Any, overload

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.variant import Variant
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import ShapeError
from gpuprims.expressions import Expr, trace
from gpuprims.primitives.compact import compact
from gpuprims.primitives.compact.plan import CompactRequest, plan_call
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.indices import index_dtype
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.signatures import Array, Host, HostArray

_INT64 = np.dtype(np.int64)
_IS_SET = trace(lambda x: x != 0, 1)
_WARM = WarmCalls()


@named_keywords
def count_nonzero(
    a: Any,
    axis: int | tuple[int, ...] | None = None,
    *,
    keepdims: bool = False,
    out: Any = None,
    device: str | Device | None = None,
    **unknown: Any,
) -> Any:
    """Return the number of elements that are not zero, as :func:`numpy.count_nonzero` does.

    Parameters
    ----------
    a : array_like
        Of any dtype. NaN is not zero.
    axis : int or tuple of int, optional
        The axes to count along; by default all.
    keepdims : bool, default False
        Keep the reduced axes, with length 1.
    out : array, optional
        Where to write: of the result's shape and dtype, on the device of ``a``. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array of int64, or int64
        ``out``, or a number for each element along the other axes.

    Raises
    ------
    ArrayError, AxisError, DtypeError, DeviceMismatchError
        As :func:`gpuprims.reduce`.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.count_nonzero(np.float32([[0, 1, 7], [3, 0, 0]]), axis=1, device="reference")
    array([2, 1])
    """
    if unknown:
        refuse_keywords("count_nonzero", keywords_of(count_nonzero), unknown)
    return reduce(a, op="count_nonzero", axis=axis, keepdims=keepdims, out=out, device=device)


@overload
def nonzero(a: Host, *, device: str | Device | None = None) -> tuple[HostArray, ...]: ...
@overload
def nonzero(a: Array, *, device: str | Device | None = None) -> tuple[Array, ...]: ...


@named_keywords
def nonzero(a: Any, *, device: str | Device | None = None, **unknown: Any) -> Any:
    """Return the indices of elements that are not zero, as :func:`numpy.nonzero` does.

    Parameters
    ----------
    a : array_like
        Of at least one dimension.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    tuple of array of int64
        For each axis the indices along it, of elements in C order.

    Raises
    ------
    ShapeError
        A number.
    ArrayError, DtypeError, DeviceMismatchError
        As :func:`gpuprims.map`.

    Notes
    -----
    A call waits for the number of elements.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.nonzero(np.float32([[0, 1, 7], [3, 0, 0]]), device="reference")
    (array([0, 0, 1]), array([1, 2, 0]))
    """
    if unknown:
        refuse_keywords("nonzero", keywords_of(nonzero), unknown)
    operands, places, shape = _places("nonzero", a, device)
    if not shape:
        raise ShapeError("nonzero: an array of at least one dimension; got a number (pass it in a list)")
    if not places.shape[0]:
        return tuple(operands.to_caller(operands.empty((0,), _INT64)) for _ in shape)
    if len(shape) == 1:
        return (operands.to_caller(places),)
    found = map_arrays(_indices(len(shape)), places, *_lengths(shape), device=operands.device)
    return tuple(operands.to_caller(one) for one in found)


@overload
def argwhere(a: Host, *, device: str | Device | None = None) -> HostArray: ...
@overload
def argwhere(a: Array, *, device: str | Device | None = None) -> Array: ...


@named_keywords
def argwhere(a: Any, *, device: str | Device | None = None, **unknown: Any) -> Any:
    """Return the indices of elements that are not zero, a row for each, as :func:`numpy.argwhere` does.

    Parameters
    ----------
    a : array_like
        Of any shape of at most 16 dimensions.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array of int64
        A row for each element, in C order, and a column for each axis.

    Raises
    ------
    ArrayError, DtypeError, DeviceMismatchError
        As :func:`gpuprims.map`.

    Notes
    -----
    A call waits for the number of elements.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.argwhere(np.float32([[0, 1, 7], [3, 0, 0]]), device="reference")
    array([[0, 1],
           [0, 2],
           [1, 0]])
    """
    if unknown:
        refuse_keywords("argwhere", keywords_of(argwhere), unknown)
    operands, places, shape = _places("argwhere", a, device)
    count, axes = int(places.shape[0]), len(shape)
    if not count or not axes:
        return operands.to_caller(operands.empty((count, axes), _INT64))
    if axes == 1:
        return operands.to_caller(places.reshape(count, 1))
    split = _indices(axes)
    found = map_arrays(
        lambda place, *lengths: split(place[0], *lengths),
        places.reshape(count, 1), *_lengths(shape), vector_axis=-1, device=operands.device,
    )  # fmt: skip
    return operands.to_caller(found)


def _places(label: str, a: Any, device: str | Device | None) -> tuple[Operands, Any, tuple[int, ...]]:
    """Return the operands of a call, and the places in C order of elements that are not zero."""
    operands = as_operands(label, (a,), device)
    own = operands.natives[0]
    elements = flat(operands, own)
    if not elements.shape[0]:
        return operands, elements, tuple(own.shape)
    dtype = _INT64 if own.ndim == 1 else index_dtype(int(elements.shape[0]))
    return operands, places_of(operands, elements, dtype), tuple(own.shape)


def places_of(operands: Operands, elements: Any, dtype: np.dtype[Any], variant: str | Variant | None = None) -> Any:
    """Return the places of elements that are not zero, in one launch on a GPU if the device has room for the array."""
    device = operands.device
    key, given, run = _WARM.find_into((dtype, variant), (elements,), None, device)
    if run is not None:
        return run(given)
    own = as_operands(operands.label, (elements,), device)
    if own.exceed_room:
        kept = map_arrays(_IS_SET, elements, device=device)
        counted = map_arrays("where(True, i, x)", elements, index="i", device=device)
        return compact(counted, kept, device=device)
    plan = find_plan(plan_call, own, CompactRequest(_IS_SET, dtype), None, variant)
    _WARM.keep(key, plan, own)
    return plan.run(own, None)


def _lengths(shape: tuple[int, ...]) -> list[np.int64]:
    """Return the lengths of axes as arguments of a function, so that one kernel serves all shapes."""
    return [np.int64(length) for length in shape[1:]]


@cache
def _indices(axes: int) -> Expr:
    """Return the function from a place in C order, and the lengths of all axes but the first, to indices."""

    def split(place: Any, *lengths: Any) -> tuple[Any, ...]:
        left, indices = place.astype(np.uint64), []
        for length in reversed(lengths):
            many = length.astype(np.uint64)
            above = left // many
            indices.append((left - above * many).astype(np.int64))
            left = above
        return (*[left.astype(np.int64)], *reversed(indices))

    return trace(split, axes)
