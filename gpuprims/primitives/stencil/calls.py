"""Calls of stencils: arguments checked, and passes run."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, quoted
from gpuprims.expressions import computable
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.stencil.border import Border
from gpuprims.primitives.stencil.grids import Grid, grid_of
from gpuprims.primitives.stencil.neighbours import as_weights
from gpuprims.primitives.stencil.passes import Step
from gpuprims.primitives.stencil.plan import StencilRequest, plan_call
from gpuprims.primitives.stencil.splitting import run_in_halves
from gpuprims.primitives.stencil.weights import with_weights


def run_stencil(
    x: Any,
    weights: Any,
    mode: Any,
    cval: Any,
    channel_axis: Any,
    iterations: Any,
    dtype: Any,
    out: Any,
    device: str | Device | None,
    variant: str | Variant | None,
) -> Any:
    """Compute each element from those around it."""
    operands, step = _as_step(x, weights, dtype, device)
    border = Border.of("stencil", mode, cval, operands.natives[0].dtype)
    return run_step(operands, step, border, channel_axis, iterations, out, variant)


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
    """Find the device of a stencil, and the passes that it takes."""
    x, weights = arrays if weights is None else (*arrays, weights)
    operands, step = _as_step(x, weights, dtype, device)
    border = Border.of("stencil", mode, cval, operands.natives[0].dtype)
    request = as_request(operands, step, border, channel_axis, iterations)
    if step.halves is not None or step.weights is not None:
        raise ArgumentError("plan of stencil: weights that one kernel holds; got too many")
    return operands, request, as_out(operands, out), asked_by_name("stencil", variant)


def _as_step(x: Any, weights: Any, dtype: Any, device: str | Device | None) -> tuple[Operands, Step]:
    operands = as_operands("stencil", (x,), device)
    element = operands.natives[0].dtype
    if element.kind == "c":
        raise DtypeError(f"stencil: real numbers; got dtype {element}")
    chosen = None if dtype is None else computable(dtype, "stencil")
    if callable(weights):
        return operands, Step.of_function(weights, element, chosen)
    double = operands.driver.capabilities.fp64
    return operands, Step.of_weights(as_weights(weights), element, chosen or element, double=double)


def as_request(operands: Operands, step: Step, border: Border, channel_axis: Any, iterations: Any) -> StencilRequest:
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
    """Apply a step to an array, so many times."""
    asked = None if variant is None else asked_by_name(operands.label, variant)
    request = as_request(operands, step, border, channel_axis, iterations)
    result = None if out is None else as_out(operands, out)
    if step.halves is not None:

        def run(half: Operands, of_half: Step, beyond: Border) -> Any:
            return run_step(half, of_half, beyond, channel_axis, 1, None, asked)

        return run_in_halves(operands, result, request, run)
    if step.weights is not None:
        operands = with_weights(operands, step)
    if not _is_together(operands.forms[0], request.grid):  # axes before the neighbourhoods need one stride
        array, *weights = operands.natives
        operands = operands.instead(map_arrays("x", array, device=operands.device), *weights)
    return find_plan(plan_call, operands, request, result, asked).run(operands, result)


@lru_cache(maxsize=1024)
def _is_together(form: Form, grid: Grid) -> bool:
    return grid.steps(form) is not None
