"""The launch plan of a scan."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.by_numpy import Few
from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags
from gpuprims.core.launch_plan import LaunchPlan, Sample, find_plan
from gpuprims.core.layout import Form, contiguous, turned
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms
from gpuprims.core.planned import Planned
from gpuprims.core.plans import planned_call
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, AxisError, quoted
from gpuprims.expressions import Expr, computable, expression
from gpuprims.operators import (
    Folding,
    Initial,
    Op,
    altered,
    as_initial,
    as_map,
    as_op,
    carried,
    counting,
    counting_down,
    find_op,
    make_folding,
    masked_map,
    unfinished,
)
from gpuprims.operators.exact_windows import Window
from gpuprims.primitives.axes import axes_of, flipped, in_fortran_order
from gpuprims.primitives.fold import plan_fold, plan_scan, sample_rows
from gpuprims.primitives.fold_by_numpy import scans_by_numpy
from gpuprims.primitives.guessed import guessing
from gpuprims.primitives.levels import at_level
from gpuprims.primitives.masking import check_mask, refuse_function
from gpuprims.primitives.segments.checked import Keep, run_by_offsets, takes_offsets
from gpuprims.primitives.segments.offsets import Segments, across_rows
from gpuprims.primitives.segments.operator import placed, segmented
from gpuprims.primitives.segments.planned import own_segments, plan_segments
from gpuprims.primitives.segscan.plan import SegmentedScanRequest, plan_segscan
from gpuprims.primitives.texts import refuse_text
from gpuprims.primitives.windowed import in_window

INT64 = np.dtype(np.int64)
_FEW = Few(near=2**15, woken=2**16)  # rows: by_numpy


class ScanRequest(NamedTuple):
    """How to scan any arrays: the keywords of :func:`gpuprims.scan`, checked."""

    op: str | Op = "sum"
    map: str | Expr | None = None
    inclusive: bool = True
    axis: int | None = None
    dtype: np.dtype[Any] | None = None
    marked: bool = False  # the last array is True where a segment begins
    carried: int = 0  # the last arrays: the index of the first element, and the value of all before it
    initial: Initial | None = None
    reverse: bool = False
    last: int | None = None  # the index of the first element, if indices count down
    where: bool = False  # the last array of the caller's is a mask, and the map passes it
    window: Window | None = None  # of the bits of all elements, if they are known

    @property
    def operator(self) -> Op:
        """The operator; raises if the first result of an exclusive scan would have no value."""
        operator = find_op(self.op)
        if not self.inclusive and not operator.of_nothing and operator.finish:
            rule = "inclusive=True, because no elements have no result"
            raise ArgumentError(f"scan with {operator.name}: {rule}; got inclusive=False")
        return altered("scan", operator, where=self.where, initial=self.initial)


def bind(
    arrays: tuple[Any, ...],
    op: str | Op | Callable[..., Any] = "sum",
    map: Any = None,  # noqa: A002 - as scan
    inclusive: bool = True,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    where: Any = None,
    initial: Any = None,
    reverse: bool = False,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, ScanRequest, Out | None, str | Variant | None]:
    """Find the device of a call, and check its keywords, so that its plan can be looked up."""
    if not arrays:
        raise ArgumentError("scan: at least one array; got none")
    if str in [type(array) for array in arrays]:
        refuse_text("scan", arrays)
    if type(op) is not str:
        op = as_op(op)
    mapped = map if map is None or type(map) is str else expression(map, len(arrays))
    refuse_function("scan", where)
    operands = as_operands("scan", arrays if where is None else (*arrays, where), device, stored=True)
    if where is not None:
        mapped = masked_map("scan", mapped, len(arrays))
        check_mask(operands)
    result = None if out is None else as_out(operands, out, in_place=True)
    chosen = None if dtype is None else computable(dtype, "scan", stored=True)
    if axis is not None and type(axis) is not int:
        if not isinstance(axis, np.integer):
            raise AxisError(f"axis: an int; got {quoted(axis)} (a scan goes along one axis)")
        axis = int(axis)
    asked = None if variant is None else asked_by_name("scan", variant)
    check_flags("scan", inclusive=inclusive, reverse=reverse)
    begins = None if initial is None else as_initial("scan", find_op(op), initial)
    request = ScanRequest(op, mapped, bool(inclusive), axis, chosen, initial=begins, reverse=bool(reverse))
    request = request if where is None else request._replace(where=True)
    return operands, request, result, asked


def bind_cumulative(
    op: str,
    arrays: tuple[Any, ...],
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, ScanRequest, Out | None, str | Variant | None]:
    """Bind a call of ``cumsum`` or ``cumprod``."""
    return bind(arrays, op, axis=axis, dtype=dtype, out=out, device=device, variant=variant)


@keeps_calls()
def plan_call(
    request: ScanRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a scan but its memory."""
    how = forms, written, alignment, device, variant, generation
    operator, axis, inclusive, place = request.operator, request.axis, request.inclusive, None
    shape = broadcast_shapes("scan", [form.shape for form in forms]) or (1,)
    axes = axes_of(axis, len(shape))
    arrays = tuple(form.dtype for form in forms)
    own = len(forms) - request.marked - request.carried
    if request.carried:
        folding = carrying(request, arrays)
    elif request.marked:
        marks = (np.dtype(np.bool_),)
        plain = make_folding(operator, as_map("scan", request.map, own), arrays[:own], request.dtype, "scan")
        folding, nothing = segmented(at_level(plain, request.window), arrays[:own], marks)
        if not inclusive:  # the first element of a segment has nothing before it
            folding, place = placed(folding, arrays, lambda index, begins: index, nothing)
    else:
        mapped = as_map("scan", request.map, len(forms))
        plain = make_folding(operator, mapped, arrays, request.dtype, "scan")
        folding = at_level(plain, request.window)
        if request.last is not None:
            folding = counting_down(folding, arrays, request.last)
    flat = (math.prod(shape),)
    results = [contiguous(output, flat if axis is None else shape, alignment) for output in folding.outputs]
    if axis is not None and in_fortran_order(forms, shape):
        results = [turned(result) for result in results]
    targets = result_forms("scan", results, written)
    if axis is None:
        targets = [_as_shaped(form, shape) for form in targets]
    if request.reverse:
        folding = counting_down(folding, arrays, math.prod(shape[one] for one in axes) - 1)
        forms, targets = (tuple(flipped(form, len(shape), axes) for form in some) for some in (forms, targets))
    what = device, forms, targets, results, folding, shape, axes, variant
    commutative = operator.commutative and not request.marked
    grouped = operator.commutative and request.marked
    plan = plan_scan(*what, commutative=commutative, inclusive=inclusive, place=place, grouped=grouped)
    if request == ScanRequest(request.op, inclusive=inclusive, axis=axis, dtype=request.dtype):
        plan.by_numpy = scans_by_numpy(device, _FEW, request.op, forms[0], axis, inclusive, folding.outputs[0])
    if request.carried:
        return plan
    plan = in_window(plan, plain, forms[:own], plan_call, request, *how, axes=axes)
    return plan if request.marked else guessing(plan, plain, forms, axes, reverse=request.reverse)


