"""Turn weights, or a function of a neighbourhood, into an expression of its neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, ExpressionError, ShapeError, quoted
from gpuprims.expressions import Expr
from gpuprims.expressions.expr import Instruction
from gpuprims.expressions.masks import plain_array
from gpuprims.expressions.trace import Recorder, Tracer
from gpuprims.primitives.stencil.halves import Join, high_half, low_half

# Elements from one end of a neighbourhood to the other, along an axis.
WIDEST = 31
# The largest integer weight; larger ones become floats, as in SciPy.
_LARGEST = 2**63 - 1

Offset = tuple[int, ...]


@dataclass(frozen=True)
class Neighbours:
    """A function of neighbours: argument ``k`` is the element at ``offsets[k]``, along the last axes."""

    expr: Expr
    offsets: tuple[Offset, ...]


class Neighbourhood:
    """The argument of a traced function: ``n[0, 0]`` is the element itself, ``n[dy, dx]`` a neighbour.

    An index has a whole number for each axis; with one axis it may be a number instead of a tuple.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._places: dict[Offset, int] = {}

    @property
    def offsets(self) -> tuple[Offset, ...]:
        """The offsets that the function used, in order of first use."""
        return tuple(self._places)

    def __getitem__(self, index: Any) -> Tracer:
        offset = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in offset):
            raise ExpressionError(f"neighbourhood: whole numbers as an index; got {quoted(index)}")
        rank = len(next(iter(self._places), offset))
        if not 1 <= len(offset) <= 3 or len(offset) != rank:
            raise ExpressionError(f"neighbourhood: the same one to three axes in each index; got {quoted(index)}")
        if any(2 * abs(one) + 1 > WIDEST for one in offset):
            raise ArgumentError(f"neighbourhood: offsets from {-(WIDEST // 2)} to {WIDEST // 2}; got {quoted(index)}")
        place = self._places.setdefault(tuple(int(one) for one in offset), len(self._places))
        return self._recorder.add(Instruction("argument", value=str(place)))


def trace_neighbours(function: Callable[[Neighbourhood], Any]) -> Neighbours:
    """Trace a function of a neighbourhood.

    Raises
    ------
    ExpressionError, ArgumentError
        When the function cannot be traced, looks at no element, or too far.
    """
    recorder = Recorder()
    around = Neighbourhood(recorder)
    returned = function(around)
    if isinstance(returned, tuple):
        raise ExpressionError(f"function of a neighbourhood: one value to return; got a tuple of {len(returned)}")
    if not around.offsets:
        raise ExpressionError("function of a neighbourhood: a look at one element or more, as in n[0, 1]; got none")
    names = [f"n{k}" for k in range(len(around.offsets))]
    return Neighbours(recorder.finish(names, returned), around.offsets)


def weighted(weights: np.ndarray, dtype: np.dtype[Any]) -> Neighbours:
    """Return the sum of neighbours, each times its weight, computed in a dtype. Weights of zero are left out."""
    return _summed(weights, dtype, [lambda neighbour: neighbour], lambda total: total)


def weighted_halves(weights: np.ndarray, element: np.dtype[Any], join: Join) -> Neighbours:
    """Return a weighted sum of 64-bit integers by integer weights, from two sums of halves; see :mod:`.halves`."""
    parts = [lambda neighbour: high_half(neighbour, element), lambda neighbour: low_half(neighbour, element)]
    return _summed(weights, np.dtype(np.int64), parts, join)


def _summed(
    weights: np.ndarray, dtype: np.dtype[Any], parts: Sequence[Callable[[Any], Any]], close: Callable[..., Any]
) -> Neighbours:
    """Sum each part of the neighbours, times their weights, and join the sums by ``close``."""
    recorder = Recorder()
    offsets: list[Offset] = []
    totals: list[Any] = [None] * len(parts)
    for index in itertools.product(*map(range, weights.shape)):
        weight = weights[index]
        if weight == 0:
            continue
        neighbour = recorder.add(Instruction("argument", value=str(len(offsets))))
        offsets.append(tuple(place - n // 2 for place, n in zip(index, weights.shape, strict=True)))
        for k, part in enumerate(parts):
            number = part(neighbour).astype(dtype)
            term = number if weight == 1 else number * dtype.type(weight)
            totals[k] = term if totals[k] is None else totals[k] + term
    if not offsets:  # all weights are zero
        offsets.append((0,) * weights.ndim)
        totals = [recorder.add(Instruction("argument", value="0")).astype(dtype) * dtype.type(0)] * len(parts)
    names = [f"n{k}" for k in range(len(offsets))]
    return Neighbours(recorder.finish(names, close(*totals)), tuple(offsets))


def separated(weights: np.ndarray, rounding: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a column and a row whose products are the weights, up to relative rounding, or None."""
    if weights.ndim != 2 or min(weights.shape) == 1:
        return None
    first, second = np.unravel_index(np.argmax(np.abs(weights)), weights.shape)
    if weights[first, second] == 0:
        return None
    row, column = weights[first], weights[:, second] / weights[first, second]
    close = np.abs(np.outer(column, row) - weights).max() <= rounding * np.abs(weights).max()
    return (column, row) if close else None


def as_weights(given: Any) -> np.ndarray:
    """Return weights, or raise unless they are finite and real, of one to three axes of odd length up to the widest."""
    weights = plain_array("stencil", given, "weights of one shape", ArgumentError)
    if weights.dtype.kind not in "iufb":
        raise ArgumentError(f"stencil: real weights, or a function of a neighbourhood; got dtype {weights.dtype}")
    if not 1 <= weights.ndim <= 3:
        raise ShapeError(f"stencil: weights of one to three axes; got shape {weights.shape}")
    if any(length % 2 == 0 or length > WIDEST for length in weights.shape):
        raise ShapeError(f"stencil: weights of odd lengths up to {WIDEST}; got shape {weights.shape}")
    if not np.isfinite(weights).all():
        raise ArgumentError(f"stencil: finite weights; got {weights[~np.isfinite(weights)][0]}")
    whole = weights.dtype.kind != "f" and not (weights > _LARGEST).any()
    return weights.astype(np.int64 if whole else np.float64)
