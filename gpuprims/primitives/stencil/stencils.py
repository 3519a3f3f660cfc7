"""Stencils: functions of neighbours, and how to store their values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.primitives.stencil.halves import Join
from gpuprims.primitives.stencil.neighbours import Neighbours, trace_neighbours
from gpuprims.primitives.stencil.rounding import finishing

Dtype = np.dtype[Any]

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
# Integers up to this are exact in float32.
_EXACT = 2**24


class Halves(NamedTuple):
    """The stencils of the high and the low halves of 64-bit integers, and the function from their sums to a result."""

    high: Stencil
    low: Stencil
    join: Join


@dataclass(frozen=True, eq=False)
class Stencil:
    """A function of neighbours. A stencil equals only itself, so plans are looked up without comparing contents."""

    # Offsets of the arguments of ``function`` along the last axes; with ``across``, along columns only.
    offsets: tuple[tuple[int, ...], ...]
    # From neighbours and an unused number to a value; None if no kernel contains all weights.
    function: TypedExpr | None
    # From a value and an unused number to a result.
    finish: TypedExpr
    # Weights that kernels may read from memory, for all offsets between the least and the greatest.
    table: np.ndarray | None = None
    # Offsets along a row of the arguments of ``across``, the first of two passes.
    columns: tuple[int, ...] = ()
    across: TypedExpr | None = None
    # Stencils of one pass each that give the same, one after the other; the results of all but the last are values.
    passes: tuple[Stencil, ...] = ()
    # ``function`` and ``across`` of two bytes in the halves of a uint32, if their sums fit in 16 bits.
    paired: tuple[TypedExpr, TypedExpr | None] | None = None
    # The stencils of both halves of 64-bit integers, if one function cannot take all neighbours.
    halves: Halves | None = None
    # False if each product and each sum is rounded, as in SciPy: integers then truncate as SciPy's do.
    contracted: bool = True
    # True if results have the same bits on each device; see :mod:`.portable`.
    portable: bool = False
    # Weights of planes, of rows and of a row, if their products are the weights of a stencil of three passes that one
    # kernel can contain. ``offsets`` are then the first and the last of planes and rows, ``columns`` those of a row.
    lines: tuple[tuple[np.floating[Any], ...], ...] = ()
    # ``function`` written another way, for every second element of a row: it shares parts with the element before it.
    beside: TypedExpr | None = None

    @property
    def rank(self) -> int:
        """The number of axes along which neighbours lie."""
        return len(self.offsets[0])

    @property
    def column_offsets(self) -> list[int]:
        """Offsets of neighbours along a row."""
        return list(self.columns) or [offset[-1] for offset in self.offsets]

    @property
    def value(self) -> Dtype:
        """Dtype of the computation."""
        return self.finish.nodes[0].dtype

    @property
    def result(self) -> Dtype:
        """Dtype of the result."""
        return self.finish.dtypes[0]

    @property
    def read_weights(self) -> np.ndarray | None:
        """Weights for kernels that read them: the table, or those of a row and then of a column; None for functions."""
        if self.across is None or not self.has_weights:
            return self.table
        tables = [one.table for one in self.passes]
        return np.concatenate([one.ravel() for one in tables if one is not None])

    @property
    def alike(self) -> tuple[int, int] | None:
        """The number of equal weights and of zeros before them; None with other weights, or an order to keep."""
        if self.table is None or not self.contracted or self.portable or not self.table.any():
            return None
        weights = self.table.ravel()
        (found,) = weights.nonzero()
        first, count = int(found[0]), int(found[-1] - found[0]) + 1
        return (count, first) if (weights[first : first + count] == weights[first]).all() else None

    @property
    def has_weights(self) -> bool:
        """True if kernels can read weights from memory: the table, or those of each of two passes."""
        if self.across is None:
            return self.table is not None
        return all(one.table is not None for one in self.passes)

    @property
    def taps(self) -> int:
        """The number of neighbours, or of weights that are not zero."""
        if self.function is None and self.table is not None:
            return int(np.count_nonzero(self.table))
        if self.lines:
            return sum(map(len, self.lines))
        return len(self.offsets) + len(self.columns)

    def shares_weights(self, window: str) -> bool:
        """Return True if a kernel takes as few instructions with weights as arguments as with weights in its code.

        Instructions of the loop over rows or planes, as arguments and in the code, for sm_90 (NVRTC 12.9, 2026-11-23).
        Fewer: planes, 3x3x3 weights of float32 253 and 254, of float64 241 and 278; rolling, 5x5 weights of float64
        507 and 573, since no instruction holds a number of 64 bits. More: rolling, 5x5 weights of float32 682 and
        637, 9x9 2,032 and 1,610; 1x5 of float64 214 and 205.
        """
        if self.table is None or self.function is None:
            return False
        if window == "planes":
            return self.value.kind == "f"
        used = sum(len(set(along)) > 1 for along in zip(*self.offsets, strict=True))
        return window == "strip" and self.value == np.float64 and used > 1

    def exact_in_floats(self, element: Dtype) -> bool:
        """Return True if float32 holds all sums of integers of a dtype; GPUs multiply floats twice as fast."""
        tables = [self.table] if self.across is None else [one.table for one in self.passes]
        if self.value != _INT32 or element.kind not in "iu" or any(one is None for one in tables):
            return False
        weight = math.prod(float(np.abs(one).sum()) for one in tables if one is not None)
        return weight * max(-int(np.iinfo(element).min), int(np.iinfo(element).max)) <= _EXACT

    def of_constant(self, element: Any) -> Any:
        """Return the value if all neighbours are equal."""
        given = np.asarray(element)
        for one in self.passes:
            given = one.of_constant(given)
        if self.passes:
            return given
        if self.table is not None:
            return (self.table * given.astype(self.value)).sum(dtype=self.value)
        if self.function is None:
            raise TypeError("a function, a table or passes; got a stencil of halves")
        return self.function(*[given] * len(self.offsets), np.int64(0))[0]


def of_function(function: Callable[..., Any], element: Dtype, result: Dtype | None) -> Stencil:
    """Return the stencil of a function of a neighbourhood."""
    return _of_neighbours(trace_neighbours(function), element, result)


@lru_cache(maxsize=256)
def _of_neighbours(neighbours: Neighbours, element: Dtype, result: Dtype | None) -> Stencil:
    applied = typed_over(neighbours, element)
    value = applied.dtypes[0]
    return Stencil(neighbours.offsets, applied, finishing(value, result or value))


def typed_over(neighbours: Neighbours, element: Dtype) -> TypedExpr:
    """Type a function of neighbours, and add the unused number."""
    count = len(neighbours.offsets)
    indexed = trace(lambda *given: neighbours.expr(*given[:-1]), count + 1)
    return typed(indexed, (*(element,) * count, _INT64))
