"""Neighbours along more axes than kernels reach: pad the array, and find them at distances in one row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.operands import as_operands
from gpuprims.errors import ShapeError
from gpuprims.expressions import trace
from gpuprims.ndimage.calls import Bound, Call, copied, on_device
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.stencil.calls import run
from gpuprims.primitives.stencil.grids import Border, grid_along
from gpuprims.primitives.stencil.reference import within
from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.stencils import Stencil
from gpuprims.primitives.take import take

# Most neighbours that a kernel finds by their places in a row.
_MOST = 512
# Most elements that CPUs look up faster than they copy the array in parts (stencil's rows: cpu_long_rows-padded).
_FEW = 2**15
_SAME = trace(lambda element: element, 1)

Index = tuple[int, ...]


def in_row(
    call: Call, axes: Sequence[int], offsets: Sequence[Index], border: Border, stencil: Callable[[list[int]], Stencil]
) -> Any:
    """Apply a stencil of neighbours at some offsets along some axes.

    ``stencil`` gets the place of each neighbour in a row, counted from the element.
    """
    if len(offsets) > _MOST:
        rule = f"up to {_MOST} neighbours along more than three axes, or along axes with others between them"
        raise ShapeError(f"{call.label}: {rule}; got {len(offsets)}")
    if 0 in call.shape:
        return Bound(call, ())
    reach = [(max(0, -min(along)), max(0, *along)) for along in zip(*offsets, strict=True)]
    array = padded(on_device(call), axes, reach, border)
    steps = [math.prod(array.shape[axis + 1 :]) for axis in axes]
    places = [sum(at * step for at, step in zip(offset, steps, strict=True)) for offset in offsets]
    operands = as_operands(call.label, (array.reshape(-1),), call.operands.device)
    grid, _ = grid_along(call.label, (array.size,), (0,))
    row = run(operands, StencilRequest(call.label, stencil(places), border._replace(mode="nearest"), grid), None, None)
    inside = [slice(None)] * array.ndim
    for axis, (low, _) in zip(axes, reach, strict=True):
        inside[axis] = slice(low, low + call.shape[axis])
    return copied(call, row.reshape(array.shape)[tuple(inside)])


def padded(call: Call, axes: Sequence[int], reach: Sequence[tuple[int, int]], border: Border) -> Any:
    """Return the padded array of a call; see :func:`on_device`."""
    array = call.operands.natives[0]
    if array.size > _FEW and len(axes) == 1 and call.operands.driver.capabilities.kind == "cpu":
        return _in_parts(call, axes[0], *reach[0], border)
    return _by_places(call, array, axes, reach, border)


def _in_parts(call: Call, axis: int, low: int, high: int, border: Border) -> Any:
    """Copy an array and pad it along an axis; only the padding is looked up."""
    array, device, length = call.operands.natives[0], call.operands.device, call.shape[axis]
    result = call.operands.empty((*call.shape[:axis], low + length + high, *call.shape[axis + 1 :]), array.dtype)

    def part(first: int, last: int) -> Any:
        return result[(slice(None),) * axis + (slice(first, last),)]

    map_arrays(_SAME, array, out=part(low, low + length), device=device)
    for first, last in ((0, low), (low + length, low + length + high)):
        if first == last:
            continue
        if border.mode == "constant":
            edge = np.full(part(first, last).shape, border.beyond, array.dtype)
            beyond = edge if call.operands.on_host else device.driver.asarray(edge)
        else:
            known = within(np.arange(first - low, last - low), length, border.mode)
            beyond = take(array, known, axis=axis, device=device)
        map_arrays(_SAME, beyond, out=part(first, last), device=device)
    return result


def _by_places(call: Call, array: Any, axes: Sequence[int], reach: Sequence[tuple[int, int]], border: Border) -> Any:
    """Look up all elements, along one axis after the other."""
    device, masks = call.operands.device, list[Any]()
    for axis, (low, high) in zip(axes, reach, strict=True):
        length = array.shape[axis]
        places = np.arange(-low, length + high)
        inside = (places >= 0) & (places < length)
        known = within(places, length, "nearest" if border.mode == "constant" else border.mode)
        array = take(array, known, axis=axis, device=device)
        mask = inside.reshape([-1 if k == axis else 1 for k in range(array.ndim)])
        masks.append(mask if call.operands.on_host else device.driver.asarray(mask))
    if border.mode != "constant" or not array.size:
        return array
    beyond = border.beyond

    def bordered(v: Any, *known: Any) -> Any:
        return np.where(_all(known), v, beyond)

    return map_arrays(bordered, array, *masks, device=device)


def _all(masks: Sequence[Any]) -> Any:
    first, *others = masks
    for mask in others:
        first = first & mask
    return first
