"""A pass of a stencil: a function of neighbours, in one step or in two, and how to store its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.primitives.stencil.halves import MOST_WEIGHT, Join, half_dtypes, joining_means, joining_sums
from gpuprims.primitives.stencil.neighbours import (
    WIDEST,
    Neighbours,
    separated,
    trace_neighbours,
    weighted,
    weighted_halves,
)
from gpuprims.primitives.stencil.rounding import Ends, averaged, averaging, finishing, summed

Dtype = np.dtype[Any]

_INT64, _DOUBLE, _SINGLE = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.float32)
# Holds the sums of two bytes, one in each half.
_PAIR = np.dtype(np.uint32)
# Up to this many weights are written out in the kernel; more are read from memory.
_MOST_WRITTEN = 169
# Most neighbours whose halves one function sums; for more, the halves become arrays. 2048 x 2048 int64, by one function
# and by arrays: a box of 7 x 7 56 and 104 ms, of 9 x 9 96 and 72, of 13 x 13 143 and 109 (two shared cores of an AMD
# EPYC, Intel's runtime 2026.2, 2026-11-22).
_MOST_IN_HALVES = 49
# Tolerated relative error of products of a column and a row, for elements that float32 holds and for others.
_ROUNDED_SINGLE, _ROUNDED_DOUBLE = 1e-7, 1e-15
# Standard deviations from the middle to the end of Gaussian weights.
_TRUNCATE = 4.0
# Sums of integers below these fit in 32 and in 64 bits.
_SMALL, _LARGE = 2**31, 2**63


class Halves(NamedTuple):
    """The passes over the high and the low halves of 64-bit integers, and the function from their sums to a result."""

    high: Step
    low: Step
    join: Join


@dataclass(frozen=True, eq=False)
class Step:
    """A pass over an array. A step equals only itself, so plans are looked up without comparing contents.

    Parameters
    ----------
    offsets : tuple of tuple of int
        Offsets of the arguments of ``function`` along the last axes; with ``across``, along the rows.
    function : TypedExpr or None
        From neighbours and an unused number to a value; None where weights are read from memory.
    finish : TypedExpr
        From the value and an unused number to the result.
    value : dtype
        Dtype of the computation.
    weights : bytes or None
        Weights that are read from memory, of dtype ``value``.
    columns : tuple of int
        Offsets of the arguments of ``across``.
    across : TypedExpr or None
        The first of two steps, along columns.
    paired : (TypedExpr, TypedExpr or None) or None
        ``function`` and ``across`` of two bytes in the halves of a uint32, if their sums fit in 16 bits.
    halves : Halves or None
        The passes over both halves of 64-bit integers, if they have too many neighbours for one function.
    """

    offsets: tuple[tuple[int, ...], ...]
    function: TypedExpr | None
    finish: TypedExpr
    value: Dtype
    weights: bytes | None = None
    columns: tuple[int, ...] = ()
    across: TypedExpr | None = None
    paired: tuple[TypedExpr, TypedExpr | None] | None = None
    halves: Halves | None = None

    @property
    def rank(self) -> int:
        """The number of axes along which neighbours lie."""
        return len(self.offsets[0])

    @property
    def result(self) -> Dtype:
        """Dtype of the result."""
        return self.finish.dtypes[0]

    @classmethod
    def of_function(cls, function: Callable[..., Any], element: Dtype, result: Dtype | None) -> Step:
        """Return the pass of a function of a neighbourhood."""
        return _of_neighbours(trace_neighbours(function), element, result)

    @classmethod
    def of_weights(cls, weights: np.ndarray, element: Dtype, result: Dtype, *, double: bool) -> Step:
        """Return the pass of weights, in two steps if they are products of a column and a row."""
        return _of_weights(weights.shape, weights.dtype, weights.tobytes(), element, result, double)

    @classmethod
    def of_two(cls, column: np.ndarray, row: np.ndarray, element: Dtype, value: Dtype, finish: TypedExpr) -> Step:
        """Return the pass of a row of weights followed by a column of weights."""
        across, down = _two(column, row, value)
        pairs = _two(column, row, _PAIR) if _fit_in_pairs(np.outer(column, row), element) else None
        return cls(
            offsets=tuple((dy, 0) for (dy,) in down.offsets),
            function=_typed(down, value),
            finish=finish,
            value=value,
            columns=tuple(dx for (dx,) in across.offsets),
            across=_typed_across(across, element, value),
            paired=pairs and (_typed(pairs[1], _PAIR), _typed_across(pairs[0], _PAIR, _PAIR)),
        )

    @classmethod
    @lru_cache(maxsize=64)
    def of_cross(cls, element: Dtype) -> Step:
        """Return the pass of the mean of an element and its four neighbours."""
        return cls._of_mean(np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]), element)

    @classmethod
    def _of_mean(cls, weights: np.ndarray, element: Dtype) -> Step:
        """Return the pass of a weighted mean of neighbours."""
        value = _value_of(weights, element, element, double=False)
        if value is None:
            return _of_halves(weights, element, element, joining_means(int(weights.sum()), element))
        return _written_out(weights, element, value, averaging(value, int(weights.sum()), element))

    @classmethod
    @lru_cache(maxsize=64)
    def of_box(cls, rows: int, columns: int, element: Dtype) -> Step:
        """Return the pass of the mean of a box."""
        value = _value_of(np.full(1, rows * columns), element, element, double=False)
        if rows == 1 or columns == 1 or value is None:
            return cls._of_mean(np.ones((rows, columns), np.int64), element)
        finish = averaging(value, rows * columns, element)
        return cls.of_two(np.ones(rows), np.ones(columns), element, value, finish)

    @classmethod
    @lru_cache(maxsize=64)
    def of_normal(cls, down: float, across: float, element: Dtype) -> Step:
        """Return the pass of Gaussian weights, given the standard deviations along rows and columns."""
        column, row = normal_weights(down), normal_weights(across)
        if element.kind == "f":
            value = _DOUBLE if element.itemsize == 8 else _SINGLE
            return cls.of_two(column, row, element, value, finishing(value, element))
        value, info = _SINGLE if _is_narrow(element) else _DOUBLE, np.iinfo(element)
        ends = Ends(int(info.min), int(info.max), len(column) + len(row))
        return cls.of_two(column, row, element, value, averaged(value, element, ends))

    def passes(self) -> tuple[Step, Step]:
        """Return both parts as separate steps; the first stores values."""
        if self.across is None or self.function is None:
            raise TypeError("passes of a step in two; got one in one")
        first = Step(
            offsets=tuple((dx,) for dx in self.columns),
            function=TypedExpr(self.across.steps, self.across.results, self.across.arity + 1),  # adds the number
            finish=finishing(self.value, self.value),
            value=self.value,
        )
        return first, Step(self.offsets, self.function, self.finish, self.value)


@lru_cache(maxsize=256)
def _of_weights(
    shape: tuple[int, ...], dtype: Dtype, given: bytes, element: Dtype, result: Dtype, double: bool
) -> Step:
    weights = np.frombuffer(given, dtype).reshape(shape)
    value = _value_of(weights, element, result, double=double)
    if value is None:
        return _of_halves(weights, element, result, joining_sums(result))
    finish = summed(value, result, _ends(weights, element))
    rounding = _ROUNDED_SINGLE if _is_narrow(element) else _ROUNDED_DOUBLE
    split = separated(weights, rounding) if value.kind == "f" else None
    if split is not None and np.count_nonzero(weights) > sum(map(np.count_nonzero, split)):
        return Step.of_two(*split, element, value, finish)
    if np.count_nonzero(weights) > _MOST_WRITTEN:
        return _of_table(weights, value, finish)
    return _written_out(weights, element, value, finish)


def _written_out(weights: np.ndarray, element: Dtype, value: Dtype, finish: TypedExpr) -> Step:
    """Return the pass of weights that are written out in the kernel."""
    neighbours, pairs = weighted(weights, value), None
    if _fit_in_pairs(weights, element):
        pairs = _typed(weighted(weights, _PAIR), _PAIR), None
    return Step(neighbours.offsets, _typed(neighbours, element), finish, value, paired=pairs)


def _of_table(weights: np.ndarray, value: Dtype, finish: TypedExpr) -> Step:
    """Return the pass of weights that are read from memory."""
    ends = tuple(tuple(end * (n // 2) for n in weights.shape) for end in (-1, 1))
    return Step(ends, None, finish, value, weights.astype(value).tobytes())


def _of_halves(weights: np.ndarray, element: Dtype, result: Dtype, join: Join) -> Step:
    """Return the pass of integer weights for 64-bit integers; one function sums the halves of few neighbours."""
    if np.count_nonzero(weights) <= _MOST_IN_HALVES:
        neighbours = weighted_halves(weights, element, join)
        return Step(neighbours.offsets, _typed(neighbours, element), finishing(result, result), result)
    high, low = (_sums_of(weights, half) for half in half_dtypes(element))
    return Step(high.offsets, None, finishing(result, result), result, halves=Halves(high, low, join))


def _sums_of(weights: np.ndarray, half: Dtype) -> Step:
    """Return the pass of integer weights for 32-bit halves; its results are the sums."""
    finish = finishing(_INT64, _INT64)
    if weights.ndim == 2 and min(weights.shape) > 1 and (weights == 1).all():
        rows, columns = weights.shape
        return Step.of_two(np.ones(rows), np.ones(columns), half, _INT64, finish)
    if np.count_nonzero(weights) > _MOST_WRITTEN and max(weights.shape) <= WIDEST:
        return _of_table(weights, _INT64, finish)
    return _written_out(weights, half, _INT64, finish)


@lru_cache(maxsize=256)
def _of_neighbours(neighbours: Neighbours, element: Dtype, result: Dtype | None) -> Step:
    applied = _typed(neighbours, element)
    value = applied.dtypes[0]
    return Step(neighbours.offsets, applied, finishing(value, result or value), value)


def normal_weights(sigma: float) -> np.ndarray:
    """Return SciPy's Gaussian weights, whose sum is 1, up to four standard deviations from the middle."""
    radius = int(_TRUNCATE * sigma + 0.5)
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    normal: np.ndarray = weights / weights.sum()
    return normal


