"""Plans of calls on segments: the offsets are checked once, and the plan keeps a copy of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out
from gpuprims.core.planned import Planned
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.segments.checked import check, takes_offsets
from gpuprims.primitives.segments.offsets import Segments

# From segments and a request to the operands and the plan of a call by marks.
ByMarks = Callable[[Segments, Any], tuple[Operands, LaunchPlan]]


def own_segments(offsets: Any, operands: Operands) -> Segments:
    """Return the segments of a plan, with a copy of the offsets that nobody else can write to."""
    given = as_operands(operands.label, (offsets,), operands.device)
    (array,) = given.natives
    if not isinstance(array, np.ndarray):  # pyopencl only reads contiguous arrays
        array = given.driver.to_host(map_arrays("x", array, device=given.device))
    return Segments(np.array(array, order="C"), operands)


def plan_segments(
    name: str,
    by_offsets: tuple[str, Callable[..., LaunchPlan]],
    by_marks: ByMarks,
    segments: Segments,
    request: Any,  # a SegmentsCall
    operands: Operands,
    out: Out | None,
    variant: str | Variant | None,
    *,
    in_place: bool = False,
) -> Planned:
    """Describe a call: by a kernel of a primitive that reads offsets, or by a scan that reads marks."""
    check(segments, request)
    dtypes = tuple([native.dtype for native in operands.natives])
    primitive, plan_call = by_offsets
    if takes_offsets(primitive, request, dtypes, segments.size, operands.device, variant, REGISTRY.generation):
        beside = segments.beside(apart=False)
        plan = find_plan(plan_call, beside, request, out, variant)
    else:
        beside, plan = by_marks(segments, request)
    if not operands.in_place:
        operands.device.synchronize()  # calls of the plan may run in another stream
    return Planned(name, beside, out, plan, in_place, len(beside.natives) - len(operands.natives))


def filling(segments: Segments, plan: LaunchPlan, written: Sequence[Any], values: Sequence[Any], first: int) -> Any:
    """Return a plan that first fills results, whose memories begin at number ``first``, with values."""

    def fill(memories: Sequence[Any]) -> None:
        for form, memory, value in zip(written, memories[first:], values, strict=False):
            segments.fill(form, memory, value)

    return plan.after(fill)
