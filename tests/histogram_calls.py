"""Calls of histogram by which tests compile its kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from idle_arrays import ones, resident

import gpuprims
from gpuprims.core.operands import as_operands
from gpuprims.primitives.histogram.binning import direct
from gpuprims.primitives.histogram.plan import count, find_sums
from gpuprims.primitives.histogram.request import COUNTS, HistogramRequest
from gpuprims.primitives.histogram.sought import sought_table

LONG = 1 << 22


def _reported(dtype: str, device: gpuprims.Device, variant: str) -> Any:
    """Count numbers in 99 bins, and report the last one."""
    operands = as_operands("", (resident(LONG, dtype=dtype),), device)
    return count(operands, direct(99), 99, None, variant=variant, outside=True, reports=True)


def _between_bounds(dtype: str, device: gpuprims.Device, variant: str) -> Any:
    """Compile the count in 99 bins between the bounds of the elements."""
    operands = as_operands("", (resident(LONG, dtype=dtype),), device)
    request = HistogramRequest.of(sought_table(operands.natives[0].dtype, 99), None, COUNTS, None, edges=True)
    return find_sums(operands, request, variant).compiled()


_KEYS = ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
HISTOGRAMS: dict[str, Callable[..., Any]] = {
    "float32": lambda **where: gpuprims.histogram(resident(LONG), 256, (0, 1), **where),
    "every dtype, even edges and others": lambda **where: [
        gpuprims.histogram(resident(LONG, dtype=dtype), bins, limits, **where)
        for dtype in _KEYS
        for bins, limits in ((100, (0, 50)), ([0, 1, 10, 1e3, 1e6], None))
    ],
    "numbers of bins, along an axis": lambda device, variant: [
        count(as_operands("", (ones(99, 9, dtype=dtype),), device), direct(9), 9, 1, variant=variant)
        for dtype in ("u1", "i4", "i8")
    ],
    "numbers of bins, with a report": lambda device, variant: [
        _reported(dtype, device, variant) for dtype in ("u1", "i8")
    ],
    "weights, in order or not": lambda **where: [
        gpuprims.histogram(
            resident(9), 9, (0, 1), weights=resident(9, dtype=dtype), deterministic=deterministic, **where
        )
        for dtype in ("i4", "f2", "f4", "f8")
        for deterministic in (True, False)
    ],
    "weights in many bins": lambda **where: [
        gpuprims.histogram(resident(LONG), 9_000, (0, 1), weights=resident(LONG, dtype=dtype), **where)
        for dtype in ("f4", "f8")
    ],
    "grids of bins": lambda **where: [
        gpuprims.histogram2d(resident(LONG), resident(LONG), 90, ((0, 1), (0, 2)), **where),
        gpuprims.histogram2d(resident(LONG, dtype="i4"), resident(LONG, dtype="f8"), [[0, 1, 9], [0, 2, 7]], **where),
        gpuprims.histogramdd(
            resident(9, 3), (2, 3, 4), ((0, 1),) * 3, weights=resident(9), deterministic=False, **where
        ),
    ],
    "more elements than 32 bits count": lambda **where: gpuprims.histogram(
        ones(1 << 33, dtype="u1"), 9, (0, 9), **where
    ),
}

LOCAL: dict[str, Callable[..., Any]] = {
    **HISTOGRAMS,
    "bins between bounds": lambda device, variant: [
        _between_bounds(dtype, device, variant) for dtype in ("u1", "i4", "u8", "f2", "f4", "f8")
    ],
}

BYTES: dict[str, Callable[..., Any]] = {
    "numbers, with a report": lambda device, variant: _reported("u1", device, variant),
    "even edges": lambda **where: gpuprims.histogram(resident(LONG, dtype="u1"), 256, (0, 256), **where),
    "bins between bounds": lambda device, variant: [_between_bounds(dtype, device, variant) for dtype in ("u1", "i1")],
    "others, of signed bytes and of bools": lambda **where: [
        gpuprims.histogram(resident(LONG, dtype=dtype), [0, 1, 10, 11], **where) for dtype in ("i1", "b1")
    ],
    "apart": lambda **where: gpuprims.histogram(resident(99, 9, dtype="i1")[:, ::2], 9, (0, 9), axis=1, **where),
}


MANY_BINS: dict[str, Callable[..., Any]] = {
    "every dtype, even edges": lambda **where: [
        gpuprims.histogram(resident(LONG, dtype=dtype), 1 << 18, (0, 1_000_000), **where)
        for dtype in ("i4", "f4", "f8")
    ],
    "edges, apart": lambda **where: gpuprims.histogram(resident(999, 99)[:, ::2], np.arange(1 << 18) ** 1.5, **where),
    "numbers of bins": lambda device, variant: gpuprims.bincount(
        resident(LONG, dtype="i4"), minlength=1 << 18, device=device, variant=variant
    ),
    "grids of bins": lambda **where: gpuprims.histogram2d(
        resident(LONG), resident(LONG), 600, ((0, 1), (0, 2)), **where
    ),
    "weights": lambda **where: [
        gpuprims.histogram(resident(LONG), 90_000, (0, 1), weights=resident(LONG, dtype=dtype), **where)
        for dtype in ("i4", "i8", "f2", "f4", "f8")
    ],
}

PACKED: dict[str, Callable[..., Any]] = {
    "even bins": lambda **where: gpuprims.histogram2d(resident(LONG), resident(LONG), 300, ((0, 1), (0, 2)), **where),
    "edges, apart": lambda **where: gpuprims.histogram2d(
        resident(LONG, dtype="i4")[::2],
        resident(LONG, dtype="i4")[::2],
        [np.arange(400) ** 1.5, np.arange(250)],
        **where,
    ),
    "every dtype, of three axes": lambda **where: [
        gpuprims.histogramdd([resident(LONG, dtype=dtype)] * 3, 43, ((0, 90),) * 3, **where) for dtype in ("u1", "f8")
    ],
}
