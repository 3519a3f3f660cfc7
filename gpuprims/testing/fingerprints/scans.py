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
_AFFINE = Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1.0, 0.0))


def calls(data: Data) -> Iterator[tuple[str, Any]]:
    """Yield the names and results of calls; most are of float32, because each takes kernels of its own."""
    for dtype in FLOATS[: data.some(2, 1)]:
        for size in _SMALL if data.small else _SIZES:
            yield f"scan sum {size} {dtype}", scan(data.numbers(size, dtype), device=data.device)
        if not data.small:
            yield from _of_dtype(data, dtype)
    if not data.small:
        yield from _scans(data)
        yield from _parts(data)
        yield from _exact(data)


def _of_dtype(data: Data, dtype: str) -> Iterator[tuple[str, Any]]:
    x, uneven, how = data.numbers(9_001, dtype), data.uneven(9_001, dtype), _how(data)
    yield f"scan exclusive {dtype}", scan(x, inclusive=False, **how)
    yield f"bincount uneven {dtype}", bincount(_keys(data), uneven, **how)
    with use_determinism("order"):
        yield f"exact sum {dtype}", reduce(x, **how)
        yield f"exact sum of NaN {dtype}", reduce(uneven, **how)


def _scans(data: Data) -> Iterator[tuple[str, Any]]:
    x, how = data.numbers(9_001), _how(data)
    near_one = 1 + data.numbers(9_001, kind="uniform") / 1000
    yield "scan max", scan(x, op="max", **how)
    yield "scan prod", scan(near_one, op="prod", **how)
    yield "scan reverse", scan(x, reverse=True, **how)
    yield "scan of NaN", scan(data.uneven(9_001), **how)
    yield "scan affine", scan(near_one, x, op=_AFFINE, **how)
    solid = data.numbers((37, 41, 29))
    for axis in (0, 1, 2):
        yield f"scan axis {axis}", scan(solid, axis=axis, **how)
        yield f"scan axis {axis} turned", scan(solid.transpose(2, 0, 1), axis=axis, **how)


def _parts(data: Data) -> Iterator[tuple[str, Any]]:
    x, how = data.numbers(9_001), _how(data)
    offsets = np.array([0, 1, 3, 20, 4_200, 9_001])
    for op in ("sum", "argmax"):
        yield f"reduce segments {op}", reduce(x, segments=offsets, **(how | {"op": op}))
    yield "reduce by keys", reduce(x, by=_keys(data), **how)
    yield "scan segments", scan(x, segments=offsets, **how)
    places = data.numbers(9_001, kind="uniform")
    for rows in (0, 9):
        given = [one[:9_000].reshape(rows or 1, -1) for one in (places, data.uneven(9_001))]
        along: dict[str, Any] = {"axis": 1} if rows else {}
        yield f"histogram rows {rows}", histogram(given[0], 17, (0, 1), weights=given[1], **along, **how)


def _exact(data: Data) -> Iterator[tuple[str, Any]]:
    x, how = data.numbers(9_001), _how(data)
    with use_determinism("order"):
        yield "exact var", reduce(x, op="var", **how)
        yield "exact prod", reduce(1 + x / 100, op="prod", **how)
        yield "exact scan", scan(x[:2_000], **how)


def _keys(data: Data) -> Any:
    return data.numbers(9_001, "int32", "integers", key=36, low=0, high=23)


def _how(data: Data) -> dict[str, Any]:
    return {"device": data.device}
