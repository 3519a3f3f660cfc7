"""Launch plans of scans of segments by a kernel that reads offsets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.counters import with_scratch
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.faults import KnownArrays
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample, in_turn, nothing
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.outputs import result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.expressions import Expr
from gpuprims.operators import Folding, Op, as_map, counting, find_op, make_folding
from gpuprims.operators.exact_windows import Window
from gpuprims.primitives.segments.by_numpy import segment_sums_by_numpy
from gpuprims.primitives.segments.checked import by_offsets
from gpuprims.primitives.segments.shares import SharesVariant, launch_tails
from gpuprims.primitives.segments.spec import RunsScanSpec
from gpuprims.primitives.windowed import in_window

_INT64 = np.dtype(np.int64)


class SegmentedScanRequest(NamedTuple):
    """How to scan a number of segments."""

    op: Op
    map: str | Expr | None
    inclusive: bool
    dtype: np.dtype[Any] | None
    segments: int
    window: Window | None = None  # of the bits of all elements, if they are known

    def plain(self, dtypes: tuple[np.dtype[Any], ...]) -> Folding:
        """See :class:`SegmentsCall`."""
        folding = make_folding(self.op, as_map("scan", self.map, len(dtypes)), dtypes, self.dtype, "scan")
        return counting(folding, dtypes) if folding.counts else folding

    @property
    def of_nothing(self) -> bool:
        """See :class:`SegmentsCall`; an empty segment has no results."""
        return True


@keeps_calls()
def plan_segscan(
    request: SegmentedScanRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything but the memory; the last array has the offsets."""
    own, offsets, size, folding, traits, map_ = by_offsets(request, forms)
    count = request.segments
    results = [contiguous(output, (size,), alignment) for output in folding.outputs]
    targets = result_forms("scan", results, written)

    known = KnownArrays()  # offsets that a call found right

    def compiling(chosen: Variant) -> Launch:
        if not count or not size:
            return nothing
        shape = max(count, 2), max(size, 2)
        elements = [form._replace(shape=shape[1:]) if form.shape else form for form in (*own, *targets)]
        each = offsets._replace(shape=(shape[0], 1), strides=(*offsets.strides, 0))
        layout = plan_layout((*elements[: len(own)], each, *elements[len(own) :]), shape, (1,))
        how = {"map": map_, "commutative": request.op.commutative}
        how["inclusive"] = request.inclusive
        if isinstance(chosen, SharesVariant):
            how["of_nothing"] = request.of_nothing
            return launch_tails(chosen, device, folding, layout, "scan", count, size, known, **how)
        spec = RunsScanSpec.of(folding, layout, **how)
        parts = chosen.groups(-(-(size + count) // chosen.tile), device.capabilities)
        kernel, packed = device.kernel(chosen, spec), layout.pack(0)
        launches = [kernel.prepare(parts, packed, count, size, parts, step) for step in range(parts == 1, 2)]
        return with_scratch(device, in_turn(launches), parts * 4 * value_words(folding.values))

    by_numpy = segment_sums_by_numpy(request.op, request.map, request.inclusive, forms, folding.outputs[0])
    what = device, "segscan", traits, results, compiling
    plan = LaunchPlan(*what, asked=variant, inputs=range(len(forms)), by_numpy=by_numpy)
    how = forms, written, alignment, device, variant, generation
    plain = request.plain(tuple(form.dtype for form in own))
    return in_window(plan, plain, own, plan_segscan, request, *how)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan for segments of one length."""
    count, size = call.outputs, call.size * call.outputs
    form, offsets = contiguous(call.dtype, (size,), 16), contiguous(_INT64, (count + 1,), 16)
    request = SegmentedScanRequest(find_op("sum"), None, True, None, count)
    return plan_segscan(request, (form, offsets), None, 16, call.device, None, 0)
