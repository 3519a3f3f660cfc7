"""Stencils of 64-bit integers with many neighbours: one stencil of the high and one of the low halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, Result, check_out, host_results
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.stencil.border import Border
from gpuprims.primitives.stencil.halves import half_dtypes, high_half, low_half
from gpuprims.primitives.stencil.passes import Step
from gpuprims.primitives.stencil.plan import StencilRequest

# A function from operands, a step and a border to the step's result.
_Run = Callable[[Operands, Step, Border], Any]


def run_in_halves(operands: Operands, out: Out | None, request: StencilRequest, run: _Run) -> Any:
    """Split an array, sum both halves and join the sums, for each iteration."""
    x, device, step, iterations = operands.natives[0], operands.device, request.step, request.iterations

    def run_once(half: Any, of_half: Step, beyond: Border) -> Any:
        return run(as_operands(operands.label, (half,), device), of_half, beyond)

    if out is not None:
        check_out(operands.label, [Result(tuple(x.shape), step.result)], out.natives)
    for k in range(iterations):
        target = out.natives[0] if out is not None and k == iterations - 1 else None
        x = _once(x, target, step, request.border, device, run_once)
    return host_results(operands, [x], None, single=True) if out is None else out.given


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
        sums.append(run_once(half, own, Border.around(border.mode, beyond)))
    return map_arrays(join, *sums, out=out, device=device)
