"""Ranges of indices on a device, and scatters of elements to given places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import KernelSpec, unchanged
from gpuprims.core.launch_plan import LaunchPlan, find_plan, nothing
from gpuprims.core.layout import Form, Layout, contiguous, plan_layout
from gpuprims.core.operands import as_operands
from gpuprims.core.outputs import as_out
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import MOVES, CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.expressions import trace, typed
from gpuprims.primitives.segments.offsets import along_one_axis

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
_NUMBER = trace(lambda element, j: j, 2)
# Functions for a scatter: the element, the value to write, and the place to write to.
_ELEMENT = trace(lambda element, place, j: element, 3)
_WRITTEN = trace(lambda value, count, element, place: value, 4)
_PLACE = trace(lambda value, j, element, place: place.astype(np.int64), 4)
_NUMBERS, _SCATTERS = WarmCalls(), WarmCalls()


def index_dtype(most: int) -> np.dtype[Any]:
    """Return the dtype for indices up to ``most``."""
    return _INT32 if most < 2**31 else _INT64


def numbers(count: int, beside: Any, device: Device) -> Any:
    """Return the numbers from 0 to ``count - 1``, in an array like ``beside``, which must not be empty."""
    key, given, run = _NUMBERS.find_into(count, (beside,), None, device)
    if run is not None:
        return run(given)
    operands = as_operands("numbers", (beside,), device)
    plan = find_plan(plan_numbers, operands, count, None, None)
    _NUMBERS.keep(key, plan, operands)
    return plan.run(operands, None)


def scatter(elements: Any, places: Any, into: Any, device: Device) -> Any:
    """Write each element to its place in a contiguous array, and return the array. Places below 0 are skipped.

    No two elements may have the same place.
    """
    key, given, run = _SCATTERS.find_into(None, (elements, places), into, device)
    if run is not None:
        return run(given)
    operands = as_operands("scatter", (elements, places), device)
    out = as_out(operands, into)
    plan = find_plan(_plan_scatter, operands, None, out, None)
    _SCATTERS.keep(key, plan, operands, out=out)
    return plan.run(operands, out)


@keeps_calls()
def plan_numbers(
    count: int,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a range of numbers: a map of the index, which reads one element of an array."""
    dtype = index_dtype(count)
    result = contiguous(dtype, (count,), alignment)
    still = forms[0]._replace(shape=(count,), strides=(0,))

    def spec(layout: Layout) -> KernelSpec:
        own = (dtype,)
        function = typed(_NUMBER, (still.dtype, _INT64), own)
        return KernelSpec(layout.accesses[:1], layout.accesses[1:], own, function, unchanged(own))

    return _plan(device, variant, (still,), result, result, (count,), spec, count)


@keeps_calls()
def _plan_scatter(
    request: None,
    forms: tuple[Form, ...],
    written: tuple[Form, ...],
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a scatter: a map with a place for each result."""
    elements, places = (form.dtype for form in forms)
    (target,), count = written, forms[0].shape[0]
    shape, (inputs, (along,)) = along_one_axis(forms, (target,))

    def spec(layout: Layout) -> KernelSpec:
        own = (target.dtype,)
        read = (elements, places)
        return KernelSpec(
            layout.accesses[:2],
            layout.accesses[2:],
            own,
            typed(_ELEMENT, (*read, _INT64), own),
            typed(_WRITTEN, (*own, _INT64, *read), own),
            typed(_PLACE, (*own, _INT64, *read), (_INT64,)),
        )

    return _plan(device, variant, inputs, along, target, shape, spec, count)


def _plan(
    device: Device,
    variant: str | Variant | None,
    inputs: Sequence[Form],
    target: Form,
    result: Form,
    shape: tuple[int, ...],
    spec: Callable[[Layout], KernelSpec],
    count: int,
) -> LaunchPlan:
    """Return the plan of a map of ``count`` elements."""

    def compiling(chosen: Variant) -> Launch:
        if not count:
            return nothing
        layout = plan_layout((*inputs, target), shape, (0,))
        groups = chosen.groups(-(-count // chosen.tile), device.capabilities)
        return device.kernel(chosen, spec(layout)).prepare(groups, layout.pack(0), count)

    traits = CallTraits((_INT64, target.dtype), 1, count, value_bytes=target.item, **MOVES)
    return LaunchPlan(device, "map", traits, (result,), compiling, asked=variant, inputs=range(len(inputs)))
