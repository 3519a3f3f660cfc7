"""Sorts by several keys, of several values, and of elements of 128 bits: by indices, one key after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, check_out, host_results
from gpuprims.errors import ArgumentError, ShapeError, quoted
from gpuprims.expressions import trace
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.sort.plan import SortRequest
from gpuprims.primitives.take import take

# Returns the indices that sort an array.
Order = Callable[[Any], Any]
# Keys by which complex elements are sorted as NumPy does, the last one first: those without NaN come first.
_PARTS = trace(lambda z: (z.imag, z.real, np.where(np.isnan(z.real), 2, 0) + np.where(np.isnan(z.imag), 1, 0)), 1)
# From a place along an axis of so many, the numbers of the row before it and of the column behind to the place of all.
_PLACE = trace(
    lambda place, row, column, length, columns: (row.astype(np.int64) * length + place) * columns + column, 5
)


def by_keys(keys: Any, device: str | Device | None, order: Order) -> Any:
    """Return the indices that sort by several keys, the last one first."""
    try:
        given = list(keys)
    except TypeError:
        raise ArgumentError(f"lexsort: a sequence of keys, such as (second, first); got {quoted(keys)}") from None
    if not given:
        raise ArgumentError("lexsort: one or more keys; got none")
    shapes = [native.shape for native in as_operands("lexsort", tuple(given), device).natives]
    if len(shapes[0]) != 1 or set(shapes) != {shapes[0]}:
        hint = "" if shapes[0] else " (of one key: argsort)"
        raise ShapeError(f"lexsort: keys of one axis and one length; got the shapes {quoted(shapes)}{hint}")
    return _last_first(given, order, lambda array, indices: take(array, indices, mode="clip", device=device))


def _last_first(keys: Sequence[Any], order: Order, gather: Callable[[Any, Any], Any]) -> Any:
    indices = order(keys[0])
    for key in keys[1:]:
        indices = gather(indices, order(gather(key, indices)))
    return indices


def by_indices(operands: Operands, request: SortRequest, out: Out | None, order: Order) -> Any:
    """Sort arrays by the indices of the first one, which ``order`` finds along the middle one of three axes."""
    there = _Along(operands, request.axis)
    keys, *values = (there.of(native) for native in operands.natives)
    parts = map_arrays(_PARTS, keys, device=operands.device) if operands.natives[0].dtype.kind == "c" else [keys]
    indices = _last_first(parts, order, there.gather)
    if request.wanted == "indices":
        return there.returned([indices], out, single=True)
    arrays = [keys, *values] if request.wanted == "pairs" else [keys]
    return there.returned([there.gather(one, indices) for one in arrays], out, single=request.wanted == "keys")


def in_whole(operands: Operands, indices: Any) -> Any:
    """Return indices along the middle one of three axes as places in the whole array."""
    rows, length, columns = indices.shape
    if rows == columns == 1 or not indices.size:
        return indices
    row = operands.cut(numbers(rows, indices, operands.device), 0, (rows, 1, 1))
    column = operands.cut(numbers(columns, indices, operands.device), 0, (1, 1, columns))
    return map_arrays(_PLACE, indices, row, column, length, columns, device=operands.device)


class _Along:
    """Contiguous arrays of three axes, where kernels reach them. Indices count along the middle one."""

    def __init__(self, operands: Operands, axis: int | None) -> None:
        self._operands = operands
        self._shape: tuple[int, ...] = operands.natives[0].shape
        if axis is None:
            self._shape, axis = (math.prod(self._shape),), 0
        self._axes = math.prod(self._shape[:axis]), self._shape[axis], math.prod(self._shape[axis + 1 :])

    def of(self, array: Any) -> Any:
        """Return an array of the call so."""
        operands = self._operands
        if not array.size:
            return operands.empty(self._axes, array.dtype)
        return operands.cut(flat(operands, array), 0, self._axes)

    def gather(self, array: Any, indices: Any) -> Any:
        """Return the elements that indices name."""
        return take(array, in_whole(self._operands, indices), mode="clip", device=self._operands.device)

    def returned(self, results: Sequence[Any], out: Out | None, *, single: bool) -> Any:
        """Return results to the caller in the shape of the call, or copy the one to ``out=``."""
        operands = self._operands
        shaped = [operands.cut(one, 0, self._shape) for one in results]
        if out is None:
            wanted = tuple(operands.to_caller(one) for one in shaped)
            return wanted[0] if single else wanted
        if operands.on_host:
            return host_results(operands, [operands.to_host(one) for one in shaped], out, single=single)
        (result,) = shaped
        check_out(operands.label, shaped, out.natives)
        if result.size:  # a copy of floats by map may change the bits of NaN
            every = operands.cut(numbers(result.size, result, operands.device), 0, self._shape)
            take(result, every, out=out.natives[0], mode="clip", device=operands.device)
        return out.given
