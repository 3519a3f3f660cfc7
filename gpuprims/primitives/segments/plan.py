"""The launch plan of a reduction of segments by a kernel that reads their offsets."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.launch_plan import Compiled, LaunchPlan, Sample
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.outputs import Result, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.expressions import Expr, TypedExpr, trace, typed
from gpuprims.operators import Folding, Op, as_map, find_op, make_folding
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.primitives.segments.by_marks import MarkedRequest, plan_by_marks
from gpuprims.primitives.segments.marks import end_dtype
from gpuprims.primitives.segments.spec import SegmentSpec

_INT64 = np.dtype(np.int64)


class SegmentsRequest(NamedTuple):
    """How to fold segments of so many elements, the longest of up to ``longest``."""

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
    """Return whether :func:`plan_call` has a kernel for so many segments, or the one that is asked for."""
    if variant is not None:
        return REGISTRY.has("segments", device.backend, variant)
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
    """Decide everything but the memory; the last array has the offsets."""
    last, count, size = len(forms) - 1, forms[-1].shape[0] - 1, request.size
    arrays = tuple(form.dtype for form in forms[:-1])
    folding = _folding(request, arrays)
    results = tuple(Result((count,), output) for output in folding.outputs)
    targets = result_forms("reduce", results, written, alignment)

    def compiling(variant: Variant) -> Compiled:
        chosen = FoldVariant.of(variant)
        if not count:
            return Compiled()
        # Elements lie along one axis. Each segment has one offset, and one result. An axis of one element has no step.
        shape = max(count, 2), max(size, 2)
        inputs = [form._replace(shape=shape[1:]) if form.shape else form for form in forms[:-1]]
        each = [_down(form, shape[0]) for form in (forms[-1], *targets)]
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
        # Each part leaves its share of its first and of its last segment, if parts share segments.
        left = 2 * parts * 4 * value_words(folding.values) if chosen.shares_outputs else 0
        return Compiled(launch, 1, left)

    # Arrays without elements have no memory, so the offsets take their place; nothing reads them as elements.
    inputs = range(last + 1) if size else [last] * (last + 1)
    traits = _traits(request, arrays, count)
    return LaunchPlan(device, "segments", traits, results, compiling, asked=variant, inputs=inputs)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan for so many segments of one length, and that of a scan for devices without such kernels."""
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


def _down(form: Form, count: int) -> Form:
    """See an array as a column of so many elements."""
    return form._replace(shape=(count, 1), strides=(*form.strides, 0))


def _beside_offsets(folding: Folding, arrays: tuple[np.dtype[Any], ...]) -> TypedExpr:
    """Return the map of a folding that is given an offset after the elements, and has no use for it."""
    n = len(arrays)
    return typed(trace(lambda *given: folding.map(*given[:n], given[-1]), n + 2), (*arrays, _INT64, _INT64))
