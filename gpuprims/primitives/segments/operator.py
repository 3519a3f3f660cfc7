"""Operators of segmented scans.

A segmented scan is a scan of pairs of a value and a flag that is set if a segment begins among the value's elements:
``(f, a) * (g, b) = (f | g, b if g else a*b)``, which is associative whenever ``*`` is (Blelloch, Prefix sums and their
applications, CMU-CS-90-190, 1990). So every kernel of :func:`gpuprims.scan` can do it, and shares the work evenly for
segments of any lengths. A reduction is the same scan and stores the last value of each segment, unless a kernel that
reads offsets can run it; see :mod:`gpuprims.primitives.segments.plan`.
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
    """Return the folding of values with a flag and, if results need one, a count; and the results of an empty segment.

    The folding's map takes marks after the arrays. The first mark is True where a segment begins.
    """
    plain = make_folding(op, as_map(label, mapped, len(arrays)), arrays, dtype, label)
    n, m, components = len(arrays), len(marks), len(plain.values)
    counts = op.finish is not None
    count = plain.finish.nodes[components].dtype
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
    """Return the folding that gives the result of an empty segment where the last array marks a beginning."""
    k = len(folding.values)

    def finish(*given: Any) -> Any:
        own = folding.finish(*given[:k], given[k])
        return tuple(np.where(given[-1], value, one) for one, value in zip(own, nothing, strict=True))

    def here(*given: Any) -> Any:
        return (given[k],) * len(folding.outputs)  # the index: the number of elements before

    return _placed(folding, finish, here, arrays)


def at_ends(folding: Folding, arrays: tuple[Any, ...]) -> tuple[Folding, TypedExpr]:
    """Return the folding that stores a result, at its segment's index, where the last array marks an end."""
    k = len(folding.values)

    def finish(*given: Any) -> Any:
        return folding.finish(*given[:k], given[k])

    def number(*given: Any) -> Any:
        return (given[-1].astype(np.int64) - 1,) * len(folding.outputs)

    return _placed(folding, finish, number, arrays)


def _placed(folding: Folding, finish: Any, place: Any, arrays: tuple[Any, ...]) -> tuple[Folding, TypedExpr]:
    counted = (*folding.values, folding.finish.nodes[len(folding.values)].dtype, *arrays)
    placed = (*folding.values, _INT64, *arrays)
    own = typed(trace(finish, len(counted)), counted, folding.outputs)
    where = typed(trace(place, len(placed)), placed, (_INT64,) * len(folding.outputs))
    return Folding(folding.values, folding.outputs, folding.map, folding.op, own, folding.identity), where
