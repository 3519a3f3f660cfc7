"""Scans, segments, keys and sums of weights of a fingerprint; exact sums of level "order" among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpuprims.core.determinism import use_determinism
from gpuprims.operators import Op
from gpuprims.primitives.histogram import bincount, histogram
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.scan import scan
from gpuprims.testing.fingerprints.data import FLOATS, Data

# On both sides of runs and of tiles of the fixed order, and of several.
_SIZES = (1, 15, 17, 4095, 4097, 70_001)
_SMALL = (17, 4097)
_OPS = ("max", "prod", "mean")
_AFFINE = Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1.0, 0.0))


def calls(data: Data) -> Iterator[tuple[str, Any]]:
    """Yield the names and results of calls."""
    for dtype in FLOATS[: data.some(2, 1)]:
        for size in _SMALL if data.small else _SIZES:
            yield f"scan sum {size} {dtype}", scan(data.numbers(size, dtype), device=data.device)
        if not data.small:
            yield from _scans(data, dtype)
            yield from _weights(data, dtype)
            yield from _parts(data, dtype)
            yield from _exact(data, dtype)


def _scans(data: Data, dtype: str) -> Iterator[tuple[str, Any]]:
    x, how = data.numbers(9_001, dtype), _how(data)
    near_one = 1 + data.numbers(9_001, dtype, "uniform") / 1000
    for op in _OPS:
        yield f"scan {op} {dtype}", scan(near_one if op == "prod" else x, **(how | {"op": op}))
    yield f"scan exclusive {dtype}", scan(x, inclusive=False, **how)
    yield f"scan reverse {dtype}", scan(x, reverse=True, **how)
    yield f"scan where {dtype}", scan(x, where=x > 0, **how)
    yield f"scan of NaN {dtype}", scan(data.uneven(9_001, dtype), **how)
    yield f"scan affine {dtype}", scan(near_one, x, op=_AFFINE, **how)
    solid = data.numbers((37, 41, 29), dtype)
    for axis in (0, 1, 2):
        yield f"scan axis {axis} {dtype}", scan(solid, axis=axis, **how)
        yield f"scan axis {axis} turned {dtype}", scan(solid.transpose(2, 0, 1), axis=axis, **how)


def _parts(data: Data, dtype: str) -> Iterator[tuple[str, Any]]:
    x, keys, how = data.numbers(9_001, dtype), _keys(data, 9_001), _how(data)
    offsets = np.array([0, 1, 3, 20, 4_200, 9_001])
    for op in ("sum", "argmax", "var"):
        yield f"reduce segments {op} {dtype}", reduce(x, segments=offsets, **(how | {"op": op}))
        yield f"reduce by {op} {dtype}", reduce(x, by=keys, **(how | {"op": op}))
    yield f"scan segments {dtype}", scan(x, segments=offsets, **how)
    yield f"scan by {dtype}", scan(x, by=keys, **how)


def _weights(data: Data, dtype: str) -> Iterator[tuple[str, Any]]:
    n, how = 20_011, _how(data)
    weights, keys = data.numbers(n, dtype, key=35), _keys(data, n)
    yield f"bincount weights {dtype}", bincount(keys, weights, **how)
    x, uneven = data.numbers(n, dtype, "uniform"), data.uneven(n, dtype)
    yield f"bincount uneven {dtype}", bincount(keys, uneven, **how)
    for name, given in (("weights", weights), ("uneven", uneven)):
        yield f"histogram {name} {dtype}", histogram(x, 17, (0, 1), weights=given, **how)
    yield f"histogram edges {dtype}", histogram(x, [0, 0.1, 0.35, 0.9, 1], weights=weights, **how)
    yield f"histogram density {dtype}", histogram(x, 17, (0, 1), density=True, weights=np.abs(weights), **how)
    rows: dict[str, Any] = {"weights": weights[:20_000].reshape(40, 500), "axis": 1}
    yield f"histogram axis {dtype}", histogram(x[:20_000].reshape(40, 500), 17, (0, 1), **rows, **how)


def _exact(data: Data, dtype: str) -> Iterator[tuple[str, Any]]:
    x, keys, how = data.numbers(9_001, dtype), _keys(data, 9_001), _how(data)
    with use_determinism("order"):
        for op in ("sum", "mean", "var", "norm", "nanvar"):
            yield f"exact {op} {dtype}", reduce(x, **(how | {"op": op}))
        yield f"exact prod {dtype}", reduce(1 + x / 100, op="prod", **how)
        yield f"exact sum of NaN {dtype}", reduce(data.uneven(9_001, dtype), **how)
        yield f"exact axis {dtype}", reduce(x[:9_000].reshape(90, 100), axis=0, **how)
        yield f"exact by {dtype}", reduce(x, by=keys, **how)
        yield f"exact scan {dtype}", scan(x[:2_000], **how)


def _keys(data: Data, n: int) -> Any:
    return data.numbers(n, "int32", "integers", key=36, low=0, high=23)


def _how(data: Data) -> dict[str, Any]:
    return {"device": data.device}
