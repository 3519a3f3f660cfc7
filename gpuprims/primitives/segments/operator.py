"""Operators of segmented scans.

A segmented scan is a scan of pairs of a value and a flag that is set if a segment begins among the value's elements:
``(f, a) * (g, b) = (f | g, b if g else a*b)``, which is associative whenever ``*`` is (Blelloch, Prefix sums and their
applications, CMU-CS-90-190, 1990). So every kernel of :func:`gpuprims.scan` can do it, and shares the work evenly for
segments of any lengths. A reduction is the same scan and stores the last value of each segment, unless a kernel that
reads offsets can run it; see :mod:`gpuprims.primitives.segments.plan`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.operators import Folding

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)


def segmented(plain: Folding, arrays: tuple[Any, ...], marks: tuple[Any, ...]) -> tuple[Folding, tuple[Any, ...]]:
    """Return the folding of values with a flag and, if results need one, a count; and the results of an empty segment.

    ``plain`` is the folding of a segment. The new one's map takes marks after the arrays; the first mark is True where
    a segment begins.
    """
    n, components, counts = len(arrays), len(plain.values), plain.counts
    # Additions of floats would round large counts.
    given_as = plain.finish.nodes[components].dtype
    count = _INT64 if asks_for_device() else given_as
    values = (_BOOL, *(count,) * counts, *plain.values)
    first = 1 + counts

    def load(*given: Any) -> Any:
        own = plain.map(*given[:n], given[-1])
        return (given[n] != 0, *(1,) * counts, *own)

    def fold(*both: Any) -> Any:
        p, q = both[: len(values)], both[len(values) :]
        joined = plain.op(*p[first:], *q[first:])
        counted = (np.where(q[0], q[1], p[1] + q[1]),) if counts else ()
        return (p[0] | q[0], *counted, *(np.where(q[0], new, old) for new, old in zip(q[first:], joined, strict=True)))

    def finish(*given: Any) -> Any:
        return plain.finish(*given[first:-1], given[1].astype(given_as) if counts else given[-1])

    folding = Folding(
        values=values,
        outputs=plain.outputs,
        map=typed(trace(load, n + len(marks) + 1), (*arrays, *marks, _INT64), values),
        op=typed(trace(fold, 2 * len(values)), values * 2, values),
        finish=typed(trace(finish, len(values) + 1), (*values, given_as), plain.outputs),
        identity=(np.False_, *(count.type(0),) * counts, *plain.identity),
        contracted=plain.contracted,
        exact=plain.exact,
    )
    with np.errstate(all="ignore"):
        nothing = plain.finish(*plain.identity, given_as.type(0))
    return folding, tuple(np.asarray(value).item() for value in nothing)


def placed(
    folding: Folding, arrays: tuple[Any, ...], place: Callable[[Any, Any], Any], nothing: tuple[Any, ...] = ()
) -> tuple[Folding, TypedExpr]:
    """Return the folding for a scan that stores results at other indices, and the function to these indices.

    ``place`` is a function of the element's index and the last array's element. If ``nothing`` is given, it replaces
    results where the last array is True.
    """
    k, outputs = len(folding.values), folding.outputs

    def finish(*given: Any) -> Any:
        own = folding.finish(*given[: k + 1])
        if not nothing:
            return own
        return tuple(np.where(given[-1], value, one) for one, value in zip(own, nothing, strict=True))

    def index(*given: Any) -> Any:
        return (place(given[k], given[-1]),) * len(outputs)

    counted = (*folding.values, folding.finish.nodes[k].dtype, *arrays)
    found = (*folding.values, _INT64, *arrays)
    own = replace(folding, finish=typed(trace(finish, len(counted)), counted, outputs))
    return own, typed(trace(index, len(found)), found, (_INT64,) * len(outputs))
