"""Foldings whose sums of floats are exact, so that they are the same for any order of the elements.

Numbers whose additions are exact add up the same in any order, and the result is rounded once. They are the integers of
:mod:`.exact_words` for any floats, or those of :mod:`.exact_windows` for floats in a window of bits. Any kernel that
folds or scans can run the folding.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.expressions.bits import complex_of
from gpuprims.operators.dtypes import FLOAT32, FLOAT64, INT64, Dtype, Dtypes
from gpuprims.operators.exact_pairs import Guess, Pair
from gpuprims.operators.exact_windows import Window, magnitudes_of, packed_exponents
from gpuprims.operators.exact_words import Words
from gpuprims.operators.folding import Folding, arguments_of, through
from gpuprims.operators.portable import rounds

_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
# The parts of complex numbers, which add up separately.
_PARTS = {np.dtype(np.complex64): (FLOAT32,) * 2, np.dtype(np.complex128): (FLOAT64,) * 2}


@lru_cache(maxsize=1024)
def exactly(folding: Folding, window: Window | None = None) -> Folding:
    """Return a folding with exact sums; unchanged if its operator does more than add floats component by component.

    Components that are integers stay as they are, and the parts of complex numbers are separate components. If a
    ``window`` is given, all elements are finite and lie in it.
    """
    if not adds_floats(folding):
        return folding
    values = folding.values
    sums = [_sum_of(dtype, window) for dtype in _numbers_in(values)]
    dtypes = tuple(dtype for one in sums for dtype in one.dtypes)

    def split(given: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
        at = 0
        for one in sums:
            yield one, given[at : at + len(one.dtypes)]
            at += len(one.dtypes)

    def load(*given: Any) -> Any:
        elements = _elements_of(folding, given)
        return tuple(part for one, element in zip(sums, elements, strict=True) for part in one.load(element))

    def fold(*both: Any) -> Any:
        pairs = zip(split(both[: len(dtypes)]), split(both[len(dtypes) :]), strict=True)
        return tuple(part for (one, a), (_, b) in pairs for part in one.fold(a, b))

    def add(*both: Any) -> Any:
        pairs = zip(split(both[: len(dtypes)]), split(both[len(dtypes) :]), strict=True)
        return tuple(part for (one, a), (_, b) in pairs for part in one.add(a, b))

    def finish(*given: Any) -> Any:
        left = iter([one.finish(own) for one, own in split(given[:-1])])
        whole = [complex_of(next(left), next(left)) if dtype in _PARTS else next(left) for dtype in values]
        return folding.finish(*whole, given[-1])

    in_run = add if all(isinstance(one, Pair | Guess) and one.defers for one in sums) else None
    return through(folding, dtypes, load, fold, finish, exact=True, in_run=in_run)


@lru_cache(maxsize=1024)
def extent_of(folding: Folding) -> tuple[Folding, Dtype] | None:
    """Return the folding that finds the window of the elements, and their dtype; None for floats of several dtypes.

    Its result is that of :func:`gpuprims.operators.exact_windows.packed_exponents`.
    """
    kinds = {dtype for dtype in _numbers_in(folding.values) if dtype.kind == "f"}
    if len(kinds) != 1 or not adds_floats(folding):
        return None
    given = arguments_of(folding.map)
    floats = [dtype.kind == "f" for dtype in _numbers_in(folding.values)]
    (kind,) = kinds

    def load(*arguments: Any) -> Any:
        elements = zip(_elements_of(folding, arguments), floats, strict=True)
        magnitudes = [magnitudes_of(element, kind) for element, is_float in elements if is_float]
        return tuple(reduce(np.maximum, one) for one in zip(*magnitudes, strict=True))

    def fold(*both: Any) -> Any:
        return np.maximum(both[0], both[2]), np.maximum(both[1], both[3])

    values, result, zero = (_UINT32,) * 2, (_UINT64,), np.uint32(0)
    packed = trace(lambda largest, smallest, number: packed_exponents(largest, smallest, kind), 3)
    finish = typed(packed, (*values, INT64), result)
    loads = typed(trace(load, len(given)), given, values)
    folds = typed(trace(fold, 4), values * 2, values)
    return Folding(values, result, loads, folds, finish, (zero, zero)), kind


class _Integer:
    """How integers add up."""

    def __init__(self, dtype: Dtype) -> None:
        self.dtypes: Dtypes = (dtype,)

    def load(self, element: Any) -> tuple[Any, ...]:
        return (element,)

    def fold(self, a: Any, b: Any) -> list[Any]:
        return [a[0] + b[0]]

    def finish(self, parts: Any) -> Any:
        return parts[0]


def _sum_of(dtype: Dtype, window: Window | None) -> Words | Window | _Integer:
    """Return how numbers of a dtype add up."""
    if dtype.kind != "f":
        return _Integer(dtype)
    return Words(dtype) if window is None else window


def _numbers_in(values: Dtypes) -> list[Dtype]:
    """Return the dtypes of real numbers that values are made of."""
    return [number for dtype in values for number in _PARTS.get(dtype, (dtype,))]


def _elements_of(folding: Folding, given: tuple[Any, ...]) -> list[Any]:
    """Return the real numbers of an element."""
    elements = list[Any]()
    for dtype, element in zip(folding.values, folding.map(*given), strict=True):
        elements += [element.real, element.imag] if dtype in _PARTS else [element]
    return elements


def adds_floats(folding: Folding) -> bool:
    """Return True if a fold only adds float32, float64, integers and complex numbers, and rounds."""
    if not rounds(folding) or not _adds_components(folding.op, folding.values):
        return False
    return all(dtype in (FLOAT32, FLOAT64) or dtype.kind in "biu" for dtype in _numbers_in(folding.values))


def _adds_components(op: TypedExpr, values: Dtypes) -> bool:
    """Return True if each component of an operator's result is the sum of this component of both values."""
    for k, result in enumerate(op.results):
        node = op.nodes[result]
        both = [op.nodes[one] for one in node.operands]
        if node.name != "add" or [one.name for one in both] != ["argument"] * 2:
            return False
        if sorted(int(one.value) for one in both) != [k, k + len(values)]:
            return False
    return True
