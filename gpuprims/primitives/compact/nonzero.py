"""count_nonzero, nonzero and argwhere: how many elements are not zero, and where they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, overload

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.layout import Form, contiguous, is_contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.core.warm_calls import Run, WarmCalls
from gpuprims.errors import ShapeError
from gpuprims.expressions import Expr, trace
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.compact import compact
from gpuprims.primitives.compact.plan import CompactRequest, plan_call
from gpuprims.primitives.grouping.by_numpy import few_places, places_by_numpy, rows_by_numpy
from gpuprims.primitives.grouping.few_calls import FewCalls
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.indices import index_dtype
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.signatures import Array, Host, HostArray
from gpuprims.primitives.steps import steps_planner

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
def nonzero(a: Host, *, out: Any = None, device: str | Device | None = None) -> tuple[HostArray, ...]: ...
@overload
def nonzero(a: Array, *, out: Any = None, device: str | Device | None = None) -> tuple[Array, ...]: ...


@named_keywords
def nonzero(a: Any, *, out: Any = None, device: str | Device | None = None, **unknown: Any) -> Any:
    """Return the indices of elements that are not zero, as :func:`numpy.nonzero` does.

    Parameters
    ----------
    a : array_like
        Of at least one dimension.
    out : tuple of arrays, optional
        Where to write, on the device of ``a``: an array of int64 for each axis, at least as long as the results, which
        are their beginnings. By default new arrays.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    tuple of array of int64
        For each axis the indices along it, of elements in C order; with ``out``, views of its beginnings.

    Raises
    ------
    ShapeError
        A number; an ``out`` of other shapes, found when the number of elements is known.
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
    return _NONZERO.run((a,), out, device)


def _nonzero(operands: Operands, out: Out | None) -> tuple[Any, ...]:
    shape = tuple(operands.natives[0].shape)
    if not shape:
        raise ShapeError("nonzero: an array of at least one dimension; got a number (pass it in a list)")
    return to_out(operands, _indices_of(operands, shape, _places(operands)), out, (0,) * len(shape))


def _indices_of(operands: Operands, shape: tuple[int, ...], places: Any) -> tuple[Any, ...]:
    """Return the indices of places along each axis."""
    if not places.shape[0]:
        return tuple([operands.empty((0,), _INT64) for _ in shape])
    if len(shape) == 1:
        return (places,)
    found: tuple[Any, ...] = map_arrays(_indices(len(shape)), places, *_lengths(shape), device=operands.device)
    return found


def _later(found: Callable[[Operands, tuple[int, ...], Any], Any], operands: Operands) -> Run | None:
    """Return what later calls on an array like a device's run: a launch that finds places, and ``found`` of these."""
    (form,), device = operands.forms, operands.device
    shape, size = tuple(form.shape), math.prod(form.shape)
    if not shape or not size or not is_contiguous(form):
        return None
    dtype = _INT64 if len(shape) == 1 else index_dtype(size)
    flat_form = form._replace(shape=(size,), strides=(form.item,))
    request, generation = CompactRequest(_IS_SET, dtype), REGISTRY.generation
    places = plan_call(request, (flat_form,), None, operands.alignment, device, None, generation).runner()
    bare = operands.instead()  # no arrays, which calls would keep alive
    return lambda arrays: found(bare, shape, places(arrays))


_NONZERO = FewCalls("nonzero", places_by_numpy, _nonzero, few=few_places, later=partial(_later, _indices_of))


@overload
def argwhere(a: Host, *, out: Any = None, device: str | Device | None = None) -> HostArray: ...
@overload
def argwhere(a: Array, *, out: Any = None, device: str | Device | None = None) -> Array: ...


@named_keywords
def argwhere(a: Any, *, out: Any = None, device: str | Device | None = None, **unknown: Any) -> Any:
    """Return the indices of elements that are not zero, a row for each, as :func:`numpy.argwhere` does.

    Parameters
    ----------
    a : array_like
        Of any shape of at most 16 dimensions.
    out : array, optional
        Where to write, on the device of ``a``: of int64, with a column for each axis and at least as many rows as the
        result, which is its beginning. By default a new array.
    device : str or Device, optional
        Where to compute, for host arrays.

    Returns
    -------
    array of int64
        A row for each element, in C order, and a column for each axis; with ``out``, a view of its beginning.

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
    return _ARGWHERE.run((a,), out, device)


def _argwhere(operands: Operands, out: Out | None) -> Any:
    found = _rows_of(operands, tuple(operands.natives[0].shape), _places(operands))
    return to_out(operands, (found,), out, (0,))[0]


def _rows_of(operands: Operands, shape: tuple[int, ...], places: Any) -> Any:
    """Return the indices of each place as a row."""
    count, axes = int(places.shape[0]), len(shape)
    if not count or not axes:
        return operands.empty((count, axes), _INT64)
    column = operands.cut(places, 0, (count, 1))
    if axes == 1:
        return column
    return map_arrays(_row(axes), column, *_lengths(shape), vector_axis=-1, device=operands.device)


_ARGWHERE = FewCalls("argwhere", rows_by_numpy, _argwhere, few=few_places, later=partial(_later, _rows_of))


def _places(operands: Operands) -> Any:
    """Return the places in C order of elements that are not zero."""
    own = operands.natives[0]
    elements = flat(operands, own)
    if not elements.shape[0]:
        return elements
    dtype = _INT64 if own.ndim == 1 else index_dtype(int(elements.shape[0]))
    return places_of(operands, elements, dtype)


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


@cache
def _row(axes: int) -> Callable[..., Any]:
    """Return the function of :func:`_indices` for a vector of one place."""
    split = _indices(axes)
    return lambda place, *lengths: split(place[0], *lengths)


def _first(_: Any, forms: tuple[Form, ...], alignment: int, device: Device, generation: int) -> LaunchPlan:
    """Return the plan of the launch that finds places."""
    size, own = math.prod(forms[0].shape), len(forms[0].shape)
    dtype = _INT64 if own == 1 else index_dtype(size)
    there = contiguous(forms[0].dtype, (size,), alignment)
    return plan_call(CompactRequest(_IS_SET, dtype), (there,), None, alignment, device, None, generation)


PLANS = {
    "nonzero": steps_planner("nonzero", tuple, _first, lambda _, operands, out: _NONZERO.steps(operands, out)),
    "argwhere": steps_planner("argwhere", tuple, _first, lambda _, operands, out: _ARGWHERE.steps(operands, out)),
}
