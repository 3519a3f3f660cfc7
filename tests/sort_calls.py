"""Calls that cover the texts of kernels that sort."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from idle_arrays import resident

import gpuprims

_SIZE = 100_000

KEYS: dict[str, Callable[..., Any]] = {
    "float32, in both orders": lambda **where: [
        gpuprims.sort(resident(_SIZE), descending=descending, **where) for descending in (False, True)
    ],
    "keys of every width": lambda **where: [
        gpuprims.sort(resident(_SIZE, dtype=dtype), **where) for dtype in ("?", "i2", "f2", "u4", "i8", "f8")
    ],
}
ROW = {
    **KEYS,
    "indices": lambda **where: [
        gpuprims.argsort(resident(_SIZE, dtype=dtype), **where) for dtype in ("u1", "f4", "i8")
    ],
    "values beside keys": lambda **where: [
        gpuprims.sort_by_key(resident(_SIZE, dtype=key), resident(_SIZE, dtype=value), **where)
        for key, value in (("f4", "u1"), ("u1", "c8"), ("i8", "f2"))
    ],
}
SORTS = {**ROW, "columns": lambda **where: gpuprims.sort(resident(17_000, 6), 0, **where)}
MERGED = {
    **SORTS,
    "by a comparison of elements of every width": lambda **where: [
        gpuprims.argsort(resident(_SIZE, dtype=dtype), less=lambda a, b: a * a > b * b, **where)
        for dtype in ("?", "i2", "f2", "f4", "i8", "f8")
    ],
    "complex elements by a comparison, with values": lambda **where: [
        gpuprims.sort_by_key(
            resident(_SIZE, dtype=dtype), resident(_SIZE), less=lambda a, b: a.imag < b.imag, descending=True, **where
        )
        for dtype in ("c8", "c16")
    ],
}
# The calls of kernels that do not take those of all others.
PLACES = {
    "few float32, in both orders": lambda **where: [
        gpuprims.sort(resident(1000), descending=descending, **where) for descending in (False, True)
    ],
    "few, of every width": lambda **where: [
        gpuprims.argsort(resident(1000, dtype=dtype), **where) for dtype in ("?", "i2", "f2", "f4", "i8", "f8")
    ],
}
LANES = {
    "rows of five, with indices or values": lambda **where: [
        gpuprims.argsort(resident(600, 5, dtype="f2"), **where),
        gpuprims.sort_by_key(resident(600, 5), resident(600, 5, dtype="f8"), descending=True, **where),
    ],
    "short rows of every width": lambda **where: [
        gpuprims.argsort(resident(600, length, dtype=dtype), **where)
        for length, dtype in (
            (2, "?"),
            (3, "i2"),
            (7, "f2"),
            (10, "f4"),
            (32, "i8"),
            (33, "f8"),
            (100, "f2"),
            (256, "f4"),
        )
    ],
}
ROWS = {
    "rows of 1,000, with indices, values or neither": lambda **where: [
        gpuprims.sort(resident(60, 1000), **where),
        gpuprims.argsort(resident(60, 1000, dtype="f2"), **where),
        gpuprims.sort_by_key(resident(60, 1000), resident(60, 1000, dtype="f8"), descending=True, **where),
    ],
    "rows of every width": lambda **where: [
        gpuprims.argsort(resident(60, length, dtype=dtype), **where)
        for length, dtype in ((40, "?"), (300, "i2"), (8000, "f2"), (600, "f4"), (3000, "i8"), (33, "f8"))
    ],
    "segments, with and without indices": lambda **where: [
        call(resident(6000, dtype=dtype), segments=[0, 5000, 5003, 6000], **where)
        for call in (gpuprims.sort, gpuprims.argsort)
        for dtype in ("?", "f2", "f4", "i8")
    ],
}
ALONE = {
    "sort_places": PLACES,
    "sort_lanes": LANES,
    "sort_rows": ROWS,
    "sort_buckets": KEYS,
    "sort_resident": ROW,
    "sort_merge": MERGED,
    "sort_cpu_merge": MERGED,
}
