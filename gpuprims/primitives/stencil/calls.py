"""Check the arguments of a stencil, and run it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, check_out, host_results
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.taking import Step
from gpuprims.core.together import ahead
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, quoted
from gpuprims.expressions import computable
from gpuprims.primitives.copies import copying, with_copies
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.stencil.grids import Border, Grid, border_of, grid_of
from gpuprims.primitives.stencil.halves import half_dtypes, high_half, low_half
from gpuprims.primitives.stencil.in_slabs import run_in_slabs
from gpuprims.primitives.stencil.neighbours import as_weights
from gpuprims.primitives.stencil.plan import plan_call
from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.stencils import Halves, Stencil, of_function
from gpuprims.primitives.stencil.weights import of_weights


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
    """Find the device and the stencil of a call; takes the keywords of ``stencil``."""
    given = arrays if weights is None else (*arrays, weights)
    if len(given) != 2:
        raise ArgumentError(f"stencil: an array and its weights; got {len(given)} argument(s)")
    x, weights = given
    operands = as_operands("stencil", (x,), device, stored=True)
    element = operands.natives[0].dtype
    if element.kind == "c":
        raise DtypeError(f"stencil: real numbers; got dtype {element}")
    chosen = None if dtype is None else computable(dtype, "stencil", stored=True)
    if callable(weights):
        stencil = of_function(weights, element, chosen)
    else:
        double = operands.driver.capabilities.fp64 or asks_for_device()
        stencil = of_weights(as_weights(weights), element, chosen or element, double=double)
    return bind_stencil(operands, stencil, mode, cval, channel_axis, iterations, out, variant)


def bind_stencil(
    operands: Operands,
    stencil: Stencil,
    mode: Any,
    cval: Any,
    channel_axis: Any,
    iterations: Any,
    out: Any,
    variant: str | Variant | None,
) -> tuple[Operands, StencilRequest, Out | None, str | Variant | None]:
    """Check the other arguments of a call, given its array and its stencil."""
    label, x = operands.label, operands.natives[0]
    border = border_of(label, mode, cval, x.dtype)
    asked = None if variant is None else asked_by_name(label, variant)
    grid = grid_of(label, x.shape, stencil.rank, channel_axis)
    if type(iterations) is not int or not 1 <= iterations < 2**31:
        raise ArgumentError(f"{label}: iterations= a whole number from 1 to 2^31 - 1; got {quoted(iterations)}")
    if iterations > 1 and stencil.result != x.dtype:
        raise ArgumentError(f"{label}: iterations of results that are {x.dtype}, as x is; got {stencil.result}")
    result = None if out is None else as_out(operands, out)
    return operands, StencilRequest(label, stencil, border, grid, iterations), result, asked


def run(
    operands: Operands,
    request: StencilRequest,
    out: Out | None,
    variant: str | Variant | None,
    keep: Callable[[LaunchPlan, Operands, Step | None, Out | None], None] | None = None,
) -> Any:
    """Apply a stencil to an array the given number of times; ``keep`` gets the plan if it is done with one."""
    if operands.gain_by_slabs:
        *first, last = request.parts
        for one in first:
            kept = np.empty(one.grid.shape, one.stencil.result)
            run_in_slabs(operands, one, Out((kept,), kept), _of_slab(variant))
            operands = operands.instead(kept)
        return run_in_slabs(operands, last, out, _of_slab(variant))
    return _run_whole(operands, request, out, variant, keep)


def _of_slab(variant: str | Variant | None) -> Callable[[Operands, StencilRequest], Any]:
    return lambda slab, request: _run_whole(slab, request, None, variant)


def _run_whole(
    operands: Operands,
    request: StencilRequest,
    out: Out | None,
    variant: str | Variant | None,
    keep: Callable[[LaunchPlan, Operands, Step | None, Out | None], None] | None = None,
) -> Any:
    """Apply a stencil to all of an array."""
    stencil = request.stencil
    if stencil.halves is not None:
        return _run_in_halves(operands, request, stencil.halves, out, variant)
    step = None
    if not _is_together(operands.forms[0], request.grid, whole=variant is None):
        if out is None:
            _compile_ahead(request, operands.forms[0], operands.alignment, operands.device, variant)
        step, operands = copying(operands, [True]), with_copies(operands, [True])
    plan = find_plan(plan_call, operands, request, out, variant)
    if keep is not None:
        keep(plan, operands, step, out)
    return plan.run(operands, out)


@keeps_calls()
def _compile_ahead(
    request: StencilRequest, form: Form, alignment: int, device: Device, variant: str | Variant | None
) -> None:
    """Let a thread compile the kernels for a contiguous copy while the copy is made."""
    copy = contiguous(form.dtype, form.shape, 16)
    ahead(device, plan_call(request, (copy,), None, alignment, device, variant, REGISTRY.generation).compiled)


@lru_cache(maxsize=1024)
def _is_together(form: Form, grid: Grid, *, whole: bool) -> bool:
    """Return True if the axes before the neighbourhoods have one stride and, with ``whole``, rows are contiguous.

    Other arrays are copied, which takes less time than kernels that load elements one by one.
    """
    return grid.strides(form) is not None and not (whole and grid.lines((form,)) is None)


def _run_in_halves(
    operands: Operands, request: StencilRequest, halves: Halves, out: Out | None, variant: str | Variant | None
) -> Any:
    """For each iteration, sum the high and the low halves of 64-bit integers and join the sums."""
    x, device, border = operands.natives[0], operands.device, request.border
    element, result = x.dtype, request.stencil.result
    if out is not None:
        check_out(operands.label, [contiguous(result, tuple(x.shape), 1)], out.natives)
    for k in range(request.iterations):
        sums = []
        for part, stencil, dtype in zip((high_half, low_half), halves[:2], half_dtypes(element), strict=True):

            def half_of(v: Any, part: Any = part, dtype: Any = dtype) -> Any:
                return part(v, element).astype(dtype)

            given = as_operands(operands.label, (map_arrays(half_of, x, device=device),), device)
            around = Border.around(border.mode, half_of(np.asarray(border.beyond))[()])
            sums.append(run(given, request._replace(stencil=stencil, border=around, iterations=1), None, variant))
        target = out.natives[0] if out is not None and k == request.iterations - 1 else None
        x = map_arrays(halves.join, *sums, out=target, device=device)
    return host_results(operands, [x], None, single=True) if out is None else out.given
