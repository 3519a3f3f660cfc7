"""The launch plan of a reduce."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.by_numpy import Few
from gpuprims.core.determinism import asks_for_device, refuse_levels
from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags
from gpuprims.core.launch_plan import LaunchPlan, Sample, find_plan
from gpuprims.core.layout import Form, contiguous, turned
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, host_results, result_forms, written_forms
from gpuprims.core.planned import Planned
from gpuprims.core.plans import planned_call
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, EmptyReductionError, quoted
from gpuprims.expressions import Expr, computable, expression
from gpuprims.operators import (
    Folding,
    Initial,
    Op,
    altered,
    as_ddof,
    as_initial,
    as_map,
    as_op,
    find_op,
    make_folding,
    make_stages,
    masked_map,
)
from gpuprims.operators.dtypes import FLOAT64
from gpuprims.operators.exact_windows import Window
from gpuprims.operators.portable import rounds
from gpuprims.primitives.axes import as_axis, folded_axes, in_fortran_order
from gpuprims.primitives.fold import plan_fold, sample_rows
from gpuprims.primitives.fold_by_numpy import folds_by_numpy
from gpuprims.primitives.levels import IN_SLABS, at_level
from gpuprims.primitives.masking import check_mask, refuse_function
from gpuprims.primitives.products_by_numpy import products_by_numpy
from gpuprims.primitives.reduce.alone import plan_alone
from gpuprims.primitives.segments.checked import Keep, check, run_by_offsets, takes_offsets
from gpuprims.primitives.segments.offsets import Segments, across_rows
from gpuprims.primitives.segments.plan import SegmentsRequest, marked_folding, plan_by_marks, plan_by_offsets
from gpuprims.primitives.segments.planned import filling, own_segments, plan_segments
from gpuprims.primitives.slabs import FoldSlabs, slab_bytes
from gpuprims.primitives.texts import refuse_text
from gpuprims.primitives.windowed import in_window

_FEW = Few(near=2**15, woken=2**16)  # rows: by_numpy
# Elements of a result from which on kernels of exact sums take less time than a search for the window of all elements;
# of float64 on CPUs; and on GPUs, of as many results as give each multiprocessor several, and of float64.
_FEW_EXACT, _FEW_WIDE_EXACT = 256, 2**17  # rows: windows
_MANY, _FEW_OF_MANY, _FEW_WIDE_OF_MANY = 1024, 2048, 4096  # rows: windows-gpu


class ReduceRequest(NamedTuple):
    """How to fold any arrays: the keywords of :func:`gpuprims.reduce`, checked."""

    op: str | Op = "sum"
    map: str | Expr | None = None
    axis: int | tuple[int, ...] | None = None
    keepdims: bool = False
    dtype: np.dtype[Any] | None = None
    ddof: float = 0
    compensated: bool = False
    where: bool = False  # the last array is a mask, and the map passes it
    initial: Initial | None = None
    window: Window | None = None  # of the bits of all elements, if they are known

    @property
    def operator(self) -> Op:
        """The operator, with what the keywords change about it."""
        op = find_op(self.op, ddof=self.ddof, compensated=self.compensated)
        return altered("reduce", op, where=self.where, initial=self.initial)


def bind(
    arrays: tuple[Any, ...],
    op: str | Op | Callable[..., Any] = "sum",
    map: Any = None,  # noqa: A002 - as reduce
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    compensated: bool = False,
    where: Any = None,
    initial: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, ReduceRequest, Out | None, str | Variant | None]:
    """Find the device of a call, and check its keywords, so that its plan can be looked up."""
    if not arrays:
        raise ArgumentError("reduce: at least one array; got none")
    if str in [type(array) for array in arrays]:
        refuse_text("reduce", arrays)
    if not type(keepdims) is type(compensated) is bool:
        check_flags("reduce", keepdims=keepdims, compensated=compensated)
    if type(op) is not str:
        op = as_op(op)
    if type(ddof) is not int:
        ddof = as_ddof(ddof)
    mapped = map if map is None or type(map) is str else expression(map, len(arrays))
    refuse_function("reduce", where)
    operands = as_operands("reduce", arrays if where is None else (*arrays, where), device, stored=True)
    if where is not None:
        mapped = masked_map("reduce", mapped, len(arrays))
        check_mask(operands)
    result = None if out is None else as_out(operands, out)
    chosen = None if dtype is None else computable(dtype, "reduce", stored=True)
    along = axis if axis is None or type(axis) is int else as_axis(axis)
    asked = None if variant is None else asked_by_name("reduce", variant)
    begins = None if initial is None else as_initial("reduce", find_op(op), initial)
    how = op, mapped, along, keepdims, chosen, ddof, compensated, where is not None, begins
    return operands, ReduceRequest(*how), result, asked


def bind_count_nonzero(
    arrays: tuple[Any, ...],
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    out: Any = None,
    device: str | Device | None = None,
) -> tuple[Operands, ReduceRequest, Out | None, str | Variant | None]:
    """Bind a call of ``count_nonzero``."""
    return bind(arrays, "count_nonzero", None, axis, keepdims, out=out, device=device)


@keeps_calls()
def plan_call(
    request: ReduceRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a reduce but its memory."""
    operator, keepdims = request.operator, request.keepdims
    shape = broadcast_shapes("reduce", [form.shape for form in forms])
    axes = folded_axes(request.axis, len(shape))
    function = as_map("reduce", request.map, len(forms))
    plain = make_folding(operator, function, tuple(form.dtype for form in forms), request.dtype)
    folding = plain if request.window is None else at_level(plain, request.window)
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape) if keepdims or k not in axes)
    results = [contiguous(output, kept, alignment) for output in folding.outputs]
    if in_fortran_order(forms, shape):
        results = [turned(result) for result in results]
    if math.prod(kept) and not math.prod(shape) and not operator.of_nothing:
        raise EmptyReductionError(f"reduce with {operator.name}: at least one element to fold; got shape {shape}")
    targets = result_forms("reduce", results, written)
    alone = variant is None and math.prod(kept) > 1 and all(shape[axis] == 1 for axis in axes)
    if alone and not asks_for_device():
        gone = () if keepdims else axes
        return plan_alone(folding, forms, written, len(shape), gone, alignment, device, generation)
    plan = plan_fold(device, forms, targets, folding, shape, axes, variant, commutative=operator.commutative)
    if request == ReduceRequest(request.op, request.map, request.axis, keepdims, request.dtype):
        result = folding.outputs[0]
        if request.map is None:
            plan.by_numpy = folds_by_numpy(device, _FEW, request.op, forms[0], axes, keepdims, result)
        elif request.op == "sum":
            plan.by_numpy = products_by_numpy(device, folding.map, forms, axes, keepdims, result)
    if variant is None and _pays_in_window(device, plain, plan.traits):
        how = forms, written, alignment, device, variant, generation
        return in_window(plan, plain, forms, plan_call, request, *how, axes=axes)
    return plan


