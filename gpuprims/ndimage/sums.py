"""Functions of several filters of one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.ndimage.calls import Bound, Call, copied, on_device, run_bound
from gpuprims.ndimage.lines import Line, filtered
from gpuprims.primitives.map import map as map_arrays


def summed(call: Call, lines: Sequence[Sequence[Line]], cval: Any) -> Any:
    """Return the sum of several filters of the same array."""
    return sum_of(call, filtered_parts(call, lines, cval))


def filtered_parts(call: Call, lines: Sequence[Sequence[Line]], cval: Any) -> list[Any]:
    """Return the results of several filters of the same array, on its device."""
    there = on_device(call)
    return [run_bound(filtered(there, one, cval)) for one in lines]


def sum_of(call: Call, parts: Sequence[Any]) -> Any:
    """Return the sum of arrays; the array itself for none, as SciPy."""
    return _combined(call, parts, lambda v: v, lambda v: v)


def lengths(call: Call, parts: Sequence[Any]) -> Any:
    """Return the square root of the sum of the squares of arrays."""
    return _combined(call, parts, lambda v: v * v, np.sqrt)


def _combined(call: Call, parts: Sequence[Any], each: Callable[[Any], Any], last: Callable[[Any], Any]) -> Any:
    """Return a function of the sum of a function of each array, in the result's dtype."""
    if not parts:
        return Bound(call, ())

    def combine(first: Any, *others: Any) -> Any:
        total = each(first)
        for one in others:
            total = total + each(one)
        return last(total).astype(call.result)

    return copied(call, map_arrays(combine, *parts, device=call.operands.device))
