"""Calls that cover the texts of kernels of places and runs: take, searchsorted, merge, rle; and of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from idle_arrays import resident

import gpuprims
from gpuprims.primitives.rle import encode_runs

LONG = 1 << 22

TAKES: dict[str, Callable[..., Any]] = {
    "float32 by int64, in every mode": lambda **where: [
        gpuprims.take(resident(LONG), resident(LONG, dtype="i8"), mode=mode, **where)
        for mode in list[Any](("raise", "wrap", "clip"))
    ],
    "every width of elements and indices": lambda **where: [
        gpuprims.take(resident(LONG, dtype=dtype), resident(LONG, dtype=integer), mode="wrap", **where)
        for dtype, integer in (("?", "u1"), ("f2", "i2"), ("i4", "u4"), ("f8", "u8"), ("c8", "i4"), ("c16", "i1"))
    ],
    "rows, columns, and axes that do not merge": lambda **where: [
        gpuprims.take(x, resident(900, dtype="i4"), axis, **where)
        for x, axis in (
            (resident(300, 400), 0), (resident(300, 400, dtype="c16"), 1), (resident(20, 30, 40)[::2, ::3, ::5], 1),
            (resident(20, 30, 40)[::2, ::3, ::5], None),
        )
    ],
}  # fmt: skip
SEARCHES: dict[str, Callable[..., Any]] = {
    "float32, on both sides": lambda **where: [
        gpuprims.searchsorted(resident(LONG), resident(LONG), **where),
        gpuprims.searchsorted(resident(LONG), resident(LONG), "right", **where),
    ],
    "short arrays": lambda **where: gpuprims.searchsorted(resident(100), resident(LONG), **where),
    "elements of every width, keys of another dtype": lambda **where: [
        gpuprims.searchsorted(resident(100_000, dtype=dtype), resident(LONG, dtype=key), **where)
        for dtype, key in (("?", "i1"), ("u1", "f2"), ("f2", "f2"), ("u8", "i8"), ("f8", "f4"), ("c16", "f4"))
    ],
    "whether keys are elements": lambda **where: [
        gpuprims.isin(resident(LONG, dtype=dtype), np.arange(count) / 2, invert=count > 9, kind="sort", **where)
        for dtype, count in (("f4", 9), ("c8", 100_000))
    ],
    "arrays that begin anywhere, keys that lie apart": lambda **where: gpuprims.searchsorted(
        resident(LONG + 1)[1:], resident(2000, 3000)[:, ::2], **where
    ),
}  # fmt: skip
WORDS: dict[str, Callable[..., Any]] = {
    "real numbers of every width, on both sides": lambda **where: [
        gpuprims.searchsorted(resident(100_000, dtype=dtype), resident(LONG, dtype=key), side, **where)
        for dtype, key in (("f8", "f8"), ("f4", "f4"), ("?", "i1"), ("f2", "f2"), ("u8", "i8"), ("i8", "i8"))
        for side in ("left", "right")
    ],
    "whether keys are elements": lambda **where: [
        gpuprims.isin(resident(LONG, dtype=dtype), np.arange(count) / 2, kind="sort", **where)
        for dtype, count in (("f4", 9), ("f8", 100_000))
    ],
}  # fmt: skip
MERGES: dict[str, Callable[..., Any]] = {
    "float32, in both orders": lambda **where: [
        gpuprims.merge(resident(LONG), resident(LONG), descending=descending, **where) for descending in (False, True)
    ],
    "elements of every width, of two dtypes": lambda **where: [
        gpuprims.merge(resident(LONG, dtype=first), resident(9, dtype=second), **where)
        for first, second in (("?", "?"), ("i1", "f2"), ("f2", "f2"), ("u8", "i8"), ("c8", "f4"), ("c16", "i8"))
    ],
    "arrays that lie apart": lambda **where: gpuprims.merge(resident(LONG)[::2], resident(9)[::-1], **where),
}
NUMBERS: dict[str, Callable[..., Any]] = {
    "every kind of number": lambda **where: [
        gpuprims.random(7, LONG + 1, dtype=dtype, **keywords, **where)
        for dtype, keywords in list[tuple[str, dict[str, Any]]](
            [("f4", {}), ("f4", {"kind": "normal"}), ("u4", {"kind": "bits"}), ("u8", {"kind": "bits"})]
        )
    ],
    "integers, in an array with gaps": lambda **where: gpuprims.random(
        7, kind="integers", low=-3, high=9, out=resident(300, 400, dtype="i1")[:, ::2], **where
    ),
}
ENCODINGS: dict[str, Callable[..., Any]] = {
    "every width of elements": lambda **where: [
        encode_runs(resident(LONG, dtype=dtype), lengths=True, **where)
        for dtype in ("?", "u1", "f2", "f4", "i8", "f8", "c8", "c16")
    ],
    "each result": lambda **where: [
        encode_runs(resident(LONG), values=values, begins=begins, equal_nan=begins, **where)
        for values, begins in ((True, False), (True, True), (False, True))
    ],
    "few elements, which begin anywhere": lambda **where: encode_runs(resident(100)[1:], lengths=True, **where),
}
SHIFTED: dict[str, Callable[..., Any]] = {
    "rows of every width that begin anywhere": lambda **where: [
        gpuprims.map("(x + y, x)", resident(300, 401, dtype=dtype)[:, 3:387], resident(384, dtype=other), **where)
        for dtype, other in (("?", "?"), ("i1", "i1"), ("f2", "f2"), ("i2", "i1"), ("f4", "f4"), ("i4", "u1"))
    ],
}
ALONE = {"map_shifted": SHIFTED, "searchsorted_words": WORDS}
PLACES = {"take": TAKES, "searchsorted": SEARCHES, "merge": MERGES, "rle": ENCODINGS, "philox": NUMBERS}
