"""Reductions of segments: by a kernel that reads offsets, or by a scan that reads marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, result_forms, written_forms
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.errors import EmptyReductionError
from gpuprims.primitives.reduce.plan import ReduceRequest
from gpuprims.primitives.rows import power_of_two
from gpuprims.primitives.segments.marks import Segments, flat_size
from gpuprims.primitives.segments.plan import (
    MarkedRequest,
    SegmentsRequest,
    plan_by_marks,
    plan_call,
    results_of_nothing,
    takes,
)


def reduce_segments(
    operands: Operands, out: Out | None, offsets: Any, request: ReduceRequest, variant: str | Variant | None
) -> Any:
    """Fold each segment by itself."""
    op = request.operator
    segments = Segments(offsets, operands, flat_size(operands))
    if not op.of_nothing and segments.has_empty:
        raise EmptyReductionError(f"reduce with {op.name}: at least one element a segment; got an empty segment")
    dtypes = tuple(np.dtype(native.dtype) for native in operands.natives)
    longest = power_of_two(max(segments.longest, 1))  # a power of two, so that few plans differ
    own = SegmentsRequest(op, request.map, request.dtype, segments.size, longest)
    with operands.settled():
        if takes(own, dtypes, segments.count, operands.device, variant, REGISTRY.generation):
            beside = operands.beside(segments.kept(apart=out is not None))
            return find_plan(plan_call, beside, own, out, variant).run(beside, out)
        marked = MarkedRequest(op, request.map, request.dtype, segments.count)
        beside = operands.beside(segments.heads(), segments.ends())
        plan = find_plan(plan_by_marks, beside, marked, out, variant)
        if segments.has_empty:
            plan = _after_filling(plan, segments, beside, out, results_of_nothing(marked, dtypes))
        return plan.run(beside, out)


def _after_filling(
    plan: LaunchPlan, segments: Segments, operands: Operands, out: Out | None, nothing: Sequence[Any]
) -> LaunchPlan:
    """Return a plan that first writes the results of an empty segment everywhere."""
    written = result_forms("reduce", plan.results, written_forms(operands, out))
    first = len(operands.natives)

    def fill(memories: Sequence[Any]) -> None:
        for form, memory, value in zip(written, memories[first:], nothing, strict=False):
            segments.fill(form, memory, value)

    return plan.after(fill)