def carrying(request: ScanRequest, arrays: tuple[np.dtype[Any], ...]) -> Folding:
    """Return the folding of a slab, which counts if results need the number of elements so far."""
    arrays = arrays[: len(arrays) - request.carried]
    mapped = as_map("scan", request.map, len(arrays))
    folding = at_level(make_folding(request.operator, mapped, arrays, request.dtype, "scan"))
    if request.last is not None:
        folding = counting_down(folding, arrays, request.last)
    if folding.counts:
        folding = counting(folding, arrays)
    return carried(folding, arrays) if request.carried else folding


@keeps_calls()
def plan_totals(
    request: ScanRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about the fold of a slab to the value that the next slab goes on from."""
    shape = broadcast_shapes("scan", [form.shape for form in forms])
    axes = axes_of(request.axis, len(shape))
    folding = unfinished(carrying(request, tuple(form.dtype for form in forms)))
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    targets = [contiguous(dtype, kept, alignment) for dtype in folding.outputs]
    commutative = request.operator.commutative
    return plan_fold(device, forms, targets, folding, shape, axes, variant, commutative=commutative)


def scan_segments(
    operands: Operands,
    out: Out | None,
    offsets: Any,
    request: ScanRequest,
    variant: str | Variant | None,
    keep: Keep | None = None,
) -> Any:
    """Scan each segment by itself."""
    op = request.operator  # raises before the offsets are read
    segments = Segments(offsets, operands)
    own = SegmentedScanRequest(op, request.map, request.inclusive, request.dtype, segments.count)
    dtypes = tuple([native.dtype for native in operands.natives])
    with operands.settled() if operands.in_place else nullcontext():
        if takes_offsets("segscan", own, dtypes, segments.size, operands.device, variant, REGISTRY.generation):
            return run_by_offsets(plan_segscan, segments, own, out, variant, keep)
        segments.check()
        beside = operands.beside(segments.heads())
        return find_plan(plan_call, beside, request._replace(marked=True), out, variant).run(beside, out)


def scan_across(bound: Callable[[], tuple[Operands, ScanRequest, Any, Any]], segments: Segments, axis: int) -> Any:
    """Scan segments along an axis between whose elements others lie, by marks that broadcast."""
    operands, request, _, _ = bound()
    with operands.settled() if operands.in_place else nullcontext():
        beside = operands.beside(across_rows(operands, segments.heads(), axis))
        marked = request._replace(marked=True, axis=axis)
        return find_plan(plan_call, beside, marked, None, None).run(beside, None)


def planned(arrays: tuple[Any, ...], keywords: dict[str, Any]) -> Planned:
    """Describe a call for :func:`gpuprims.plan`; ``segments=`` are the plan's own."""
    keywords = dict(keywords)
    if (offsets := keywords.pop("segments", None)) is None:
        return planned_call("scan", arrays, keywords)
    operands, request, out, variant = bind(arrays, **keywords)
    refuse_reverse(request.reverse)
    op = request.operator
    segments = own_segments(offsets, operands)
    own = SegmentedScanRequest(op, request.map, request.inclusive, request.dtype, segments.count)

    def by_marks(segments: Segments, own: Any) -> tuple[Operands, LaunchPlan]:
        beside = operands.beside(segments.heads())
        return beside, find_plan(plan_call, beside, request._replace(marked=True), out, variant)

    by_offsets = "segscan", plan_segscan
    return plan_segments("scan", by_offsets, by_marks, segments, own, operands, out, variant, in_place=True)


def refuse_reverse(reverse: Any) -> None:
    """Raise for a keyword that ``segments=`` does not take."""
    if reverse:
        hint = "scan x[::-1] by segments=len(x) - offsets[::-1]"
        raise ArgumentError(f"scan: no reverse= with segments=; got reverse={quoted(reverse)} ({hint})")


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a sample call."""
    operator = find_op(call.op)
    form, axis = sample_rows(call)
    return plan_call(ScanRequest(operator, axis=axis), (form,) * operator.elements, None, 16, call.device, None, 0)


def _as_shaped(flat: Form, shape: tuple[int, ...]) -> Form:
    """Return the form of a flat array as an array of a shape, in C order."""
    (stride,) = flat.strides
    steps = contiguous(np.dtype(np.int8), shape, 1).strides
    return flat._replace(shape=shape, strides=tuple(step * stride for step in steps))