def _typed(neighbours: Neighbours, element: Dtype) -> TypedExpr:
    count = len(neighbours.offsets)
    indexed = trace(lambda *given: neighbours.expr(*given[:-1]), count + 1)
    return typed(indexed, (*(element,) * count, _INT64))


def _two(column: np.ndarray, row: np.ndarray, value: Dtype) -> tuple[Neighbours, Neighbours]:
    """Return the weighted sum along a row, and that along a column."""
    return weighted(row, value), weighted(column, value)


def _typed_across(across: Neighbours, element: Dtype, value: Dtype) -> TypedExpr:
    return typed(across.expr, (element,) * len(across.offsets), (value,))


def _fit_in_pairs(weights: np.ndarray, element: Dtype) -> bool:
    """Return True if sums of bytes fit in 16 bits and so never overflow into the other half of a register."""
    whole = bool((weights == np.rint(weights)).all() and (weights >= 0).all())
    return element == np.uint8 and whole and 255 * weights.sum() < 2**16


def _value_of(weights: np.ndarray, element: Dtype, result: Dtype, *, double: bool) -> Dtype | None:
    """Return the dtype of a weighted sum; None for two sums of halves."""
    if element.kind == "f":
        return _DOUBLE if _DOUBLE in (element, result) else _SINGLE
    whole = weights.dtype.kind == "i" or bool((weights == np.rint(weights)).all() and np.abs(weights).max() < _SMALL)
    if not whole:
        return _DOUBLE if double or not _is_narrow(element) else _SINGLE
    largest = 1 if element.kind == "b" else int(np.iinfo(element).max) + 1
    weight = sum(abs(int(one)) for one in weights.flat)
    if largest * weight < _LARGE:
        return np.dtype(np.int32 if largest * weight < _SMALL else np.int64)
    return None if result.kind != "f" and element.itemsize == 8 and weight < MOST_WEIGHT else _DOUBLE


def _is_narrow(element: Dtype) -> bool:
    """Return True if float32 holds the elements, for integers with room for a fraction."""
    return element.itemsize <= 2 or element == _SINGLE


def _ends(weights: np.ndarray, element: Dtype) -> Ends | None:
    """Return the range of a weighted sum of integers; None for floats."""
    if element.kind == "f":
        return None
    low, high = (0, 1) if element.kind == "b" else (int(np.iinfo(element).min), int(np.iinfo(element).max))
    given = [one.item() for one in weights.flat if one]
    lowest = sum(min(one * low, one * high) for one in given)
    return Ends(lowest, sum(max(one * low, one * high) for one in given), len(given))
