"""Operators of folds in parts: each part folds to a value, and the values join to the result.

An :class:`~gpuprims.Op` made here takes the arrays of a call themselves, so :func:`gpuprims.reduce` and
:func:`gpuprims.scan` run it as they run any operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.determinism import Level, asked_level, refuse_levels
from gpuprims.expressions import Expr
from gpuprims.operators import Folding, Op, as_map, carried, counting, from_index, make_folding
from gpuprims.operators.dtypes import Dtype, Dtypes
from gpuprims.operators.exact_foldings import exactly
from gpuprims.operators.portable import adds, rounds, settled
from gpuprims.primitives.exact_sums import add_limbs, round_limbs
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.reduce.limbs import sum_limbs

# The components of a folded value, on the host.
Value = tuple[Any, ...]


class Split(NamedTuple):
    """A fold in parts. ``part`` folds elements, with the index of the first as one more array if ``indexed``."""

    whole: Folding
    part: Op
    indexed: bool
    arrays: Dtypes
    finished: bool  # the components of a value are the results
    exact: bool = False  # values are the words of exact sums, and are rounded at the end
    adds: bool = False  # floats, which NumPy adds in a tenth of the time of an expression

    def fold(self, arrays: Sequence[Any], axis: Any, device: Any, *, keepdims: bool = False) -> Any:
        """Fold a part's arrays, and the index of the first element if ``indexed``, to the components of a value."""
        call = sum_limbs if self.exact else reduce
        return call(*arrays, op=self.part, axis=axis, keepdims=keepdims, device=device)

    def join(self, values: Sequence[Value]) -> Value:
        """Fold the values of parts, in their order."""
        if len(values) == 1:
            return values[0]
        if self.exact:
            return (add_limbs([np.asarray(words) for (words,) in values]),)
        with np.errstate(all="ignore"):
            joined = values[0]
            for value in values[1:]:
                joined = (joined[0] + value[0],) if self.adds else self.whole.op(*joined, *value)
        return joined

    def finish(self, value: Value, count: int) -> tuple[np.ndarray, ...]:
        """Return the results of a value that ``count`` elements were folded to."""
        if self.exact:
            value = (round_limbs(np.asarray(value[0]), self.whole.values[0]),)
        if self.finished:
            return tuple(map(np.asarray, value))
        number = self.whole.finish.nodes[len(self.whole.values)].dtype.type(count)
        with np.errstate(all="ignore"):
            found = self.whole.finish(*value, number)
        return tuple(np.asarray(one, dtype) for one, dtype in zip(found, self.whole.outputs, strict=True))

    @property
    def identity(self) -> Value:
        """The value of no elements."""
        return self.whole.identity

    @property
    def continued(self) -> Op:
        """The operator of elements that come after others.

        It takes two kinds of arrays more: the index of the first element, and the components of the value of all
        elements before it, which joins the first element.
        """
        return _continued(self.whole, self.arrays, self.part.commutative, self.part.name)


def split(
    op: Op, mapped: str | Expr | None, arrays: Dtypes, dtype: Dtype | None, label: str, *, running: bool = False
) -> Split:
    """Return the fold of arrays of these dtypes in parts, for the arguments of :func:`gpuprims.reduce`.

    A ``running`` fold has a result for each element, so values contain the number of elements if results need it. At
    the level "order" a fold that rounds adds exactly, or raises.
    """
    return _split(op, mapped, arrays, dtype, label, running, asked_level())


@lru_cache(maxsize=256)
def _split(
    op: Op,
    mapped: str | Expr | None,
    arrays: Dtypes,
    dtype: Dtype | None,
    label: str,
    running: bool,
    level: Level | None,
) -> Split:
    arrays = tuple(one.newbyteorder("=") for one in arrays)  # calls convert arrays to the machine's byte order
    whole = make_folding(op, as_map(label, mapped, len(arrays)), arrays, dtype, label)
    if running and whole.counts:
        whole = counting(whole, arrays)
    exact = level == "order" and not running and adds(whole)
    if level == "order" and not exact:
        whole = exactly(whole)
        if rounds(whole):
            refuse_levels(label, f"folds in parts by {op.name}", "device")
    whole = settled(whole) if level in ("device", "order") else whole
    indexed = whole.map.takes(len(arrays))
    part = from_index(whole, arrays) if indexed else whole
    taken = len(arrays) + indexed
    finished = whole.outputs == whole.values and all(node.name == "argument" for node in whole.finish.nodes)
    return Split(
        whole,
        _op_of(part, taken, op.commutative, op.name, finished=False),
        indexed,
        arrays,
        finished,
        exact,
        adds(whole),
    )


@lru_cache(maxsize=256)
def _continued(whole: Folding, arrays: Dtypes, commutative: bool, name: str) -> Op:
    after = carried(whole, arrays)
    return _op_of(after, len(arrays) + 1 + len(whole.values), commutative, name, finished=True)


def _op_of(folding: Folding, arrays: int, commutative: bool, name: str, *, finished: bool) -> Op:
    """Return a folding as an operator of ``arrays`` arrays; unless ``finished``, its results are the components."""
    outputs = folding.outputs if finished else folding.values
    better = folding.better
    op = Op(
        lambda p, q: folding.op(*p, *q),
        folding.identity,
        commutative=commutative,
        name=name,
        prepare=lambda *given: folding.map(*given),
        finish=folding.finish.__call__ if finished else lambda *given: given[:-1],
        dtypes=lambda elements, dtype: (folding.values, outputs),
        better=None if better is None else lambda a, b: better(a, b)[0],
    )
    return op.altered(elements=arrays)
