"""The bins along each axis of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.operands import Operands
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.bins import checked_limits, number_or_edges, start_limits, table_of_edges
from gpuprims.primitives.histogram.grid import axis_between, check_grid
from gpuprims.primitives.reduce import reduce


def is_number(bins: Any) -> bool:
    """Return True if ``bins`` has no length: a number, or a name, which is refused later."""
    return isinstance(bins, str) or not hasattr(bins, "__len__") or getattr(bins, "shape", None) == ()


def each_axis(label: str, name: str, given: Any, axes: int) -> list[Any]:
    """Return the argument for each axis."""
    if given is None or (name == "bins" and is_number(given)):
        return [given] * axes
    try:
        found = list(given)
    except TypeError as error:
        raise ArgumentError(f"{label}: {name} for each axis; got {quoted(given)}") from error
    if name == "range" and not all(one is None or hasattr(one, "__len__") for one in found):
        raise ArgumentError(f"{label}: range= a pair (low, high), or None, for each axis; got {quoted(given)}")
    if len(found) != axes:
        raise ArgumentError(f"{label}: {name} for {axes} axes; got {quoted(given)} for {len(found)}")
    return found


def tables_of(operands: Operands, axes: int, bins: list[Any], limits: list[Any]) -> list[Table]:
    """Return the bins along each axis; the kernels that find the bounds of coordinates run together."""
    label, dtype = operands.label, np.result_type(*[native.dtype for native in operands.natives[:axes]])
    asked = [one if type(one) is int and one > 0 else number_or_edges(label, one) for one in bins]
    check_grid(label, math.prod(one if isinstance(one, int) else one.size - 1 for one in asked))
    waits: list[Any] = []
    for axis, (one, ends) in enumerate(zip(asked, limits, strict=True)):
        own = operands.instead(operands.natives[axis])
        if isinstance(one, np.ndarray):
            waits.append(None)
        elif ends is not None:
            waits.append(partial(checked_limits, label, ends))
        elif own.exceed_room:
            waits.append(partial(_checked_ends, own, dtype))
        elif not own.natives[0].size:
            waits.append(start_limits(own))  # 0 and 1, whatever the dtype
        else:
            waits.append(partial(_converted, start_limits(own), dtype))
    tables = []
    for one, wait in zip(asked, waits, strict=True):
        if isinstance(one, np.ndarray):
            tables.append(table_of_edges(label, dtype, one))
            continue
        low, high = wait()
        tables.append(axis_between(dtype, one, low, high))
    return tables


def _checked_ends(operands: Operands, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    x, device = operands.natives[0], operands.device
    ends = reduce(x, op="min", device=device), reduce(x, op="max", device=device)
    return _converted(lambda: checked_limits(operands.label, ends), dtype)


def _converted(wait: Callable[[], tuple[Any, Any]], dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Wait for the smallest and the largest coordinate, and return them in the dtype that all axes have."""
    low, high = wait()
    kind = int if dtype.kind == "b" else dtype.type
    return kind(low), kind(high)
