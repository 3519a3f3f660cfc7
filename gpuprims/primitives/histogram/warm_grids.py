"""Warm calls of histogram2d and histogramdd: found by the values of their bins, and by a few facts of their arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from gpuprims.core.call_keys import Key
from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands
from gpuprims.core.warm_calls import WarmCalls, reads_as_given, runner_of
from gpuprims.primitives.histogram.bins import is_plain_range
from gpuprims.primitives.histogram.keys import is_few_edges
from gpuprims.primitives.histogram.points import Grid, plan_call
from gpuprims.primitives.histogram.tables import edges_of

WARM = WarmCalls()
# Most bins along the axes of a call that is kept: the tables of a thousand calls take 200 MB.
_MOST_KEPT = 2**13


def grid_key(
    kind: Hashable, arrays: Sequence[Any], bins: Any, limits: Any, deterministic: Any, device: str | Device | None
) -> Key | None:
    """Return the key of a call; None if its arguments need a check, or if coordinates decide about its bins."""
    asked, ranges = _values(bins), _values_of_ranges(limits)
    if asked is None or ranges is None or type(deterministic) is not bool:
        return None
    if limits is None and _has_numbers(asked):  # bins between the bounds of the coordinates
        return None
    return WARM.key_of((kind, asked, ranges, deterministic), tuple(arrays), device)


def _values(bins: Any) -> Any:
    """Return numbers of bins and few edges by value; None for all else."""
    if type(bins) is int:
        return bins
    if is_few_edges(bins):
        return bins.dtype, bins.tobytes()
    if type(bins) not in (list, tuple):
        return None
    values = tuple(map(_values, bins))
    return None if None in values else values


def _has_numbers(asked: Any) -> bool:
    return type(asked) is int or (type(asked) is tuple and any(map(_has_numbers, asked)))


def _values_of_ranges(limits: Any) -> Any:
    """Return ranges by value and type, on which NumPy's edges depend too; None for those that need a check."""
    if limits is None:
        return ()
    if type(limits) not in (list, tuple):
        return None
    ranges = [tuple(one) if type(one) is list else one for one in limits]
    return tuple([(one, *map(type, one)) for one in ranges]) if all(map(is_plain_range, ranges)) else None


def keep_grid(
    key: Key | None, grid: Grid, operands: Operands, columns: Callable[[Sequence[Any]], Sequence[Any]]
) -> None:
    """Keep a call that counts in a grid; ``columns`` finds the coordinates and the weights in the arrays of a call."""
    if key is None or not reads_as_given(key, operands) or sum(one.bins for one in grid.tables) > _MOST_KEPT:
        return
    count = runner_of(find_plan(plan_call, operands, grid, None, None), operands)
    device, on_host, tables = operands.device, operands.on_host, grid.tables

    def run(arrays: Sequence[Any]) -> tuple[Any, list[Any]]:
        counts = count(columns(arrays))
        return counts, [one.edges.copy() if on_host else edges_of(device, one) for one in tables]

    WARM.keep_run(key, run)
