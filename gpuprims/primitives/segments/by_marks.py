"""The launch plan of a reduction of segments by a scan that reads marks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form
from gpuprims.core.outputs import Result, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.expressions import Expr
from gpuprims.operators import Folding, Op
from gpuprims.primitives.prefix import ScanPlanner
from gpuprims.primitives.segments.marks import along_one_axis, end_dtype
from gpuprims.primitives.segments.operator import at_ends, segmented


class MarkedRequest(NamedTuple):
    """How to fold so many segments of any arrays."""

    op: Op
    map: str | Expr | None
    dtype: np.dtype[Any] | None
    segments: int


@keeps_calls()
def plan_by_marks(
    request: MarkedRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything but the memory; the last two arrays mark where segments begin and end."""
    arrays = tuple(form.dtype for form in forms)
    folding, _ = _folding(request, arrays[:-2])
    results = tuple(Result((request.segments,), output) for output in folding.outputs)
    fitting = result_forms("reduce", results, written, alignment)
    folding, place = at_ends(folding, arrays)
    size = forms[-1].shape[0]
    shape, (inputs, targets) = along_one_axis(forms, fitting)
    planner = ScanPlanner(
        device, inputs, targets, folding, shape, (0,), commutative=False, inclusive=True, place=place, count=size
    )
    return planner.plan(variant, results)


def results_of_nothing(request: MarkedRequest, dtypes: tuple[np.dtype[Any], ...]) -> tuple[Any, ...]:
    """Return the results of an empty segment."""
    return _folding(request, dtypes)[1]


def _folding(request: MarkedRequest, dtypes: tuple[np.dtype[Any], ...]) -> tuple[Folding, tuple[Any, ...]]:
    marks = np.dtype(np.bool_), end_dtype(request.segments)
    return segmented(request.op, request.map, dtypes, marks, request.dtype, "reduce")
