"""A stencil of 64-bit integers with many neighbours: of their high and of their low halves, as arrays of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.arrays import Operands, as_operands
from gpuprims.preparation import Result
from gpuprims.primitives.halves import half_dtypes, high_half, low_half
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.steps import Border, Step
from gpuprims.targets import Targets, check_targets

# From an array, a step and what lies beyond the borders to the step's result.
_Run = Callable[[Operands, Step, Border], Any]


def run_in_halves(
    operands: Operands, targets: Targets | None, step: Step, border: Border, iterations: int, run: _Run
) -> Any:
    """Split an array, sum both halves, and join the sums, so many times."""
    x, device = operands.natives[0], operands.device
    if targets is not None:
        check_targets(operands.label, [Result(tuple(x.shape), step.result)], targets.natives)
    for k in range(iterations):
        out = targets.natives[0] if targets is not None and k == iterations - 1 else None
        x = _once(operands.label, x, out, step, border, device, run)
    return operands.deliver([x], None, single=True) if targets is None else targets.given


def _once(label: str, x: Any, out: Any, step: Step, border: Border, device: Any, run: _Run) -> Any:
    if step.halves is None:
        raise TypeError(f"{label}: a step in halves; got one of whole elements")
    high, low, join = step.halves
    element = np.dtype(x.dtype)
    sums = []
    for part, own, dtype in zip((high_half, low_half), (high, low), half_dtypes(element), strict=True):
        half = map_arrays(lambda v, part=part, dtype=dtype: part(v, element).astype(dtype), x, device=device)
        beyond = part(np.asarray(border.beyond), element).astype(dtype)[()]
        sums.append(run(as_operands(label, (half,), device), own, Border(border.mode, beyond)))
    return map_arrays(join, *sums, out=out, device=device)
