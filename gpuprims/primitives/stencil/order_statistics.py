"""Stencils of the smallest, the largest, or another element by rank of a neighbourhood."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby, product
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions import typed
from gpuprims.expressions.trace import Recorder
from gpuprims.primitives.stencil.neighbours import Neighbours, finished
from gpuprims.primitives.stencil.rounding import finishing
from gpuprims.primitives.stencil.stencils import Dtype, Stencil, typed_over
from gpuprims.primitives.stencil.weights import float_of

Index = tuple[int, ...]
# Offsets along one axis.
Span = tuple[int, ...]


# Axes of a neighbourhood, and most neighbours along three of them that one kernel compares.
_MOST, _MOST_IN_SPACE = 3, 27


class Compared(NamedTuple):
    """The smaller or the larger of two wires of a network."""

    larger: bool
    first: Any
    second: Any


@lru_cache(maxsize=256)
def of_rank(offsets: tuple[Index, ...], rank: int, element: Dtype, result: Dtype) -> Stencil:
    """Return the stencil of the element of a rank among neighbours."""
    if rank in (0, len(offsets) - 1):
        return _of(_extreme(offsets, larger=rank > 0), element, result)
    # Neighbours of a column first: neighbouring results share the sorted column.
    order = sorted(range(len(offsets)), key=lambda k: offsets[k][::-1])
    columns = [list(same) for _, same in groupby(order, key=lambda k: offsets[k][-1])]

    def pick(arguments: Sequence[Any], alone: int | None = None) -> Any:
        lists = [_sorted([arguments[k] for k in column]) for column in columns]
        last = [] if alone is None else lists.pop(alone)
        return _value(_ranked(_joined(lists), last, rank), {})

    alike = len({tuple(offsets[k][:-1] for k in column) for column in columns}) == 1
    if not alike or len(columns) % 2 == 0 or len(columns) == 1:
        return _of(_traced(offsets, pick), element, result)
    # A box: an element and the one beside it share all columns but the first and the last.
    stencil = _of(_traced(offsets, lambda arguments: pick(arguments, 0)), element, result)
    return replace(stencil, beside=typed_over(_traced(offsets, lambda arguments: pick(arguments, -1)), element))


@lru_cache(maxsize=256)
def of_box(spans: tuple[Span, ...], element: Dtype, result: Dtype, *, larger: bool) -> Stencil:
    """Return the stencil of the smallest or the largest element of a box, given its offsets along one to three axes."""
    # Callers split long lines into passes of equally many neighbours (rows: extremes-long).
    lengths = list(map(len, spans))
    if lengths.count(1) >= len(spans) - 1 or (len(spans) == _MOST and math.prod(lengths) <= _MOST_IN_SPACE):
        return _of(_extreme(tuple(product(*spans)), larger=larger), element, result)
    if len(spans) == _MOST:
        flat = of_box(spans[1:], element, element, larger=larger)
        deep = _of(_extreme(tuple((z, 0, 0) for z in spans[0]), larger=larger), element, result)
        return Stencil(deep.offsets, None, deep.finish, passes=(flat, deep))
    rows, columns = spans
    down = _of(_extreme(tuple((y, 0) for y in rows), larger=larger), element, result)
    beside = _extreme(tuple((x,) for x in columns), larger=larger)
    across = typed(beside.expr, (element,) * len(columns), (element,))
    return Stencil(
        down.offsets,
        down.function,
        down.finish,
        columns=columns,
        across=across,
        passes=(_of(beside, element, element), down),
    )


@lru_cache(maxsize=256)
def of_raised(
    offsets: tuple[Index, ...],
    heights: tuple[float, ...],
    element: Dtype,
    result: Dtype,
    *,
    larger: bool,
    double: bool,
) -> Stencil:
    """Return the stencil of the smallest neighbour minus its height, or of the largest plus its height."""
    # SciPy cuts heights, and wraps sums, to the dtype of integers, but keeps the fraction of the first one.
    whole, fraction = element.kind in "biu", not heights[0].is_integer()
    cut = np.dtype(np.uint8) if element.kind == "b" else element
    value = cut if whole and not fraction else float_of(element, result, double=double)
    recorder = Recorder()

    def raised(k: int, height: float) -> Any:
        dtype = cut if whole and (k or not fraction) else value
        one = recorder.argument(k).astype(dtype)
        number = np.array(int(height) if dtype.kind != "f" else height).astype(dtype)[()]
        shifted = one if not number else one + number if larger else one - number
        return shifted if dtype == value else shifted.astype(value)

    found = _best([raised(k, height) for k, height in enumerate(heights)], larger=larger)
    neighbours = finished(recorder, found, offsets)
    return Stencil(neighbours.offsets, typed_over(neighbours, element), finishing(value, result))


def _of(neighbours: Neighbours, element: Dtype, result: Dtype) -> Stencil:
    return Stencil(neighbours.offsets, typed_over(neighbours, element), finishing(element, result))


def _extreme(offsets: tuple[Index, ...], *, larger: bool) -> Neighbours:
    """Return the smallest or the largest of neighbours."""
    return _traced(offsets, lambda arguments: _best(arguments, larger=larger))


def _best(values: Sequence[Any], *, larger: bool) -> Any:
    found = list(values)
    while len(found) > 1:  # pairs of neighbours, which neighbouring results share
        pairs = [found[k : k + 2] for k in range(0, len(found), 2)]
        found = [_better(*pair, larger=larger) if len(pair) == 2 else pair[0] for pair in pairs]
    return found[0]


def _traced(offsets: tuple[Index, ...], pick: Callable[[Sequence[Any]], Any]) -> Neighbours:
    recorder = Recorder()
    return finished(recorder, pick([recorder.argument(k) for k in range(len(offsets))]), offsets)


def _better(one: Any, other: Any, *, larger: bool) -> Any:
    return np.fmax(one, other) if larger else np.fmin(one, other)


def _sorted(wires: Sequence[Any]) -> list[Any]:
    """Return wires of Batcher's network that sorts others."""
    if len(wires) < 2:
        return list(wires)
    middle = len(wires) // 2
    return _merged(_sorted(wires[:middle]), _sorted(wires[middle:]))


