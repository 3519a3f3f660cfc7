"""Launch plans of reductions of segments: by a kernel that reads offsets, or by a scan that reads marks."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import LaunchPlan, Sample, asks_for, nothing, with_counters
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.outputs import result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.expressions import Expr, TypedExpr, trace, typed
from gpuprims.operators import Folding, Op, as_map, find_op, make_folding
from gpuprims.primitives.fold import plan_scan
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.segments.marks import along_one_axis, end_dtype
from gpuprims.primitives.segments.operator import at_ends, segmented
from gpuprims.primitives.segments.spec import SegmentSpec

_INT64 = np.dtype(np.int64)


class SegmentsRequest(NamedTuple):
    """How to fold segments of ``size`` elements in all, at most ``longest`` in each."""

    op: Op
    map: str | Expr | None
    dtype: np.dtype[Any] | None
    size: int
    longest: int


@lru_cache(maxsize=1024)
def takes(
    request: SegmentsRequest,
    dtypes: tuple[np.dtype[Any], ...],
    count: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> bool:
    """Return True if :func:`plan_call` has a kernel for ``count`` segments, or the requested one."""
    if variant is not None:
        return asks_for("segments", device.backend, variant)
    return device.explain("segments", _traits(request, dtypes, count)).chosen is not None


@keeps_calls()
def plan_call(
    request: SegmentsRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything but the memory; the last array is the offsets."""
    last, count, size = len(forms) - 1, forms[-1].shape[0] - 1, request.size
    arrays = tuple(form.dtype for form in forms[:-1])
    folding = _folding(request, arrays)
    results = [contiguous(output, (count,), alignment) for output in folding.outputs]
    targets = result_forms("reduce", results, written)

    def compiling(variant: Variant) -> Launch:
        chosen = FoldVariant.of(variant)
        if not count:
            return nothing
        # Segments lie along the first axis, elements along the second. Layouts keep no stride for an axis of length 1.
        shape = max(count, 2), max(size, 2)
        inputs = [form._replace(shape=shape[1:]) if form.shape else form for form in forms[:-1]]
        each = [form._replace(shape=(shape[0], 1), strides=(*form.strides, 0)) for form in (forms[-1], *targets)]
        layout = plan_layout((*inputs, *each), shape, (1,))
        accesses = layout.accesses
        spec = SegmentSpec(
            inputs=accesses[: last + 1],
            outputs=accesses[last + 1 :],
            values=folding.values,
            map=_beside_offsets(folding, arrays),
            finish=folding.finish,
            op=folding.op,
            identity=folding.identity,
            commutative=request.op.commutative,
        )
        parts = chosen.groups(-(-(size + count) // chosen.tile), device.capabilities)
        launch = device.kernel(chosen, spec).prepare(parts, layout.pack(0), count, size, parts)
        # If parts share segments, each stores partial results of its first and its last segment.
        scratch = 2 * parts * 4 * value_words(folding.values) if chosen.shares_outputs else 0
        return with_counters(device, launch, 1, scratch)

    # Empty arrays have no memory, so kernels get the offsets instead and read no elements.
    inputs = range(last + 1) if size else [last] * (last + 1)
    traits = _traits(request, arrays, count)
    return LaunchPlan(device, "segments", traits, results, compiling, asked=variant, inputs=inputs)


class MarkedRequest(NamedTuple):
    """How to fold a number of segments of any arrays."""

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
    folding, _ = _marked_folding(request, arrays[:-2])
    results = [contiguous(output, (request.segments,), alignment) for output in folding.outputs]
    folding, place = at_ends(folding, arrays)
    size = forms[-1].shape[0]
    shape, (inputs, targets) = along_one_axis(forms, result_forms("reduce", results, written))
    what = device, inputs, targets, results, folding, shape, (0,), variant
    return plan_scan(*what, commutative=False, inclusive=True, place=place, count=size)


def results_of_nothing(request: MarkedRequest, dtypes: tuple[np.dtype[Any], ...]) -> tuple[Any, ...]:
    """Return the results of an empty segment."""
    return _marked_folding(request, dtypes)[1]


@keeps_calls()
def _marked_folding(request: MarkedRequest, dtypes: tuple[np.dtype[Any], ...]) -> tuple[Folding, tuple[Any, ...]]:
    marks = np.dtype(np.bool_), end_dtype(request.segments)
    return segmented(request.op, request.map, dtypes, marks, request.dtype, "reduce")


def sample(call: Sample) -> LaunchPlan:
    """Return the plan for segments of one length, with the plan of a scan for devices without such kernels."""
    op, count, size = find_op("sum"), call.outputs, call.size * call.outputs
    form, offsets = contiguous(call.dtype, (size,), 16), contiguous(_INT64, (count + 1,), 16)
    marks = [contiguous(dtype, (size,), 16) for dtype in (np.dtype(np.bool_), end_dtype(count))]
    request, marked = SegmentsRequest(op, None, None, size, call.size), MarkedRequest(op, None, None, count)
    plan = copy(plan_call(request, (form, offsets), None, 16, call.device, None, 0))
    plan.otherwise = plan_by_marks(marked, (form, *marks), None, 16, call.device, None, 0)
    return plan


def _traits(request: SegmentsRequest, dtypes: tuple[np.dtype[Any], ...], count: int) -> CallTraits:
    folding = _folding(request, dtypes)
    return CallTraits(
        dtypes=folding.computed_in,
        size=request.longest,
        outputs=count,
        commutative=request.op.commutative,
        value_bytes=value_bytes(folding.values),
    )


def _folding(request: SegmentsRequest, dtypes: tuple[np.dtype[Any], ...]) -> Folding:
    return make_folding(request.op, as_map("reduce", request.map, len(dtypes)), dtypes, request.dtype)


def _beside_offsets(folding: Folding, arrays: tuple[np.dtype[Any], ...]) -> TypedExpr:
    """Return a folding's map with one further argument, an offset after the elements, which it ignores."""
    n = len(arrays)
    return typed(trace(lambda *given: folding.map(*given[:n], given[-1]), n + 2), (*arrays, _INT64, _INT64))
