"""Launch plans of reductions of segments: by a kernel that reads offsets, or by a scan that reads marks."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.faults import KnownArrays
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.outputs import result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.core.variant import Variant
from gpuprims.expressions import Expr
from gpuprims.operators import Folding, Op, as_map, find_op, make_folding
from gpuprims.operators.exact_windows import Window
from gpuprims.primitives.fold import plan_scan
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.levels import at_level
from gpuprims.primitives.near import groups_near
from gpuprims.primitives.segments.by_numpy import segments_by_numpy
from gpuprims.primitives.segments.checked import CheckingVariant, by_offsets
from gpuprims.primitives.segments.fixed_tiles import FixedTilesVariant, launch_fixed_tiles
from gpuprims.primitives.segments.offsets import along_one_axis, end_dtype
from gpuprims.primitives.segments.operator import placed, segmented
from gpuprims.primitives.segments.shares import launch_shares
from gpuprims.primitives.segments.spec import FixedRunsSpec, RunsSpec
from gpuprims.primitives.windowed import in_window

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)


class SegmentsRequest(NamedTuple):
    """How to fold a number of segments."""

    op: Op
    map: str | Expr | None
    dtype: np.dtype[Any] | None
    segments: int
    axis: int = 0
    window: Window | None = None  # that holds the bits of all elements, if it is known

    def plain(self, dtypes: tuple[np.dtype[Any], ...]) -> Folding:
        """See :class:`SegmentsCall`."""
        return make_folding(self.op, as_map("reduce", self.map, len(dtypes)), dtypes, self.dtype)

    @property
    def of_nothing(self) -> bool:
        """See :class:`SegmentsCall`."""
        return self.op.of_nothing


@keeps_calls()
def plan_by_offsets(
    request: SegmentsRequest,
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
    results = [contiguous(output, (count,), alignment) for output in folding.outputs]
    targets = result_forms("reduce", results, written)

    known = KnownArrays()  # offsets that passed the check of an earlier call

    def compiling(variant: Variant) -> Launch:
        chosen = FoldVariant.of(variant)
        if not count:
            return nothing
        # Segments lie along the first axis, elements along the second. Layouts keep no stride for an axis of length 1.
        shape = max(count, 2), max(size, 2)
        inputs = [form._replace(shape=shape[1:]) if form.shape else form for form in own]
        each = [form._replace(shape=(shape[0], 1), strides=(*form.strides, 0)) for form in (offsets, *targets)]
        layout = plan_layout((*inputs, *each), shape, (1,))
        if isinstance(chosen, CheckingVariant):
            how = {"map": map_, "commutative": request.op.commutative, "of_nothing": request.of_nothing}
            launch = launch_fixed_tiles if isinstance(chosen, FixedTilesVariant) else launch_shares
            return launch(chosen, device, folding, layout, "reduce", count, size, known, **how)
        kind = FixedRunsSpec if chosen.folds == "fixed tiles" else RunsSpec
        spec = kind.of(folding, layout, map=map_, commutative=request.op.commutative, better=folding.better)
        read = sum([form.item for form in own if form.shape]) * size
        parts = chosen.groups(-(-(size + count) // chosen.tile), device.capabilities)
        groups = groups_near(parts, read, folding.map, folding.op)
        runs = device.kernel(chosen, spec).prepare(groups, layout.pack(0), count, size, parts)
        # Each part leaves values of its first and its last segment.
        return with_counters(device, runs, 1, 2 * parts * 4 * value_words(folding.values), one_kernel=True)

    # Empty arrays have no memory, so kernels get the offsets instead and read no elements.
    inputs = range(len(forms)) if size else [len(own)] * len(forms)
    by_numpy = segments_by_numpy(device, request.op, request.map, forms, folding.outputs[0])
    what = device, "segments", traits, results, compiling
    plan = LaunchPlan(*what, asked=variant, inputs=inputs, by_numpy=by_numpy)
    how = forms, written, alignment, device, variant, generation
    plain = request.plain(tuple(form.dtype for form in own))
    return in_window(plan, plain, own, plan_by_offsets, request, *how)


@keeps_calls()
def plan_by_marks(
    request: SegmentsRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything but the memory; the last two arrays mark where segments begin and end."""
    arrays = tuple(form.dtype for form in forms)
    folding, _ = marked_folding(request, arrays[:-2])
    axis, length = request.axis, forms[-1].shape[request.axis]
    lengths = list(broadcast_shapes("reduce", [form.shape for form in forms]))
    lengths[axis] = request.segments
    results = [contiguous(output, tuple(lengths), alignment) for output in folding.outputs]
    folding, place = placed(folding, arrays, lambda index, end: end.astype(np.int64) - 1)
    shape, (inputs, targets) = along_one_axis(forms, result_forms("reduce", results, written), axis=axis)
    what = device, inputs, targets, results, folding, shape, (axis,), variant
    how: dict[str, Any] = {"place": place, "count": length, "grouped": request.op.commutative}
    plan = plan_scan(*what, commutative=False, inclusive=True, **how)
    given = forms, written, alignment, device, variant, generation
    return in_window(plan, request.plain(arrays[:-2]), forms[:-2], plan_by_marks, request, *given, axes=(axis,))


@keeps_calls()
def marked_folding(request: SegmentsRequest, dtypes: tuple[np.dtype[Any], ...]) -> tuple[Folding, tuple[Any, ...]]:
    """Return the folding of :func:`plan_by_marks`, and the results of an empty segment."""
    marks = _BOOL, end_dtype(request.segments)
    return segmented(at_level(request.plain(dtypes), request.window), dtypes, marks)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan for segments of one length, with the plan of a scan for devices without such kernels."""
    count, size = call.outputs, call.size * call.outputs
    form, offsets = contiguous(call.dtype, (size,), 16), contiguous(_INT64, (count + 1,), 16)
    marks = [contiguous(dtype, (size,), 16) for dtype in (_BOOL, end_dtype(count))]
    request = SegmentsRequest(find_op("sum"), None, None, count)
    plan = copy(plan_by_offsets(request, (form, offsets), None, 16, call.device, None, 0))
    plan.otherwise = plan_by_marks(request, (form, *marks), None, 16, call.device, None, 0)
    return plan
