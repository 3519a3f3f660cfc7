"""Folding: an operator and a map for the dtypes of a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.errors import ArgumentError
from gpuprims.expressions import Expr, TypedExpr, expression, trace, typed
from gpuprims.operators.dtypes import BOOL, INT64, Dtype, Dtypes
from gpuprims.operators.op import Op


@dataclass(frozen=True)
class Folding:
    """An operator and a map for the dtypes of a call."""

    values: Dtypes  # of the components that are folded
    outputs: Dtypes  # of the results
    map: TypedExpr  # from one element of each array, and its index, to the components
    op: TypedExpr  # from the components of two values to the components of one
    # From the components and the number of elements to the results; of scans that store results by elements, from the
    # elements at a result's own place too.
    finish: TypedExpr
    identity: tuple[Any, ...]  # one scalar for each component
    # From the first components of two values to True if the first value is better, for folds that return one of their
    # values.
    better: TypedExpr | None = None
    # Compilers may merge a product with the sum that follows.
    contracted: bool = True
    # No operation of the fold rounds, though its values are floats.
    exact: bool = False
    # For runs of up to IN_RUN values (exact_pairs.py) in scans: as ``op``, in fewer operations. What comes out has the
    # same result, and ``op`` folds it with others.
    in_run: TypedExpr | None = None

    @property
    def counts(self) -> bool:
        """True if results depend on the number of elements."""
        return self.finish.takes(len(self.values))

    @property
    def rereads(self) -> bool:
        """True if results depend on the elements at their own places."""
        return self.finish.arity > len(self.values) + 1

    @property
    def computed_in(self) -> Dtypes:
        """Dtypes of all nodes, which a device must support."""
        return self.map.computed_in + self.op.computed_in + self.finish.computed_in


@lru_cache(maxsize=1024)
def as_map(label: str, function: str | Expr | None, arity: int) -> Expr:
    """Return the fused map of ``arity`` arrays; by default it returns the elements."""
    mapped = trace(lambda *elements: elements, arity) if function is None else expression(function)
    if len(mapped.parameters) != arity:
        raise ArgumentError(f"{label}: one array for each of ({', '.join(mapped.parameters)}); got {arity}")
    return mapped


@lru_cache(maxsize=1024)
def make_folding(op: Op, mapped: Expr, arrays: Dtypes, dtype: Dtype | None, label: str = "reduce") -> Folding:
    """Join a map and an operator for arrays of these dtypes, with the caller's ``dtype=``."""
    if len(mapped.results) != op.elements:
        got = len(mapped.results) - op.masked
        hint = ' (write axis= by its name, join arrays such as by map="x*y", or fold each by itself)'
        raise ArgumentError(
            f"{label} with {op.name}: {op.elements - op.masked} array(s), or a map with as many results; got {got}"
            f"{hint if got > op.elements - op.masked else ''}"
        )
    elements = typed(mapped, arrays).dtypes
    values, outputs = op.value_dtypes(elements, dtype)
    if (chosen := op.instead(elements, values)) is not None:
        return make_folding(chosen, mapped, arrays, dtype, label)
    identity = op.identity(values)
    load, kept = _loading(op, mapped, len(arrays), values[0] if op.converts else dtype, identity)
    # The count has the dtype of the values, so that mean divides a float32 by a float32.
    count = values[0] if values[0].kind in "fc" else INT64
    finish = trace(op.finish or _finish(op, values), op.components + 1)
    # A value that is left out has no index, so a search for the first of equal values must not find it.
    better = None if op.skips is not None and op.components > 1 else op.better
    folding = Folding(
        values,
        outputs,
        typed(trace(load, len(arrays) + 1), (*arrays, INT64), values),
        typed(op.fold, values * 2, values),
        typed(finish, (*values, count), outputs),
        identity,
        None if better is None else typed(better, values[:1] * 2, (BOOL,)),
    )
    return folding if op.skips is None or not folding.counts else counting(folding, arrays, kept)


