"""Scans of segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.primitives.fold import plan_scan
from gpuprims.primitives.scan.plan import ScanRequest
from gpuprims.primitives.segments.marks import Segments, flat_size
from gpuprims.primitives.segments.operator import segmented, starting_anew


def scan_segments(
    operands: Operands, out: Out | None, offsets: Any, request: ScanRequest, variant: str | Variant | None
) -> Any:
    """Scan each segment by itself."""
    request.operator  # noqa: B018 - raises before the offsets are read
    segments = Segments(offsets, operands, flat_size(operands))
    with operands.settled():
        beside = operands.beside(segments.heads())
        return find_plan(plan_by_marks, beside, request, out, variant).run(beside, out)


@keeps_calls()
def plan_by_marks(
    request: ScanRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a scan of segments but its memory; the last array marks where they begin."""
    arrays, shape = tuple(form.dtype for form in forms), (forms[-1].shape[0],)
    marks = (np.dtype(np.bool_),)
    folding, nothing = segmented(request.operator, request.map, arrays[:-1], marks, request.dtype, "scan")
    results = [contiguous(output, shape, alignment) for output in folding.outputs]
    place = None
    if not request.inclusive:  # the first element of a segment has nothing before it
        folding, place = starting_anew(folding, nothing, arrays)
    targets = result_forms("scan", results, written)
    what = device, forms, targets, results, folding, shape, (0,), variant
    return plan_scan(*what, commutative=False, inclusive=request.inclusive, place=place)
