"""Functions of several filters of one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions import Expr, trace
from gpuprims.ndimage.calls import Bound, Call, copied, on_device, run_several
from gpuprims.ndimage.lines import Line, filtered
from gpuprims.primitives.map import map as map_arrays


class Several(NamedTuple):
    """Filters of one array, and the function of their results."""

    call: Call
    parts: tuple[Bound, ...]
    combine: Expr

    def run(self, key: Any) -> Any:
        """Apply the filters, and keep their plans for later calls with the same key."""
        return run_several(self.call, self.parts, self.combine, key)


def summed(call: Call, lines: Sequence[Sequence[Line]], cval: Any) -> Any:
    """Return the function that sums several filters of the same array."""
    return _several(call, lines, cval, of_squares=False)


def length(call: Call, lines: Sequence[Sequence[Line]], cval: Any) -> Any:
    """Return the function for the root of the summed squares of several filters of the same array."""
    return _several(call, lines, cval, of_squares=True)


def _several(call: Call, lines: Sequence[Sequence[Line]], cval: Any, *, of_squares: bool) -> Any:
    if not lines:
        return Bound(call, ())
    there = on_device(call)
    parts = tuple([filtered(there, one, cval) for one in lines])
    return Several(call, parts, _combining(len(parts), call.result, of_squares=of_squares))


def sum_of(call: Call, parts: Sequence[Any]) -> Any:
    """Return the sum of arrays; the array itself if there are none, as in SciPy."""
    return _combined(call, parts, of_squares=False)


def length_of(call: Call, parts: Sequence[Any]) -> Any:
    """Return the square root of the sum of the squares of arrays."""
    return _combined(call, parts, of_squares=True)


def _combined(call: Call, parts: Sequence[Any], *, of_squares: bool) -> Any:
    """Return a function of arrays, in the result's dtype."""
    if not parts:
        return Bound(call, ())
    combine = _combining(len(parts), call.result, of_squares=of_squares)
    return copied(call, map_arrays(combine, *parts, device=call.operands.device))


@lru_cache(maxsize=256)
def _combining(arrays: int, result: np.dtype[Any], *, of_squares: bool) -> Expr:
    """Return the function of ``arrays`` results of filters, of a dtype."""
    each: Callable[[Any], Any] = (lambda v: v * v) if of_squares else (lambda v: v)

    def combine(first: Any, *others: Any) -> Any:
        total = each(first)
        for one in others:
            total = total + each(one)
        return (np.sqrt(total) if of_squares else total).astype(result)

    return trace(combine, arrays)