def _loading(
    op: Op, mapped: Expr, arity: int, early: Dtype | None, identity: Sequence[Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the function from elements and an index to a value, and the one that is True for elements to fold.

    Like NumPy's ``dtype=``, ``early`` converts elements before the fold.
    """

    def parts_of(*given: Any) -> tuple[Any, ...]:
        results = mapped(*given[:arity])
        return (results,) if mapped.single else results

    def kept(*given: Any) -> Any:
        return True if op.skips is None else ~op.skips(*parts_of(*given))

    def load(*given: Any) -> Any:
        parts = parts_of(*given)
        if early is not None:
            parts = tuple(part.astype(early) for part in parts)
        prepared = parts if op.prepare is None else op.prepare(*parts, given[-1])
        if op.skips is None:
            return prepared
        components, number = prepared if isinstance(prepared, tuple) else (prepared,), kept(*given)
        return tuple(np.where(number, one, scalar) for one, scalar in zip(components, identity, strict=True))

    return load, kept


def _finish(op: Op, values: Dtypes) -> Callable[..., Any]:
    """Return the ``finish`` of an operator without one; it joins the initial value to the folded one."""
    if op.initial is None:
        return lambda *folded: folded[:-1]
    first = op.held(values, op.initial, "initial=")
    return lambda *folded: op.fold(*first, *folded[:-1])


def counting(plain: Folding, arrays: Dtypes, kept: Callable[..., Any] = lambda *given: True) -> Folding:
    """Return a folding that also counts, for results that need the number of elements so far, or of those ``kept``."""
    count = arguments_of(plain.finish)[-1]
    values = (count, *plain.values)

    def load(*given: Any) -> Any:
        return np.where(kept(*given), 1, 0), *plain.map(*given)

    def fold(*both: Any) -> Any:
        p, q = both[: len(values)], both[len(values) :]
        return (p[0] + q[0], *plain.op(*p[1:], *q[1:]))

    def finish(*given: Any) -> Any:
        return plain.finish(*given[1:-1], given[0])

    identity = (count.type(0), *plain.identity)
    return through(plain, values, load, fold, finish, given=(*arrays, INT64), identity=identity, exact=plain.exact)


def through(
    folding: Folding,
    values: Dtypes,
    load: Callable[..., Any],
    fold: Callable[..., Any],
    finish: Callable[..., Any],
    *,
    given: Dtypes | None = None,
    identity: tuple[Any, ...] | None = None,
    exact: bool = False,
    in_run: Callable[..., Any] | None = None,
) -> Folding:
    """Return a folding of the same arguments and results, whose folded values have other dtypes.

    ``given`` are the dtypes of the arguments if ``load`` reads more of them than the folding's map; values begin as
    zeros, or as ``identity``. The new fold is ``exact`` if it never rounds.
    """
    given, count = given or arguments_of(folding.map), arguments_of(folding.finish)[-1]
    return replace(
        folding,
        values=values,
        map=typed(trace(load, len(given)), given, values),
        op=typed(trace(fold, 2 * len(values)), values * 2, values),
        finish=typed(trace(finish, len(values) + 1), (*values, count), folding.outputs),
        identity=identity or tuple(dtype.type(0) for dtype in values),
        better=None,
        exact=exact,
        in_run=None if in_run is None else typed(trace(in_run, 2 * len(values)), values * 2, values),
    )


def arguments_of(function: TypedExpr) -> Dtypes:
    """Return the dtypes of a function's arguments; int64 for those that it does not read."""
    read = {int(node.value): node.dtype for node in function.nodes if node.name == "argument"}
    return tuple(read.get(k, INT64) for k in range(function.arity))


class Stages(NamedTuple):
    """Foldings for arrays that come in slabs.

    ``part`` folds a slab to a value. It takes one more array, the index of the slab's first element. ``join`` folds
    values to a value, and ``last`` folds values to the results.
    """

    part: Folding
    join: Folding
    last: Folding


def make_stages(whole: Folding, arrays: Dtypes) -> Stages:
    """Return the foldings of slabs of arrays of these dtypes."""
    values = whole.values
    kept = typed(trace(lambda *given: given[:-1], len(values) + 1), (*values, INT64))
    part = replace(from_index(whole, arrays), outputs=values, finish=kept)
    return Stages(part, replace(whole, outputs=values, map=kept, finish=kept), replace(whole, map=kept))


def from_index(whole: Folding, arrays: Dtypes) -> Folding:
    """Return the folding of elements with one further array, the index of the first element."""
    n = len(arrays)
    shifted = trace(lambda *given: whole.map(*given[:n], given[n] + given[n + 1]), n + 2)
    return replace(whole, map=typed(shifted, (*arrays, INT64, INT64), whole.values))


@lru_cache(maxsize=1024)
def carried(whole: Folding, arrays: Dtypes) -> Folding:
    """Return the folding of elements that come after others, with two further kinds of arrays.

    The first of them is the index of the first element, the others are the components of the value of all elements
    before it. The value joins the first element.
    """
    n, values = len(arrays), whole.values

    def load(*given: Any) -> Any:
        elements, start, before, index = given[:n], given[n], given[n + 1 : -1], given[-1]
        own = whole.map(*elements, start + index)
        joined = whole.op(*before, *own)
        return tuple(np.where(index == 0, both, alone) for both, alone in zip(joined, own, strict=True))

    mapped = typed(trace(load, n + 2 + len(values)), (*arrays, INT64, *values, INT64), values)
    return replace(whole, map=mapped, better=None)


@lru_cache(maxsize=1024)
def unfinished(whole: Folding) -> Folding:
    """Return a folding whose results are the components of its values."""
    kept = typed(trace(lambda *given: given[:-1], len(whole.values) + 1), (*whole.values, INT64))
    return replace(whole, outputs=whole.values, finish=kept)


def counting_down(folding: Folding, arrays: Dtypes, last: int) -> Folding:
    """Return the folding of elements whose indices count down from ``last``."""
    n, first = len(arrays), np.int64(last)
    if not folding.map.takes(n):
        return folding
    mapped = trace(lambda *given: folding.map(*given[:n], first - given[n]), n + 1)
    return replace(folding, map=typed(mapped, (*arrays, INT64), folding.values))
