"""Calls of reduce and scan by masks, without NaN, from the end, and with a value to begin with, for kernel_calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from idle_arrays import resident

import gpuprims

LONG = 1 << 22

MASKED: dict[str, Callable[..., Any]] = {
    "mean of float32 by a mask, without NaN": lambda **where: gpuprims.reduce(
        resident(LONG), op="nanmean", where=resident(LONG, dtype="?"), **where
    ),
    "nanargmax of float64 along the inner axis": lambda **where: gpuprims.reduce(
        resident(99, 300, dtype="f8"), op="nanargmax", axis=1, **where
    ),
    "nanmax and a value to begin with": lambda **where: gpuprims.reduce(
        resident(LONG), op="nanmax", initial=2.5, **where
    ),
    "std of complex64 by several groups": lambda **where: gpuprims.reduce(
        resident(LONG, dtype="c8"), op="std", **where
    ),
}
BACKWARD: dict[str, Callable[..., Any]] = {
    "nansum in reverse, and a value to begin with": lambda **where: gpuprims.scan(
        resident(LONG), op="nansum", reverse=True, initial=2.5, **where
    ),
}
