"""var and std whose bits do not depend on the order of the elements: exact sums of distances from the exact mean."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.arrays import native_of
from gpuprims.core.determinism import asked_level
from gpuprims.core.lazy import is_lazy
from gpuprims.core.operands import as_operands
from gpuprims.expressions import Expr, expression, trace
from gpuprims.operators import as_ddof, as_map
from gpuprims.primitives.axes import as_axis, folded_axes
from gpuprims.primitives.map import map as map_arrays

_SPREADS = {"var": False, "std": False, "nanvar": True, "nanstd": True}  # True for those that leave NaN out


def spreads_exactly(op: Any, arrays: tuple[Any, ...], initial: Any, dtype: Any) -> bool:
    """Return True for var, std, nanvar and nanstd of float arrays at the level "order"; not for those of chunks."""
    if type(op) is not str or op not in _SPREADS or asked_level() != "order" or initial is not None or not arrays:
        return False
    if any(map(is_lazy, arrays)):
        return False
    kinds = [native_of("reduce", array).dtype.kind for array in arrays]  # tensors have dtypes of their own
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
    where: Any,
    device: Any,
) -> Any:
    """Return the sum of squared distances from the mean, divided by ``count - ddof``, or its root.

    Distances and their squares are rounded, each for itself; their sum is exact, and rounded once. NumPy takes the same
    two passes. Elements where a mask is False, and NaN for nanvar and nanstd, are counted and left out.
    """
    operands = as_operands("reduce", arrays if where is None else (*arrays, where), device, stored=True)
    shape = np.broadcast_shapes(*(native.shape for native in operands.natives))
    count = int(np.prod([shape[one] for one in folded_axes(as_axis(axis), len(shape))], dtype=np.int64))
    function = as_map("reduce", None if mapped is None else expression(mapped, len(arrays)), len(arrays))
    how = {"axis": axis, "device": device, "where": where}
    nan, typed, root, freedom = "nan" * _SPREADS[op], how | {"dtype": dtype}, op.endswith("std"), as_ddof(ddof)
    mean = reduce(*arrays, op=f"{nan}mean", map=function, keepdims=True, **typed)
    squares = reduce(*arrays, mean, op="sum", map=_squared(function, dtype, bool(nan)), keepdims=keepdims, **typed)
    if not nan and where is None:
        return map_arrays(_divided(root, float(max(count - freedom, 0))), squares, out=out, device=device)
    counts = reduce(*arrays, op="sum", map=_counted(function, bool(nan)), keepdims=keepdims, **how)
    return map_arrays(
        _divided_by_counts(root, float(freedom), native_of("reduce", squares).dtype.name),
        squares,
        counts,
        out=out,
        device=device,
    )


@lru_cache(maxsize=256)
def _squared(function: Expr, dtype: Any, nan: bool) -> Expr:
    """Return the function of squared distances; with ``nan`` that of NaN is 0, but not that from an infinite mean."""

    def squared(*given: Any) -> Any:
        (element,) = function(*given[:-1]) if not function.single else (function(*given[:-1]),)
        distance = (element if dtype is None else element.astype(dtype)) - given[-1]
        square = distance * distance
        return np.where(element == element, square, 0) if nan else square

    return trace(squared, len(function.parameters) + 1)


@lru_cache(maxsize=256)
def _counted(function: Expr, nan: bool) -> Expr:
    """Return the function that is 1 for elements, and 0 for NaN if these are left out."""

    def counted(*given: Any) -> Any:
        (element,) = function(*given) if not function.single else (function(*given),)
        return np.where(element == element, 1, 0 if nan else 1).astype(np.int64)

    return trace(counted, len(function.parameters))


@lru_cache(maxsize=256)
def _divided(root: bool, freedom: float) -> Expr:
    return trace(lambda squares: np.sqrt(squares / freedom) if root else squares / freedom, 1)


@lru_cache(maxsize=256)
def _divided_by_counts(root: bool, freedom: float, dtype: str) -> Expr:
    def divided(squares: Any, counts: Any) -> Any:
        # A count of at most 2^24 or 2^53 is exact in the dtype of the squares; NumPy too divides in it.
        spread = squares / np.maximum(counts - freedom, 0.0).astype(dtype)
        return np.sqrt(spread) if root else spread

    return trace(divided, 2)
