"""Stencils of large host arrays, slab by slab. A slab includes the neighbouring rows that its results need."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, check_out, host_results
from gpuprims.primitives.pipeline import Slab, boxes, compute_slabs, most_elements, whole_box
from gpuprims.primitives.stencil.reach import reach_of
from gpuprims.primitives.stencil.request import StencilRequest

# Applies a stencil to all of an array.
Apply = Callable[[Operands, StencilRequest], Any]


class _Rows(NamedTuple):
    """Rows of an array to compute, from ``first`` on, and those to read for them, from ``lowest`` on."""

    first: int
    end: int
    lowest: int
    highest: int


def run_in_slabs(operands: Operands, request: StencilRequest, out: Out | None, apply: Apply) -> Any:
    """Apply a stencil to a large host array."""
    (x,), grid, along = operands.natives, request.grid, request.grid.space[0][0]
    results = [np.empty(x.shape, request.stencil.result)]
    given = None if out is None or operands.in_place else out
    if out is not None:
        check_out(request.label, results, out.natives)
    if given is not None:
        results = list(given.natives)
    most, unread = most_elements(operands.device, x.dtype, request.stencil.result), list[int]()

    def slabs() -> Iterator[Slab]:
        for outer in boxes(whole_box(x.shape), range(along), most):
            part, target, before = x[outer], results[0][outer], (slice(None),) * along
            for rows in _cut(part, along, request, most):
                unread.append(rows.first - rows.lowest)
                yield Slab([_read(part, along, rows)], [target[*before, rows.first : rows.end]])

    def compute(slab: Slab, there: Operands, memory: Callable[[], Out]) -> Sequence[Any]:
        (part,), (target,) = slab.arrays, slab.targets
        result = apply(there, request._replace(grid=grid._replace(shape=part.shape)))
        # A slab with neighbouring rows has length 1 along all axes before, so its results are contiguous.
        return [there.cut(result, unread.pop(0) * math.prod(part.shape[along + 1 :]), target.shape)]

    compute_slabs(request.label, operands.device, slabs(), compute, new=out is None)
    return host_results(operands, results, out, single=True) if given is None else given.given


def _cut(part: np.ndarray, along: int, request: StencilRequest, most: int) -> Iterator[_Rows]:
    """Cut an array along the first axis of neighbourhoods if it has more than ``most`` elements.

    A result of the last iteration needs rows as far away as all iterations reach, or the same rows inside of a border.
    Rows at the edges of a slab lack their true neighbours. Their results are wrong and are left out.
    """
    count = part.shape[along]
    if part.size <= most:
        yield _Rows(0, count, 0, count)
        return
    beside = reach_of(request)
    # Slabs with fewer rows of their own than neighbouring rows would read most rows more than once.
    step = max(most * count // part.size - 2 * beside, 2 * beside, 1)
    for first, end in pairwise([*range(0, count, step), count]):
        lowest, highest = first - beside, end + beside
        if request.border.mode != "wrap":
            lowest, highest = max(lowest, 0), min(highest, count)
        yield _Rows(first, end, lowest, highest)


def _read(part: np.ndarray, along: int, rows: _Rows) -> np.ndarray:
    """Return rows of an array, those beyond its ends from the opposite end."""
    count = part.shape[along]
    if rows.lowest >= 0 and rows.highest <= count:
        read = part[*(slice(None),) * along, rows.lowest : rows.highest]
        return np.ascontiguousarray(read) if 0 in read.strides else read  # calls read the shape of an array's memory
    around: np.ndarray = np.take(part, np.arange(rows.lowest, rows.highest) % count, axis=along)
    return around
