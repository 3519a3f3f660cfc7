"""Stencils of 64-bit integers with many neighbours: one stencil of the high and one of the low halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import Result
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Targets, check_targets
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.stencil.halves import half_dtypes, high_half, low_half
from gpuprims.primitives.stencil.passes import Border, Step

# Channel axis, iterations and variant.
_How = tuple[int | None, int, str | None]
# A function from an array, None for ``out=``, a step, a border and the other arguments to the step's result.
_Run = Callable[[Operands, None, Step, Border, _How], Any]


def run_in_halves(operands: Operands, targets: Targets | None, step: Step, border: Border, how: _How, run: _Run) -> Any:
    """Split an array, sum both halves and join the sums, for each iteration."""
    x, device = operands.natives[0], operands.device
    channel_axis, iterations, variant = how

    def run_once(half: Any, of_half: Step, beyond: Border) -> Any:
        return run(as_operands(operands.label, (half,), device), None, of_half, beyond, (channel_axis, 1, variant))

    if targets is not None:
        check_targets(operands.label, [Result(tuple(x.shape), step.result)], targets.natives)
    for k in range(iterations):
        out = targets.natives[0] if targets is not None and k == iterations - 1 else None
        x = _once(x, out, step, border, device, run_once)
    return operands.deliver([x], None, single=True) if targets is None else targets.given


def _once(
    x: Any, out: Any, step: Step, border: Border, device: Device, run_once: Callable[[Any, Step, Border], Any]
) -> Any:
    if step.halves is None:
        raise TypeError(f"a step in halves; got {step}")
    high, low, join = step.halves
    element = np.dtype(x.dtype)
    sums = []
    for part, own, dtype in zip((high_half, low_half), (high, low), half_dtypes(element), strict=True):
        half = map_arrays(lambda v, part=part, dtype=dtype: part(v, element).astype(dtype), x, device=device)
        beyond = part(np.asarray(border.beyond), element).astype(dtype)[()]
        sums.append(run_once(half, own, Border(border.mode, beyond)))
    return map_arrays(join, *sums, out=out, device=device)
