"""Filters by rank: run them as networks of comparisons, or by selection among the neighbours of many elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.operands import as_operands
from gpuprims.ndimage.arguments import mode_of
from gpuprims.ndimage.calls import Bound, Call, copied, on_device, run_bound
from gpuprims.ndimage.neighbourhoods import Index, Neighbourhood
from gpuprims.ndimage.padded import in_row, padded
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.selection import partition
from gpuprims.primitives.stencil.grids import Border, reaches
from gpuprims.primitives.stencil.order_statistics import Span, of_box, of_rank
from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.stencils import Stencil

# Most neighbours along an axis that one kernel compares, and most neighbours of a network.
_LONGEST, MOST_COMPARED = 31, 128
# Elements of the neighbourhoods that are selected from at once.
_AT_ONCE = 2**26


def ranked(call: Call, near: Neighbourhood, rank: int, mode: Any, cval: Any) -> Any:
    """Return the element of a rank among the neighbours of each element."""
    size = near.size
    border = call.border(mode, cval, call.element)
    if rank in (0, size - 1) and near.places is None:
        lines = [(axis, n, low, mode) for axis, n, low in zip(near.axes, near.lengths, near.first, strict=True)]
        return extreme(call, lines, cval, larger=rank > 0)
    if size > MOST_COMPARED and rank in (0, size - 1) and reaches(near.axes):
        return _extreme_of_many(call, near, border, larger=rank > 0)
    if size > MOST_COMPARED:
        return _selected(call, near, rank, border)
    offsets = near.offsets
    if not reaches(near.axes):
        return in_row(
            call, near.axes, offsets, border, lambda places: _of_rank(call, [(at,) for at in places], rank, 1, (0,))
        )

    def stencil(count: int, places: tuple[int, ...]) -> Stencil:
        return _of_rank(call, offsets, rank, count, places)

    return Bound(call, (call.along(near.axes, stencil, border),))


def _of_rank(call: Call, offsets: Sequence[Index], rank: int, count: int, places: tuple[int, ...]) -> Stencil:
    return of_rank(tuple(spread(one, count, places) for one in offsets), rank, call.element, call.result)


def spread(offset: Index, count: int, places: tuple[int, ...]) -> Index:
    """Return an offset along ``count`` axes of a neighbourhood, given which of them it has components along."""
    found = [0] * count
    for place, at in zip(places, offset, strict=True):
        found[place] = at
    return tuple(found)


def _extreme_of_many(call: Call, near: Neighbourhood, border: Border, *, larger: bool) -> Any:
    """Compare the neighbours in parts, and then the results of the parts."""
    if 0 in call.shape:
        return Bound(call, ())
    there, found, offsets = on_device(call)._replace(result=call.element), list[Any](), near.offsets
    for first in range(0, len(offsets), MOST_COMPARED):
        part = offsets[first : first + MOST_COMPARED]

        def stencil(count: int, places: tuple[int, ...], part: Sequence[Index] = part) -> Stencil:
            return _of_rank(there, part, len(part) - 1 if larger else 0, count, places)

        found.append(run_bound(Bound(there, (there.along(near.axes, stencil, border),))))

    def best(first: Any, *others: Any) -> Any:
        for one in others:
            first = np.fmax(first, one) if larger else np.fmin(first, one)
        return first

    return copied(call, map_arrays(best, *found, device=call.operands.device))


def _selected(call: Call, near: Neighbourhood, rank: int, border: Border) -> Any:
    """Gather the neighbours of some rows at a time, and select among them."""
    if 0 in call.shape:
        return Bound(call, ())
    offsets, device = near.offsets, call.operands.device
    there = on_device(call)
    reach = [(-low, low + n - 1) for low, n in zip(near.first, near.lengths, strict=True)]
    reach = [(max(low, 0), max(high, 0)) for low, high in reach]
    array = padded(there, near.axes, reach, border)
    starts = [0] * array.ndim
    for axis, (low, _) in zip(near.axes, reach, strict=True):
        starts[axis] = low
    target = there.operands.empty(call.shape, call.element)
    rows = max(1, _AT_ONCE // (len(offsets) * max(math.prod(call.shape[1:]), 1)))
    for top in range(0, call.shape[0], rows):
        lengths = (min(rows, call.shape[0] - top), *call.shape[1:])
        gathered = there.operands.empty((len(offsets), *lengths), call.element)
        for k, offset in enumerate(offsets):
            at = list(starts)
            at[0] += top
            for axis, step in zip(near.axes, offset, strict=True):
                at[axis] += step
            part = array[tuple(slice(start, start + n) for start, n in zip(at, lengths, strict=True))]
            map_arrays(lambda v: v, part, out=gathered[k], device=device)
        chosen = partition(gathered, rank, axis=0, device=device)[rank]
        map_arrays(lambda v: v, chosen, out=target[top : top + lengths[0]], device=device)
    return copied(call, target)


# An axis, the number of neighbours along it, the offset of the first of them, and a mode.
Line = tuple[int, int, int, Any]


def extreme(call: Call, lines: Sequence[Line], cval: Any, *, larger: bool) -> Any:
    """Return the smallest or the largest element of a box around each element."""
    lines = sorted((line for line in lines if line[1] > 1), key=lambda line: line[0])
    if any(n > _LONGEST for _, n, _, _ in lines):
        return _extreme_of_long(call, lines, cval, larger=larger)
    requests, element = list[StencilRequest](), call.element
    for group in _groups(lines):
        requests.append(_request(call, group, cval, element, larger=larger))
        element = call.result
    return Bound(call, tuple(requests))


def _groups(lines: Sequence[Line]) -> list[list[Line]]:
    """Return lines along neighbouring axes in the same mode together."""
    groups = list[list[Line]]()
    for line in lines:
        group = groups[-1] if groups else []
        if group and len(group) < 3 and line[0] - group[-1][0] == 1 and mode_of(line[3]) == mode_of(group[0][3]):
            group.append(line)
        else:
            groups.append([line])
    return groups


def _request(call: Call, lines: Sequence[Line], cval: Any, element: np.dtype[Any], *, larger: bool) -> StencilRequest:
    def stencil(count: int, places: tuple[int, ...]) -> Stencil:
        spans: list[Span] = [(0,)] * count
        for place, (_, n, low, _) in zip(places, lines, strict=True):
            spans[place] = tuple(range(low, low + n))
        return of_box(tuple(spans), element, call.result, larger=larger)

    return call.along([line[0] for line in lines], stencil, call.border(lines[0][3], cval, element))


def _extreme_of_long(call: Call, lines: Sequence[Line], cval: Any, *, larger: bool) -> Any:
    """Return extremes of boxes longer than kernels reach: of adjacent neighbours, then of distant results."""
    if 0 in call.shape:
        return Bound(call, ())
    there = on_device(call)
    for axis, n, low, mode in lines:
        reach = max(-low, 0), max(low + n - 1, 0)
        array = padded(there, [axis], [reach], there.border(mode, cval, there.element))
        operands = as_operands(call.label, (array,), call.operands.device)
        wide = there._replace(operands=operands, result=there.element)
        requests = [
            wide.along([axis], _apart(span, wide.element, larger=larger), wide.border("nearest", 0, wide.element))
            for span in spans_of(low, n)
        ]
        result = run_bound(Bound(wide, tuple(requests)))
        inside = [slice(None)] * len(call.shape)
        inside[axis] = slice(reach[0], reach[0] + call.shape[axis])
        part = map_arrays(lambda v: v, result[tuple(inside)], device=call.operands.device)
        there = there._replace(operands=as_operands(call.label, (part,), call.operands.device))
    return copied(call, there.operands.natives[0])


def spans_of(low: int, length: int) -> list[Span]:
    """Return the offsets to compare in each pass; their sums are the ``length`` offsets from ``low`` on."""
    passes, most = 1, 1
    while _LONGEST**passes < length:
        passes += 1
    while most**passes < length:  # equally many in each pass (stencil's row extremes-long)
        most += 1
    spans, step = list[Span](), 1  # results so far are of ``step`` neighbours, from their own place on
    while step < length:
        times = min(-(-length // step), most)
        reached = min(times * step, length)
        places = [min(k * step, reached - step) for k in range(times)]
        spans.append(tuple(places))
        step = reached
    *others, last = spans
    return [*others, tuple(low + at for at in last)]


def _apart(span: Span, element: np.dtype[Any], *, larger: bool) -> Any:
    def stencil(count: int, places: tuple[int, ...]) -> Stencil:
        spans: list[Span] = [(0,)] * count
        spans[places[0]] = span
        return of_box(tuple(spans), element, element, larger=larger)

    return stencil
