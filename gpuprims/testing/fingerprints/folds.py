"""Folds of a fingerprint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuprims.operators import Op
from gpuprims.primitives.reduce import reduce
from gpuprims.testing.fingerprints.data import FLOATS, Data

# On both sides of lanes and of blocks of the fixed tree, and of several.
_SIZES = (1, 2, 5, 1023, 1025, 4097, 16_383, 16_385, 50_001, 200_003)
_SMALL = (1, 5, 1025, 4097)
_ROUNDED = ("mean", "var", "std", "norm", "prod", "nansum", "nanmean", "nanvar")
_PICKED = ("min", "max", "argmin", "argmax", "ptp", "minmax", "nanmin", "nanargmax")
_AFFINE = Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1.0, 0.0))


def calls(data: Data) -> Iterator[tuple[str, Any]]:
    """Yield the names and results of calls."""
    for dtype in FLOATS[: data.some(2, 1)]:
        for size in _SMALL if data.small else _SIZES:
            yield f"reduce sum {size} {dtype}", reduce(data.numbers(size, dtype), device=data.device)
    if data.small:
        return
    for dtype in FLOATS:
        yield from _of_dtype(data, dtype)
    for dtype in ("int8", "int32", "int64", "uint16"):
        x = data.numbers(20_011, dtype, "integers", low=0, high=100)
        for op in ("sum", "max"):
            how: dict[str, Any] = {"op": op, "device": data.device}
            yield f"reduce {op} {dtype}", reduce(x, **how)


def _of_dtype(data: Data, dtype: str) -> Iterator[tuple[str, Any]]:
    x, uneven = data.numbers(50_001, dtype), data.uneven(50_001, dtype)
    near_one = 1 + data.numbers(50_001, dtype, "uniform") / 1000
    how: dict[str, Any] = {"device": data.device}
    for op in (*_ROUNDED, *_PICKED):
        given = near_one if op == "prod" else x if op in _ROUNDED else uneven
        yield f"reduce {op} {dtype}", reduce(given, **(how | {"op": op}))
    yield f"reduce of NaN {dtype}", reduce(uneven, **how)
    yield f"reduce dot {dtype}", reduce(x, near_one, map="a*b", **how)
    yield f"reduce exp {dtype}", reduce(x, map="exp(-x*x)", **how)
    yield f"reduce affine {dtype}", reduce(near_one, x, op=_AFFINE, **how)
    solid = data.numbers((37, 41, 29), dtype)
    for axis in (0, 1, 2, (0, 2)):
        yield f"reduce axis {axis} {dtype}", reduce(solid, axis=axis, **how)
        yield f"reduce axis {axis} turned {dtype}", reduce(solid.transpose(2, 0, 1), axis=axis, **how)
