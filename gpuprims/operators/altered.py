"""Operators with ``where=`` and ``initial=``: operators of masked folds, and of folds that begin with a value."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, DtypeError, quoted
from gpuprims.expressions import Expr, trace
from gpuprims.expressions.expr import Instruction, encode_constant
from gpuprims.operators.dtypes import BOOL, Dtype, Dtypes
from gpuprims.operators.folding import as_map
from gpuprims.operators.op import Op

# A value to begin with: a constant for each component, as text, because 1, 1.0 and True are equal in Python.
Initial = tuple[Instruction, ...]


@lru_cache(maxsize=1024)
def masked(label: str, op: Op) -> Op:
    """Return the operator of elements and a mask, which leaves out the elements where the mask is False."""

    def skips(*parts: Any) -> Any:
        *own, kept = parts
        return ~kept if op.skips is None else ~kept | op.skips(*own)

    def prepare(*given: Any) -> Any:
        *own, _, index = given
        return tuple(own) if op.prepare is None else op.prepare(*own, index)

    def value_dtypes(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
        if elements[-1] != BOOL:
            hint = " (write where=mask != 0)" if elements[-1].kind in "iu" else ""
            raise DtypeError(f"{label} with {op.name}: where= of bools; got {elements[-1]}{hint}")
        return op.value_dtypes(elements[:-1], dtype)

    def instead(elements: Dtypes, values: Dtypes) -> Op | None:
        found = op.instead(elements[:-1], values)
        return None if found is None else masked(label, found)

    return op.altered(
        elements=op.elements + 1,
        masked=True,
        skips=skips,
        prepare=prepare,
        value_dtypes=value_dtypes,
        instead=instead,
    )


@lru_cache(maxsize=1024)
def masked_map(label: str, function: str | Expr | None, arity: int) -> Expr:
    """Return the map of ``arity`` arrays and a mask, which the mask passes unchanged."""
    mapped = as_map(label, function, arity)

    def both(*given: Any) -> Any:
        results = mapped(*given[:-1])
        return (results, given[-1]) if mapped.single else (*results, given[-1])

    return trace(both, arity + 1)


@lru_cache(maxsize=1024)
def begun(op: Op, initial: Initial) -> Op:
    """Return the operator whose folds begin with a value."""

    def instead(elements: Dtypes, values: Dtypes) -> Op | None:
        found = op.instead(elements, values)
        # Only results that are what is folded begin with a value.
        return None if found is None or found.finish is not None else begun(found, initial)

    return op.altered(
        initial=tuple(one.scalar for one in initial),
        of_nothing=True,
        instead=instead,
    )


def as_initial(label: str, op: Op, initial: Any) -> Initial | None:
    """Check a caller's ``initial=``."""
    if initial is None:
        return None
    if op.finish is not None:
        rule = f"{label} with {op.name}: no initial=, because a result is computed after the fold"
        raise ArgumentError(f"{rule}; got {quoted(initial)}")
    given = initial if isinstance(initial, tuple) else (initial,)
    numbers = [one[()] if isinstance(one, np.ndarray) and not one.ndim else one for one in given]
    if len(given) != op.components or not all(
        isinstance(one, int | float | complex | np.number | np.bool_) for one in numbers
    ):
        rule = "a number" if op.components == 1 else f"a tuple of {op.components} numbers"
        raise ArgumentError(f"{label} with {op.name}: initial= {rule}; got {quoted(initial)}")
    return tuple(map(encode_constant, numbers))


def altered(label: str, op: Op, *, where: bool, initial: Initial | None) -> Op:
    """Return the operator of a call with a mask, or with a value to begin with."""
    if where and initial is None and not op.of_nothing:
        rule = f"{label} with {op.name}: initial= beside where=, because the mask may leave nothing"
        hint = "" if op.finish is None else " (it takes no initial=: reduce what compact(x, mask) keeps)"
        raise ArgumentError(f"{rule}; got where= alone{hint}")
    chosen = op if initial is None else begun(op, initial)
    return masked(label, chosen) if where else chosen