def _merged(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """Return wires of Batcher's network that merges two sorted lists."""
    if not one or not other:
        return [*one, *other]
    if len(one) == len(other) == 1:
        return [Compared(False, one[0], other[0]), Compared(True, one[0], other[0])]
    even, odd = _merged(one[::2], other[::2]), _merged(one[1::2], other[1::2])
    found = [even[0]]
    for first, second in zip(odd, even[1:], strict=False):
        found += [Compared(False, first, second), Compared(True, first, second)]
    paired = len(found) // 2
    return [*found, *odd[paired:], *even[paired + 1 :]]


def _joined(lists: Sequence[list[Any]]) -> list[Any]:
    """Return the wires of several sorted lists in order; pairs that neighbouring results share are merged first."""
    while len(lists) > 1:
        pairs = [lists[k : k + 2] for k in range(0, len(lists), 2)]
        lists = [_merged(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return lists[0]


def _ranked(one: Sequence[Any], other: Sequence[Any], rank: int) -> Any:
    """Return the wire of a rank among two sorted lists: take the larger wire of each split, and the least of these."""
    found = []
    for taken in range(len(other) + 1):
        if -1 <= rank - taken < len(one):
            last = [*one[rank - taken : rank - taken + 1 if taken <= rank else 0], *other[max(taken - 1, 0) : taken]]
            found.append(last[0] if len(last) == 1 else Compared(True, *last))
    while len(found) > 1:
        pairs = [found[k : k + 2] for k in range(0, len(found), 2)]
        found = [Compared(False, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return found[0]


def _value(wire: Any, known: dict[int, Any]) -> Any:
    """Record only the comparisons that a wire needs."""
    if not isinstance(wire, Compared):
        return wire
    found = known.get(id(wire))
    if found is None:
        one, other = _value(wire.first, known), _value(wire.second, known)
        found = known[id(wire)] = _better(one, other, larger=wire.larger)
    return found
