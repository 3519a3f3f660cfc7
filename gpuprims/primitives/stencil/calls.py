"""Calls of stencils: check the arguments and run the passes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, check_out, host_results
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, quoted
from gpuprims.expressions import computable
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.stencil.border import Border
from gpuprims.primitives.stencil.grids import Grid, grid_of
from gpuprims.primitives.stencil.halves import half_dtypes, high_half, low_half
from gpuprims.primitives.stencil.neighbours import as_weights
from gpuprims.primitives.stencil.passes import Step
from gpuprims.primitives.stencil.plan import StencilRequest, plan_call


def bind(
    arrays: tuple[Any, ...],
    weights: Any = None,
    mode: Any = "nearest",
    cval: Any = 0,
    channel_axis: Any = None,
    iterations: Any = 1,
    dtype: Any = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, StencilRequest, Out | None, str | Variant | None]:
    """Find the device and the passes of a stencil."""
    x, weights = arrays if weights is None else (*arrays, weights)
    operands, step = as_step(x, weights, dtype, device)
    border = Border.of("stencil", mode, cval, operands.natives[0].dtype)
    request = _as_request(operands, step, border, channel_axis, iterations)
    if step.halves is not None or step.weights is not None:
        raise ArgumentError("plan of stencil: weights that one kernel holds; got too many")
    return operands, request, as_out(operands, out), asked_by_name("stencil", variant)


def as_step(x: Any, weights: Any, dtype: Any, device: str | Device | None) -> tuple[Operands, Step]:
    """Check the elements and the weights or function of a stencil."""
    operands = as_operands("stencil", (x,), device)
    element = operands.natives[0].dtype
    if element.kind == "c":
        raise DtypeError(f"stencil: real numbers; got dtype {element}")
    chosen = None if dtype is None else computable(dtype, "stencil")
    if callable(weights):
        return operands, Step.of_function(weights, element, chosen)
    double = operands.driver.capabilities.fp64
    return operands, Step.of_weights(as_weights(weights), element, chosen or element, double=double)


def _as_request(operands: Operands, step: Step, border: Border, channel_axis: Any, iterations: Any) -> StencilRequest:
    """Check the axes of an array and the number of iterations."""
    label, element, shape = operands.label, operands.natives[0].dtype, operands.natives[0].shape
    grid = grid_of(label, shape, len(step.offsets[0]), channel_axis)
    if type(iterations) is not int or iterations < 1:
        raise ArgumentError(f"{label}: iterations= a whole number from 1 on; got {quoted(iterations)}")
    if iterations > 1 and step.result != element:
        raise ArgumentError(f"{label}: iterations of results that are {element}, as x is; got {step.result}")
    return StencilRequest(label, step, border, grid, iterations)


def run_step(
    operands: Operands,
    step: Step,
    border: Border,
    channel_axis: Any,
    iterations: Any,
    out: Any,
    variant: str | Variant | None,
) -> Any:
    """Apply a step to an array the given number of times."""
    asked = None if variant is None else asked_by_name(operands.label, variant)
    request = _as_request(operands, step, border, channel_axis, iterations)
    result = None if out is None else as_out(operands, out)
    if step.halves is not None:
        return _run_in_halves(operands, request, channel_axis, result, asked)
    if step.weights is not None:
        where = operands.device, operands.driver.order
        operands = operands.beside(_weights(step) if operands.on_host else _weights_on(*where, step))
    if not _is_together(operands.forms[0], request.grid):  # axes before the neighbourhoods need one stride
        array, *weights = operands.natives
        operands = operands.instead(map_arrays("x", array, device=operands.device), *weights)
    return find_plan(plan_call, operands, request, result, asked).run(operands, result)


@lru_cache(maxsize=1024)
def _is_together(form: Form, grid: Grid) -> bool:
    return grid.steps(form) is not None


def _weights(step: Step) -> np.ndarray:
    return np.frombuffer(step.weights or b"", step.value)


@lru_cache(maxsize=32)
def _weights_on(device: Device, order: int, step: Step) -> Any:
    """Return weights in device memory, for the current queue or stream."""
    return device.driver.asarray(_weights(step))


def _run_in_halves(
    operands: Operands, request: StencilRequest, channel_axis: Any, out: Out | None, variant: str | Variant | None
) -> Any:
    """Split 64-bit integers, sum the high and the low halves and join the sums, for each iteration."""
    x, device, step, border = operands.natives[0], operands.device, request.step, request.border
    if step.halves is None:
        raise TypeError(f"a step in halves; got {step}")
    high, low, join = step.halves
    if out is not None:
        check_out(operands.label, [contiguous(step.result, tuple(x.shape), 1)], out.natives)
    for k in range(request.iterations):
        element, sums = np.dtype(x.dtype), []
        for part, own, dtype in zip((high_half, low_half), (high, low), half_dtypes(element), strict=True):
            half = map_arrays(
                lambda v, part=part, dtype=dtype, element=element: part(v, element).astype(dtype), x, device=device
            )
            beyond = Border.around(border.mode, part(np.asarray(border.beyond), element).astype(dtype)[()])
            given = as_operands(operands.label, (half,), device)
            sums.append(run_step(given, own, beyond, channel_axis, 1, None, variant))
        target = out.natives[0] if out is not None and k == request.iterations - 1 else None
        x = map_arrays(join, *sums, out=target, device=device)
    return host_results(operands, [x], None, single=True) if out is None else out.given
