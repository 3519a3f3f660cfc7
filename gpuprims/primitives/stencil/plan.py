"""The launch plan of a stencil: one or several passes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.primitives.stencil.border import Border
from gpuprims.primitives.stencil.grids import Grid, grid_of
from gpuprims.primitives.stencil.launches import Pass, in_lines, listed
from gpuprims.primitives.stencil.passes import Step
from gpuprims.primitives.stencil.spec import columns_of, reach_of
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits
from gpuprims.primitives.stencil.variants import StencilVariant


class StencilRequest(NamedTuple):
    """A step to apply to an array, with its border and the number of iterations."""

    label: str
    step: Step
    border: Border
    grid: Grid
    iterations: int = 1


class StencilPlan(LaunchPlan):
    """A chain of passes, each on the results of the previous one."""

    __slots__ = ("passes",)

    def __init__(self, passes: list[LaunchPlan]) -> None:
        last, traits = passes[-1], passes[0].traits
        described = last.device, last.primitive, traits, last.results, last.compiling
        super().__init__(*described, asked=last.asked, inputs=last.inputs)
        self.passes = passes

    def compiled(self) -> Launch:
        """Compile every pass, and return the last."""
        return [one.compiled() for one in self.passes][-1]

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Launch every pass on the memory of a call, and return the last pass's results."""
        kept = []  # keeps host memory alive until the kernels have written to it
        weights = operands.natives[1:]
        with operands.settled():
            for one in self.passes[:-1]:
                one.compiled()
                (form,) = one.results
                result = operands.empty(form.shape, form.dtype)
                one.start(operands, [result])
                kept.append(result)
                operands = operands.instead(result, *weights)
            return self.passes[-1].run(operands, out)


@keeps_calls()
def plan_call(
    request: StencilRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a stencil but its memory.

    A separable step takes two passes, unless a variant, or the requested one, computes both in one launch. A variant
    may also apply a step twice in one launch.
    """
    label, step, border, grid, iterations = request
    out = result_forms(label, [contiguous(step.result, grid.shape, alignment)], written)[0]
    traits = _traits(step, forms[0].dtype, grid, (forms[0], out))
    passes = [(step, border, 1)] * iterations
    if step.across is not None:
        able = [known.name for known, reason in device.explain("stencil", traits).refusals if reason is None]
        if not able or (variant is not None and variant not in able):
            first, second = step.passes()
            beyond = step.across(*[np.asarray(border.beyond)] * len(step.columns))[0]  # the first part's result
            after = Border.around(border.mode, step.value.type(beyond))
            passes = [(first, border, 1), (second, after, 1)] * iterations
            return _chain(request, passes, (*forms, out), alignment, device, variant)
    if iterations > 1:
        chosen = StencilVariant.of(device.select("stencil", traits, variant))
        both = _traits(step, forms[0].dtype, grid, (forms[0], out), 2)
        if chosen.twice and chosen.refuse(device.capabilities, both) is None:
            passes = [(step, border, 2)] * (iterations // 2) + [(step, border, 1)] * (iterations % 2)
    return _chain(request, passes, (*forms, out), alignment, device, variant)


def _chain(
    request: StencilRequest,
    passes: list[tuple[Step, Border, int]],
    forms: tuple[Form, ...],
    alignment: int,
    device: Device,
    variant: str | Variant | None,
) -> LaunchPlan:
    """Return the plan of passes; the first form is the array's, the last the result's."""
    (array, *weights, out), plans = forms, []
    for k, (step, border, times) in enumerate(passes, 1):
        target = out if k == len(passes) else contiguous(step.result, request.grid.shape, alignment)
        of = Pass(request.label, step, border, times, request.grid)
        plans.append(_plan_pass(of, (array, *weights), target, device, variant))
        array = target
    return plans[0] if len(plans) == 1 else StencilPlan(plans)


def _plan_pass(
    of: Pass, forms: tuple[Form, ...], out: Form, device: Device, variant: str | Variant | None
) -> LaunchPlan:
    traits = _traits(of.step, forms[0].dtype, of.grid, (forms[0], out), of.times)

    def compiling(variant: Variant) -> Launch:
        chosen = StencilVariant.of(variant)
        if not traits.size:
            return nothing
        fix = listed if chosen.window == "listed" else in_lines
        return fix(of, (*forms, out), traits, chosen, device)

    results = (contiguous(out.dtype, out.shape, out.alignment),)
    return LaunchPlan(device, "stencil", traits, results, compiling, asked=variant, inputs=range(len(forms)))


def sample(call: Sample) -> LaunchPlan:
    """Return the plan for three rows and columns of neighbours."""
    form = contiguous(call.dtype, (1, call.size), 16)
    step = Step.of_function(_nine, call.dtype, call.dtype)
    grid = grid_of("stencil", form.shape, 2, None)
    request = StencilRequest("stencil", step, Border.around("nearest", call.dtype.type(0)), grid)
    return plan_call(request, (form,), None, 16, call.device, None, 0)


def _nine(n: Any) -> Any:
    return sum((n[dy, dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)), n[0, 0])


def _traits(step: Step, element: np.dtype[Any], grid: Grid, forms: tuple[Form, ...], times: int = 1) -> StencilTraits:
    """Describe a pass to the variants."""
    lines = grid.lines(forms)
    left, right = columns_of(step.columns or [offset[-1] for offset in step.offsets], times)
    top, bottom = reach_of([offset[-2] for offset in step.offsets] if step.rank > 1 else [0])
    reads = Neighbourhood(
        lines=lines is not None,
        across=step.across is not None,
        table=step.weights is not None,
        span=bottom - top + 1,
        beside=(right - left) * grid.lengths[-1],
        taps=len(step.offsets) + len(step.columns),
        paired=step.paired is not None,
        times=times,
    )
    used = () if step.function is None else tuple(one.dtype for one in step.function.steps)
    return StencilTraits((element, step.value, step.result, *used), math.prod(grid.lengths), neighbourhood=reads)
