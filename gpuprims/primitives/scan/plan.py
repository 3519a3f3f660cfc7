"""The launch plan of a scan."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan, Sample
from gpuprims.core.layout import Form, broadcast_shapes, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, AxisError, quoted
from gpuprims.expressions import Expr, expression
from gpuprims.operators import Op, as_dtype, as_map, find_op, make_folding
from gpuprims.primitives.fold import plan_scan, sample_rows


class ScanRequest(NamedTuple):
    """How to scan any arrays: the keywords of :func:`gpuprims.scan`, checked."""

    op: str | Op = "sum"
    map: str | Expr | None = None
    inclusive: bool = True
    axis: int | None = None
    dtype: np.dtype[Any] | None = None

    @property
    def operator(self) -> Op:
        """The operator; raises if the first result of an exclusive scan would have no value."""
        operator = find_op(self.op)
        if not self.inclusive and not operator.of_nothing and operator.finish:
            rule = "inclusive=True, for nothing has no place"
            raise ArgumentError(f"scan with {operator.name}: {rule}; got inclusive=False")
        return operator


def bind(
    arrays: tuple[Any, ...],
    op: str | Op = "sum",
    map: Any = None,  # noqa: A002 - as scan
    inclusive: bool = True,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, ScanRequest, Out | None, str | Variant | None]:
    """Find the device of a call, and check its keywords, so that its plan can be looked up."""
    if not arrays:
        raise ArgumentError("scan: at least one array; got none")
    if type(op) is not str:
        find_op(op)  # raises for what is no operator, such as a list
    mapped = map if map is None or type(map) is str else expression(map, len(arrays))
    operands = as_operands("scan", arrays, device)
    result = None if out is None else as_out(operands, out, in_place=True)
    chosen = None if dtype is None else as_dtype(dtype, "scan")
    along = axis if axis is None or type(axis) is int else _as_axis(axis)
    asked = None if variant is None else asked_by_name("scan", variant)
    return operands, ScanRequest(op, mapped, bool(inclusive), along, chosen), result, asked


def _as_axis(axis: Any) -> int:
    if not isinstance(axis, np.integer):
        raise AxisError(f"axis: an int; got {quoted(axis)}")
    return int(axis)


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
    operator, axis, inclusive = request.operator, request.axis, request.inclusive
    shape = broadcast_shapes("scan", [form.shape for form in forms]) or (1,)
    if axis is not None and not -len(shape) <= axis < len(shape):
        raise AxisError(f"axis: from {-len(shape)} to {len(shape) - 1} for {len(shape)} dimension(s); got {axis}")
    axes = tuple(range(len(shape))) if axis is None else (axis % len(shape),)
    function = as_map("scan", request.map, len(forms))
    folding = make_folding(operator, function, tuple(form.dtype for form in forms), request.dtype, "scan")
    flat = (math.prod(shape),)
    results = [contiguous(output, flat if axis is None else shape, alignment) for output in folding.outputs]
    targets = result_forms("scan", results, written)
    if axis is None:
        targets = [_as_shaped(form, shape) for form in targets]
    what = device, forms, targets, results, folding, shape, axes, variant
    return plan_scan(*what, commutative=operator.commutative, inclusive=inclusive)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a scan of so many outputs."""
    operator = find_op(call.op)
    form, axis = sample_rows(call)
    return plan_call(ScanRequest(operator, axis=axis), (form,) * operator.elements, None, 16, call.device, None, 0)


def _as_shaped(flat: Form, shape: tuple[int, ...]) -> Form:
    """See a flat array as one of a shape, in C order."""
    (stride,) = flat.strides
    steps = contiguous(np.dtype(np.int8), shape, 1).strides
    return flat._replace(shape=shape, strides=tuple(step * stride for step in steps))
