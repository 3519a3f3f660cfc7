"""Operators of segmented scans.

A segmented scan is a scan by another operator, on values beside which a flag says that a segment begins among their
elements: ``(f, a) * (g, b) = (f | g, b if g else a*b)``, which is associative whenever ``*`` is (Blelloch, Prefix sums
and their applications, CMU-CS-90-190, 1990). So every kernel of :func:`gpuprims.scan` does it, with work shared evenly
whatever the segments' lengths. A reduction is the same scan, which stores the last value of each segment, unless a
kernel that reads the offsets takes it; see :mod:`gpuprims.primitives.segments.plan`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.operators import Folding, Op, as_map, make_folding

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)


def segmented(
    op: Op, mapped: Any, arrays: tuple[Any, ...], marks: tuple[Any, ...], dtype: Any, label: str
) -> tuple[Folding, tuple[Any, ...]]:
    """Return the folding of values with a flag and, if results need it, a count; and the results of an empty segment.

    Its map takes marks after the arrays. The first mark is true where a segment begins.
    """
    plain = make_folding(op, as_map(label, mapped, len(arrays)), arrays, dtype, label)
    n, m, components = len(arrays), len(marks), len(plain.values)
    counts = op.finish is not None
    count = plain.finish.steps[components].dtype
    beside = (_BOOL, count) if counts else (_BOOL,)
    values = (*beside, *plain.values)
    first = len(beside)

    def load(*given: Any) -> Any:
        own = plain.map(*given[:n], given[-1])
        return (given[n] != 0, *((1,) if counts else ()), *own)

    def fold(*both: Any) -> Any:
        p, q = both[: first + components], both[first + components :]
        joined = plain.op(*p[first:], *q[first:])
        counted = (np.where(q[0], q[1], p[1] + q[1]),) if counts else ()
        return (p[0] | q[0], *counted, *(np.where(q[0], new, old) for new, old in zip(q[first:], joined, strict=True)))

    def finish(*given: Any) -> Any:
        return plain.finish(*given[first : first + components], given[1] if counts else given[-1])

    folding = Folding(
        values=values,
        outputs=plain.outputs,
        map=typed(trace(load, n + m + 1), (*arrays, *marks, _INT64), values),
        op=typed(trace(fold, 2 * len(values)), values * 2, values),
        finish=typed(trace(finish, len(values) + 1), (*values, count), plain.outputs),
        identity=(np.False_, *((count.type(0),) if counts else ()), *plain.identity),
    )
    with np.errstate(all="ignore"):
        nothing = plain.finish(*plain.identity, count.type(0))
    return folding, tuple(np.asarray(value).item() for value in nothing)


def starting_anew(folding: Folding, nothing: tuple[Any, ...], arrays: tuple[Any, ...]) -> tuple[Folding, TypedExpr]:
    """Return the result of nothing where a segment begins, which the last array marks."""
    k, n = len(folding.values), len(arrays)

    def finish(*given: Any) -> Any:
        own = folding.finish(*given[:k], given[k])
        return tuple(np.where(given[-1], value, one) for one, value in zip(own, nothing, strict=True))

    def here(*given: Any) -> Any:
        return (given[k],) * len(folding.outputs)  # the number of elements before, which is the place

    return _placed(folding, finish, here, k, n, arrays)


def at_ends(folding: Folding, arrays: tuple[Any, ...]) -> tuple[Folding, TypedExpr]:
    """Store at the segment's number where a segment ends, which the last array marks."""
    k, n = len(folding.values), len(arrays)

    def finish(*given: Any) -> Any:
        return folding.finish(*given[:k], given[k])

    def number(*given: Any) -> Any:
        return (given[-1].astype(np.int64) - 1,) * len(folding.outputs)

    return _placed(folding, finish, number, k, n, arrays)


def _placed(
    folding: Folding, finish: Any, place: Any, k: int, n: int, arrays: tuple[Any, ...]
) -> tuple[Folding, TypedExpr]:
    counted = (*folding.values, folding.finish.steps[k].dtype, *arrays)
    placed = (*folding.values, _INT64, *arrays)
    own = typed(trace(finish, k + 1 + n), counted, folding.outputs)
    where = typed(trace(place, k + 1 + n), placed, (_INT64,) * len(folding.outputs))
    return Folding(folding.values, folding.outputs, folding.map, folding.op, own, folding.identity), where
