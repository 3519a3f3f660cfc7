"""The ``axis=`` of a call, and the order of its arrays' axes in memory, as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.layout import Form
from gpuprims.errors import AxisError, axis_rule, quoted


def as_axis(axis: Any) -> int | tuple[int, ...] | None:
    """Convert axes to Python's ints, by which plans are looked up; refuse ``True``, which equals 1."""
    if axis is None or type(axis) is int or (type(axis) is tuple and {*map(type, axis)} <= {int}):
        return axis
    given = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in given):
        hint = ""
        if isinstance(axis, list):
            hint = f" (write {quoted(tuple(axis))})"
        elif isinstance(axis, float) and axis.is_integer():
            hint = f" (write {int(axis)})"
        elif isinstance(axis, str):
            hint = " (count axes from 0, rows first)"
        raise AxisError(f"axis: an int or a tuple of ints; got {quoted(axis)}{hint}")
    return tuple(int(one) for one in given) if isinstance(axis, tuple) else int(axis)


def axes_of(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return axes of an array of ``ndim`` dimensions, ascending and none negative; None means all."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    if not all(-ndim <= one < ndim for one in given):
        raise AxisError(f"axis: {axis_rule(ndim)}; got {quoted(axis)}")
    axes = tuple(sorted(one % ndim for one in given))
    if len(set(axes)) != len(axes):
        raise AxisError(f"axis: each axis once; got {quoted(axis)}")
    return axes


def folded_axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return the axes that a fold takes away: as NumPy's ufuncs, none of a number's by 0 or -1."""
    return () if not ndim and type(axis) is int and axis in (0, -1) else axes_of(axis, ndim)


def one_axis(axis: Any, ndim: int) -> int:
    """Return an axis of an array of ``ndim`` dimensions, from 0."""
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer):
        raise AxisError(f"axis: an int; got {quoted(axis)}")
    return axes_of(int(axis), ndim)[0]


def flipped(form: Form, ndim: int, axes: Sequence[int]) -> Form:
    """Return the form of the same elements in reverse order along some of ``ndim`` axes; it may lack the first ones."""
    strides, offset, missing = list(form.strides), form.offset, ndim - len(form.shape)
    for axis in axes:
        own = axis - missing
        if own >= 0 and form.shape[own] > 1:
            offset += (form.shape[own] - 1) * strides[own]
            strides[own] = -strides[own]
    return form._replace(strides=tuple(strides), offset=offset)


def in_fortran_order(forms: Sequence[Form], shape: tuple[int, ...]) -> bool:
    """Return True if the arrays that are not broadcast lie in memory with their first axis fastest, as in NumPy."""
    found = False
    for form in forms:
        if form.shape == shape and len(shape) > 1:
            strides = [abs(stride) for n, stride in zip(shape, form.strides, strict=True) if n > 1]
            if len(strides) < 2 or strides != sorted(set(strides)):
                return False
            found = True
    return found