def _pays_in_window(device: Device, folding: Folding, call: CallTraits) -> bool:
    """Return True if kernels of exact sums take longer than a search for the window of all elements."""
    wide = folding.values == (FLOAT64,)
    if device.capabilities.kind == "cpu":
        return call.size < (_FEW_WIDE_EXACT if wide else _FEW_EXACT)
    if call.side_by_side:  # such kernels read these one after the other
        return True
    if call.outputs < _MANY:
        return call.size < _FEW_EXACT
    return call.size < (_FEW_WIDE_OF_MANY if wide else _FEW_OF_MANY)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a sample call."""
    operator = find_op(call.op)
    form, axis = sample_rows(call)
    return plan_call(ReduceRequest(operator, axis=axis), (form,) * operator.elements, None, 16, call.device, None, 0)


def run_in_slabs(request: ReduceRequest, operands: Operands, out: Out | None, variant: str | Variant | None) -> Any:
    """Fold host arrays that the device has no room for, slab by slab."""
    operator = request.operator
    shape = broadcast_shapes("reduce", [native.shape for native in operands.natives])
    axes = folded_axes(request.axis, len(shape))
    function = as_map("reduce", request.map, len(operands.natives))
    dtypes = tuple(a.dtype for a in operands.natives)
    whole = at_level(make_folding(operator, function, dtypes, request.dtype))
    if rounds(whole):
        refuse_levels("reduce", "folds of arrays larger than the device's memory", instead=IN_SLABS)
    stages = make_stages(whole, dtypes)
    slabs = FoldSlabs(operands.device, stages, axes, variant, operator.commutative, slab_bytes(operands.device))
    results = slabs.run([np.broadcast_to(native, shape) for native in operands.natives])
    shaped = results if request.keepdims else [result.squeeze(axes) for result in results]
    return host_results(operands, shaped, out, single=len(shaped) == 1)


def reduce_segments(
    operands: Operands,
    out: Out | None,
    offsets: Any,
    request: ReduceRequest,
    variant: str | Variant | None,
    keep: Keep | None = None,
) -> Any:
    """Fold each segment by itself: by a kernel that reads offsets, or by a scan that reads marks."""
    op, device = request.operator, operands.device
    segments = Segments(offsets, operands)
    own = SegmentsRequest(op, request.map, request.dtype, segments.count)
    dtypes = tuple([native.dtype for native in operands.natives])
    with operands.settled() if operands.in_place else nullcontext():
        if takes_offsets("segments", own, dtypes, segments.size, device, variant, REGISTRY.generation):
            return run_by_offsets(plan_by_offsets, segments, own, out, variant, keep)
        check(segments, own)
        beside, plan = _by_marks(operands, segments, own, out, variant)
        return plan.run(beside, out)


def reduce_across(bound: Callable[[], tuple[Operands, ReduceRequest, Any, Any]], segments: Segments, axis: int) -> Any:
    """Fold segments along an axis between whose elements others lie, by marks that broadcast."""
    operands, request, _, _ = bound()
    own = SegmentsRequest(request.operator, request.map, request.dtype, segments.count, axis)
    with operands.settled() if operands.in_place else nullcontext():
        check(segments, own)
        marks = [across_rows(operands, one, axis) for one in (segments.heads(), segments.ends())]
        beside, plan = _with_nothing(operands.beside(*marks), segments, own, None, None)
        return plan.run(beside, None)


def _by_marks(
    operands: Operands, segments: Segments, request: SegmentsRequest, out: Out | None, variant: str | Variant | None
) -> tuple[Operands, LaunchPlan]:
    """Return the operands and the plan of a scan that reads marks."""
    return _with_nothing(operands.beside(segments.heads(), segments.ends()), segments, request, out, variant)


def _with_nothing(
    beside: Operands, segments: Segments, request: SegmentsRequest, out: Out | None, variant: str | Variant | None
) -> tuple[Operands, LaunchPlan]:
    """Return the operands, marks among them, and the plan of their scan, which writes results of empty segments too."""
    plan = find_plan(plan_by_marks, beside, request, out, variant)
    if segments.has_empty:  # a scan writes no results for these, so they are written everywhere before
        written = result_forms("reduce", plan.results, written_forms(beside, out))
        _, nothing = marked_folding(request, tuple([native.dtype for native in beside.natives[:-2]]))
        if len(written[0].shape) > 1:  # of new arrays, whose elements lie together
            written = [contiguous(form.dtype, (math.prod(form.shape),), 1) for form in written]
        plan = filling(segments, plan, written, nothing, len(beside.natives))
    return beside, plan


def planned(arrays: tuple[Any, ...], keywords: dict[str, Any]) -> Planned:
    """Describe a call for :func:`gpuprims.plan`; ``segments=`` are the plan's own."""
    keywords = dict(keywords)
    if (offsets := keywords.pop("segments", None)) is None:
        return planned_call("reduce", arrays, keywords)
    operands, request, out, variant = bind(arrays, **keywords)
    refuse_keepdims(request.keepdims)
    segments = own_segments(offsets, operands)
    own = SegmentsRequest(request.operator, request.map, request.dtype, segments.count)
    by_offsets = "segments", plan_by_offsets

    def by_marks(segments: Segments, own: Any) -> tuple[Operands, LaunchPlan]:
        return _by_marks(operands, segments, own, out, variant)

    return plan_segments("reduce", by_offsets, by_marks, segments, own, operands, out, variant)


def refuse_keepdims(keepdims: Any) -> None:
    """Raise for a keyword that ``segments=`` does not take."""
    if keepdims:
        raise ArgumentError(f"reduce: no keepdims= with segments=, which keep an axis; got keepdims={quoted(keepdims)}")
