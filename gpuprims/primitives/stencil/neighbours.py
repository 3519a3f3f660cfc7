"""Turn weights, or a Python function of a neighbourhood, into an expression of its neighbours."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.host_values import host_values
from gpuprims.errors import ArgumentError, ExpressionError, GpuprimsError, ShapeError, quoted, said
from gpuprims.expressions import Expr
from gpuprims.expressions.captured import keeps_traces
from gpuprims.expressions.trace import Recorder, Tracer
from gpuprims.primitives.stencil.halves import Join, high_half, low_half

# Most elements of a function's neighbourhood along an axis, and most weights.
WIDEST, LONGEST = 31, 2**16 - 1

Offset = tuple[int, ...]


@dataclass(frozen=True)
class Neighbours:
    """A function of neighbours. Argument ``k`` is the element at ``offsets[k]``, along the last axes."""

    expr: Expr
    offsets: tuple[Offset, ...]


class TracedNeighbourhood:
    """The argument of a traced function: ``n[0, 0]`` is the element itself, ``n[dy, dx]`` a neighbour.

    An index has a whole number for each axis; with one axis it may be a number instead of a tuple.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.places: dict[Offset, int] = {}  # in order of first use

    def __getitem__(self, index: Any) -> Tracer:
        offset = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in offset):
            raise ExpressionError(f"neighbourhood: whole numbers as an index; got {quoted(index)}")
        rank = len(next(iter(self.places), offset))
        if not 1 <= len(offset) <= 3 or len(offset) != rank:
            raise ExpressionError(f"neighbourhood: the same one to three axes in each index; got {quoted(index)}")
        if any(2 * abs(one) + 1 > WIDEST for one in offset):
            far = " (weights reach further)"
            raise ArgumentError(
                f"neighbourhood: offsets from {-(WIDEST // 2)} to {WIDEST // 2}; got {quoted(index)}{far}"
            )
        return self._recorder.argument(self.places.setdefault(tuple(map(int, offset)), len(self.places)))


@keeps_traces
def trace_neighbours(function: Callable[[TracedNeighbourhood], Any]) -> Neighbours:
    """Trace a function of a neighbourhood."""
    recorder = Recorder()
    around = TracedNeighbourhood(recorder)
    try:
        returned = function(around)
    except GpuprimsError:
        raise
    except Exception as error:  # whatever the caller's function raises
        rule = "function of a neighbourhood: one argument n, with neighbours such as n[0] or n[0, 1]"
        got = said(error).replace(TracedNeighbourhood.__name__, "neighbourhood")
        hint = " (n[0], or n[0, 0], is the element itself)" if "'neighbourhood'" in got else ""
        raise ExpressionError(f"{rule}; got {got}{hint}") from error
    if isinstance(returned, tuple):
        raise ExpressionError(f"function of a neighbourhood: one value to return; got a tuple of {len(returned)}")
    if not around.places:
        raise ExpressionError("function of a neighbourhood: one neighbour or more, such as n[0, 1]; got none")
    return finished(recorder, returned, tuple(around.places))


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
    totals: list[Any] = [None] * len(parts)
    middle = [n // 2 for n in weights.shape]
    indices = np.argwhere(weights).tolist() or [middle]  # one neighbour, if all weights are zero
    for place, index in enumerate(indices):
        weight, neighbour = weights[tuple(index)], recorder.argument(place)
        for k, part in enumerate(parts):
            number = part(neighbour).astype(dtype)
            term = number if weight == 1 else number * dtype.type(weight)
            totals[k] = term if totals[k] is None else totals[k] + term
    offsets = tuple(tuple(map(operator.sub, index, middle)) for index in indices)
    return finished(recorder, close(*totals), offsets)


def finished(recorder: Recorder, returned: Any, offsets: tuple[Offset, ...]) -> Neighbours:
    """Return the traced function, whose arguments are the neighbours at the recorder's offsets."""
    return Neighbours(recorder.finish([f"n{k}" for k in range(len(offsets))], returned), offsets)


def separated(weights: np.ndarray, rounding: float) -> tuple[np.ndarray, ...] | None:
    """Return a line for each axis whose products are the weights, up to a relative error, or None."""
    if weights.ndim < 2 or min(weights.shape) == 1 or not weights.any():
        return None
    lines, rest = [], weights
    while rest.ndim > 1:
        line, rest = _factors(rest, rounding)
        lines.append(line)
    product: np.ndarray = lines[0]
    for line in (*lines[1:], rest):
        product = np.multiply.outer(product, line)
    close = np.abs(product - weights).max() <= rounding * np.abs(weights).max()
    return (*lines, rest) if close else None


def _factors(weights: np.ndarray, rounding: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a line along the first axis, and weights along the others, whose products are closest to the weights.

    A row of the weights themselves, if close enough, is better than the closest product: it may be integral.
    """
    table = weights.reshape(len(weights), -1)
    first, second = np.unravel_index(np.argmax(np.abs(table)), table.shape)
    row, column = table[first], table[:, second] / table[first, second]
    far = np.abs(np.outer(column, row) - table).max() > rounding * np.abs(table).max()
    if far and not asks_for_device():  # the bits depend on the LAPACK
        left, sizes, right = np.linalg.svd(table, full_matrices=False)
        column = left[:, 0] * sizes[0] * table.any(axis=1)
        row = right[0] * table.any(axis=0)  # zeros stay zeros, which keep NaN out
    return column, row.reshape(weights.shape[1:])


def as_weights(given: Any) -> np.ndarray:
    """Check that weights are finite and real, and have one to three axes of odd length."""
    weights = host_values("stencil", given, "weights of one shape")
    if weights.dtype.kind not in "iufb":
        got = quoted(given) if isinstance(given, str) else f"dtype {weights.dtype}"
        raise ArgumentError(f"stencil: real weights, or a function of a neighbourhood; got {got} (such as [1, -2, 1])")
    return _checked(weights.shape, weights.dtype, weights.tobytes())


@lru_cache(maxsize=256)
def _checked(shape: tuple[int, ...], dtype: np.dtype[Any], given: bytes) -> np.ndarray:
    weights = np.frombuffer(given, dtype).reshape(shape)
    if not 1 <= weights.ndim <= 3:
        raise ShapeError(f"stencil: weights of one to three axes; got shape {weights.shape}")
    if any(length % 2 == 0 or length > LONGEST for length in weights.shape):
        pads = 0 not in weights.shape and max(weights.shape) < LONGEST
        hint = " (append a weight of 0 to an even length; ndimage.correlate takes even ones)" if pads else ""
        raise ShapeError(f"stencil: weights of odd lengths up to {LONGEST}; got shape {weights.shape}{hint}")
    if not np.isfinite(weights).all():
        raise ArgumentError(f"stencil: finite weights; got {weights[~np.isfinite(weights)][0]}")
    whole = weights.dtype.kind != "f" and not (weights > np.iinfo(np.int64).max).any()  # else floats, as in SciPy
    checked = weights.astype(np.int64 if whole else np.float64)
    checked.flags.writeable = False  # the cache keeps it
    return checked
