"""Calls of reduce and scan by masks, without NaN, from the end, and with a value to begin with, for kernel_calls.

Gradients through scans too, whose results need the elements at their places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from idle_arrays import resident

import gpuprims
from gpuprims.expressions import expression
from gpuprims.primitives.scan.adjoint import Step
from gpuprims.primitives.scan.gradients import scan_gradients

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
    "gradients through a linear recurrence": lambda **where: _gradients(LONG, **where),
}
# More elements, for a queue of tiles in each multiprocessor.
QUEUED_BACKWARD: dict[str, Callable[..., Any]] = {
    "gradients through a linear recurrence": lambda **where: _gradients(8 * LONG, **where),
}


def _gradients(size: int, **how: Any) -> Any:
    h, x, above = ([resident(size) for _ in range(count)] for count in (1, 2, 1))
    return scan_gradients(Step(expression("h*a + b"), (0.0,)), h, x, above, 0, reverse=False, **how)
