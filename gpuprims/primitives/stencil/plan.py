"""The launch plan of a stencil: one or several passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, Sample
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.together import together
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError
from gpuprims.primitives.stencil.grids import Border, grid_of
from gpuprims.primitives.stencil.passes import Pass
from gpuprims.primitives.stencil.portable import as_portable_stencil
from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.traits import StencilTraits
from gpuprims.primitives.stencil.variants import StencilVariant
from gpuprims.primitives.stencil.weights import of_weights

# Most passes of one application.
_MOST_APART = 3


@dataclass(slots=True, eq=False)
class StencilPlan(LaunchPlan):
    """A chain of passes, each on the results of the previous one."""

    passes: Sequence[LaunchPlan] = ()

    def compiled(self) -> Launch:
        """Compile every pass, and return the last."""
        if self._launch is None:
            # Most passes after those have the same kernels.
            together(self.device, *[one.compiled for one in self.passes[:_MOST_APART]])
            self._launch = [one.compiled() for one in self.passes][-1]
        return self._launch

    def fresh(self) -> LaunchPlan:
        """See :meth:`LaunchPlan.fresh`."""
        return replace(self, passes=[one.fresh() for one in self.passes])

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Launch every pass on the memory of a call, and return the last pass's results."""
        if out is None and operands.plain:
            return self.run_there((operands.placed or operands.place())[1])
        self.compiled()
        kept = []  # keeps host memory alive until the kernels have written to it
        with operands.settled():
            for one in self.passes[:-1]:
                (form,) = one.results
                result = operands.empty(form.shape, form.dtype)
                one.start(operands, [result])
                kept.append(result)
                operands = operands.instead(result)
            return self.passes[-1].run(operands, out)

    def run_in_place(self, arrays: Sequence[np.ndarray]) -> Any:
        """See :meth:`LaunchPlan.run_in_place`."""
        self.compiled()
        for one in self.passes:
            arrays = (one.run_in_place(arrays),)
        return arrays[0]

    def run_there(self, arrays: Sequence[Any]) -> Any:
        """See :meth:`LaunchPlan.run_there`."""
        self.compiled()
        for one in self.passes:
            arrays = (one.run_there(arrays),)
        return arrays[0]

    def run_into(self, arrays: Sequence[Any], results: Sequence[Any], *, in_place: bool) -> None:
        """See :meth:`LaunchPlan.run_into`."""
        self.compiled()
        *first, last = self.passes
        for one in first:
            arrays = (one.run_in_place(arrays) if in_place else one.run_there(arrays),)
        last.run_into(arrays, results, in_place=in_place)


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

    A separable stencil takes two passes, unless a variant, or the requested one, computes both in one launch. A variant
    may also apply a stencil twice in one launch.
    """
    label, shape = request.label, request.grid.shape
    out = result_forms(label, [contiguous(request.last.result, shape, alignment)], written)[0]
    array, plans, parts = forms[0], list[LaunchPlan](), request.parts
    for k, part in enumerate(parts, 1):
        if asks_for_device() and part.stencil.halves is None:
            part = part._replace(stencil=as_portable_stencil(part.stencil))
        target = out if k == len(parts) else contiguous(part.stencil.result, shape, alignment)
        plans += _launches(part, array, target, alignment, device, variant)
        array = target
    if len(plans) == 1:
        return plans[0]
    last, traits = plans[-1], plans[0].traits
    described = device, "stencil", traits, last.results, last.compiling
    return StencilPlan(*described, passes=plans, asked=variant, inputs=last.inputs)


def _launches(
    request: StencilRequest, array: Form, out: Form, alignment: int, device: Device, variant: str | Variant | None
) -> list[LaunchPlan]:
    """Return the plan of each launch of one stencil."""
    label, stencil, _, grid, iterations, _ = request
    if stencil.halves is not None:
        raise ArgumentError(f"plan of {label}: weights that one kernel holds; got too many")
    once, twice = (Pass(request._replace(iterations=times), (array, out)) for times in (1, 2))
    parts = _in_passes(once, device, variant) * iterations
    if iterations > 1 and len(parts) == iterations:
        chosen = StencilVariant.of(device.select("stencil", once.traits, variant))
        if chosen.twice and chosen.refuse(device.capabilities, twice.traits) is None:
            parts = [twice] * (iterations // 2) + parts[: iterations % 2]
    plans = []
    for k, part in enumerate(parts, 1):
        target = out if k == len(parts) else contiguous(part.request.stencil.result, grid.shape, alignment)
        plans.append(part._replace(forms=(array, target)).plan(device, variant))
        array = target
    return plans


def _in_passes(whole: Pass, device: Device, variant: str | Variant | None) -> list[Pass]:
    """Return the launches of one application: one, or those of each pass."""
    request, stencil, border = whole.request, whole.request.stencil, whole.request.border
    joined = stencil.across or stencil.lines
    if not stencil.passes or (joined and _in_one_launch(whole.simplified().traits, device, variant)):
        return [whole]
    launches = []
    for one in stencil.passes:
        launches += _in_passes(Pass(request._replace(stencil=one, border=border), whole.forms), device, variant)
        border = Border.around(border.mode, one.value.type(one.of_constant(border.beyond)))
    return launches


def _in_one_launch(traits: StencilTraits, device: Device, variant: str | Variant | None) -> bool:
    """Return True if a variant, or the requested one, computes all passes in one launch."""
    answers = device.explain("stencil", traits).refusals
    if variant is None:
        return any(reason is None for _, reason in answers)
    return any(one.name == variant and one.refuses(device.capabilities, traits) is None for one, _ in answers)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan for weights of three rows and columns, on an image."""
    rows = max(math.isqrt(call.size), 1)
    form = contiguous(call.dtype, (rows, call.size // rows), 16)
    double = call.device.capabilities.fp64 or asks_for_device()
    stencil = of_weights(_WEIGHTS, call.dtype, call.dtype, double=double)
    border, grid = Border.around("nearest", call.dtype.type(0)), grid_of("stencil", form.shape, 2, None)
    return plan_call(StencilRequest("stencil", stencil, border, grid), (form,), None, 16, call.device, None, 0)


# No product of a column and a row.
_WEIGHTS = np.array([[1, 2, 1], [2, 3, 2], [1, 1, 2]])
