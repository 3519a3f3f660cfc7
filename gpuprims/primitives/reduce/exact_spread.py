"""var and std whose bits do not depend on the order of the elements: exact sums of distances from the exact mean."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.determinism import asked_level
from gpuprims.core.lazy import is_lazy
from gpuprims.core.operands import as_operands
from gpuprims.errors import ArgumentError
from gpuprims.expressions import Expr, expression, trace
from gpuprims.operators import as_ddof, as_map
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.map import map as map_arrays


def spreads_exactly(op: Any, arrays: tuple[Any, ...], where: Any, initial: Any, dtype: Any) -> bool:
    """Return True for var and std of float arrays at the level "order"; not for those that compute later, in chunks."""
    if op not in ("var", "std") or asked_level() != "order" or where is not None or initial is not None or not arrays:
        return False
    if any(map(is_lazy, arrays)):
        return False
    kinds = [np.dtype(getattr(array, "dtype", None) or np.asarray(array).dtype).kind for array in arrays]
    return all(kind in "fbiu" for kind in kinds) and (
        "f" in kinds or (dtype is not None and np.dtype(dtype).kind == "f")
    )


def spread_exactly(
    reduce: Callable[..., Any],
    arrays: tuple[Any, ...],
    op: Any,
    mapped: Any,
    axis: Any,
    keepdims: Any,
    dtype: Any,
    ddof: float,
    out: Any,
    device: Any,
) -> Any:
    """Return the sum of squared distances from the mean, divided by ``count - ddof``, or its root.

    Distances and their squares are rounded, each for itself; their sum is exact, and rounded once. NumPy takes the same
    two passes.
    """
    operands = as_operands("reduce", arrays, device, stored=True)
    shape = np.broadcast_shapes(*(native.shape for native in operands.natives))
    count = int(np.prod([shape[one] for one in axes_of(as_axis(axis), len(shape))], dtype=np.int64))
    if not count and 0 in shape:
        raise ArgumentError(f"reduce with {op} at the level 'order': at least one element to fold; got shape {shape}")
    function = as_map("reduce", None if mapped is None else expression(mapped, len(arrays)), len(arrays))
    how = {"axis": axis, "device": device, "dtype": dtype}
    mean = reduce(*arrays, op="mean", map=function, keepdims=True, **how)
    squares = reduce(*arrays, mean, op="sum", map=_squared(function, dtype), keepdims=keepdims, **how)
    freedom = max(count - as_ddof(ddof), 0)
    return map_arrays(_divided(op, float(freedom)), squares, out=out, device=device)


@lru_cache(maxsize=256)
def _squared(function: Expr, dtype: Any) -> Expr:
    def squared(*given: Any) -> Any:
        (element,) = function(*given[:-1]) if not function.single else (function(*given[:-1]),)
        distance = (element if dtype is None else element.astype(dtype)) - given[-1]
        return distance * distance

    return trace(squared, len(function.parameters) + 1)


@lru_cache(maxsize=256)
def _divided(op: str, freedom: float) -> Expr:
    return trace(lambda squares: np.sqrt(squares / freedom) if op == "std" else squares / freedom, 1)
