"""The launch plan of a top_k."""

from __future__ import annotations

import math
from operator import index
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.keywords import check_flags
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, Layout, contiguous, plan_layout
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, AxisError, quoted
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.ordering import check_ordered, order_bits
from gpuprims.primitives.sort.firsts_by_numpy import firsts_by_numpy
from gpuprims.primitives.top_k.by_order import firsts_by_order
from gpuprims.primitives.top_k.launches import LAUNCHES, block_for
from gpuprims.primitives.top_k.rows import Rows
from gpuprims.primitives.top_k.sampled import geometry_for
from gpuprims.primitives.top_k.spec import TopKSpec
from gpuprims.primitives.top_k.variants import TopKTraits, TopKVariant

_INT64 = np.dtype(np.int64)


class TopKRequest(NamedTuple):
    """The keywords of a call; ``segments`` is the number of segments."""

    k: int
    axis: int | None
    largest: bool
    segments: int | None = None


def bind(
    arrays: tuple[Any, ...],
    k: Any = None,
    axis: Any = None,
    largest: bool = True,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, TopKRequest, Out | None, str | Variant | None]:
    """Check the keywords, and find the device of a call; ``k`` may be the second of ``arrays``."""
    given = arrays if k is None else (*arrays, k)
    if len(given) != 2:
        raise ArgumentError(f"top_k: an array and k; got {len(given)} argument(s)")
    x, k = given
    check_flags("top_k", largest=largest)
    along = as_axis(axis)
    if isinstance(along, tuple):
        raise AxisError(f"top_k: axis= one axis, or None for all elements; got {quoted(axis)}")
    operands = as_operands("top_k", (x,), device)
    check_ordered("top_k", operands.natives[0].dtype)
    request = TopKRequest(_number(k), along, bool(largest))
    return operands, request, as_out(operands, out), asked_by_name("top_k", variant)


def _number(k: Any) -> int:
    try:
        number = -1 if isinstance(k, bool) else index(k)
    except TypeError:
        number = -1
    if number < 0:
        raise ArgumentError(f"top_k: k= an integer from 0 on; got {quoted(k)}")
    return number


@keeps_calls()
def plan_call(
    request: TopKRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a top_k."""
    x, k = forms[0], request.k
    rows, shape = _rows_of(request, forms)
    results = contiguous(x.dtype, shape, alignment), contiguous(_INT64, shape, alignment)
    targets = tuple(result_forms("top_k", results, written))
    traits = TopKTraits((x.dtype, _INT64), rows.mean, rows.outputs, value_bytes=x.item, k=k, segmented=rows.segmented)

    def compiling(chosen: Variant) -> Launch:
        if not rows.outputs or not k:
            return nothing
        able = TopKVariant.of(chosen)
        if able.way == "sampled":
            able = geometry_for(able, rows)
        if able.way == "rows":
            able = able.resized(block=block_for(k, device.capabilities))
        layout = _layout(request, forms, targets)
        kernel = device.kernel(able, _spec(request, forms, able, layout, rows))
        return LAUNCHES[able.way](device, able, kernel, layout, rows)

    whole = request.segments is None
    by_numpy = firsts_by_numpy(device, x, k, descending=request.largest) if whole else None
    if whole and (by_numpy is None or rows.n > by_numpy.few.most(device.driver)):
        by_numpy = firsts_by_order(device, x.shape, rows.n, k, request.axis, largest=request.largest)
    what = device, "top_k", traits, results, compiling
    return LaunchPlan(*what, asked=variant, inputs=range(len(forms)), by_numpy=by_numpy)


def _rows_of(request: TopKRequest, forms: tuple[Form, ...]) -> tuple[Rows, tuple[int, ...]]:
    """Return the rows or segments of the call, and the shape of the results."""
    shape, k = forms[0].shape, request.k
    bits, segmented = order_bits(forms[0].dtype), request.segments is not None
    if request.segments is not None:
        mean = shape[0] // max(request.segments, 1)
        return Rows(request.segments, shape[0], mean, k, bits, segmented), (request.segments, k)
    axes = axes_of(request.axis, len(shape))
    kept = tuple(length for axis, length in enumerate(shape) if axis not in axes)
    n = math.prod(shape[axis] for axis in axes)
    if k > n:
        raise ArgumentError(f"top_k: k= at most {n}, the number of elements of a row; got {k}")
    place = axes[0] if axes else 0
    found = (*kept[:place], k, *kept[place:]) if request.axis is not None else (k,)
    return Rows(math.prod(kept), n, n, k, bits, segmented), found


def _spec(request: TopKRequest, forms: tuple[Form, ...], able: TopKVariant, layout: Layout, rows: Rows) -> TopKSpec:
    """Return the kernel spec of a variant."""
    return TopKSpec(
        layout.accesses[:-2],
        layout.accesses[-2:],
        (forms[0].dtype,),
        _element(tuple(form.dtype for form in forms)),
        largest=request.largest,
        segmented=rows.segmented,
        far=rows.far,
        many=rows.many,
        counted=able.way in ("radix", "sampled"),
        tiled=able.way not in ("runs", "whole", "lanes"),
        length=rows.n if able.way == "lanes" else 0,
        sampled=able.way == "sampled",
        vector=layout.vector_width() if able.vectors and not rows.segmented else 1,
    )


def _layout(request: TopKRequest, forms: tuple[Form, ...], targets: tuple[Form, ...]) -> Layout:
    """Return the layout of all operands. Rows are kept axes; results are laid out as if they had whole rows."""
    x = forms[0]
    if request.segments is not None:
        shape = max(request.segments, 2), max(x.shape[0], 2)  # layouts drop axes of length 1
        offsets = forms[1]._replace(shape=(shape[0], 1), strides=(*forms[1].strides, 0))
        wide = [target._replace(shape=shape) for target in targets]
        return plan_layout((x._replace(shape=shape[1:]), offsets, *wide), shape, (1,))
    axes = axes_of(request.axis, len(x.shape))
    if request.axis is not None:
        wide = [target._replace(shape=x.shape) for target in targets]
    else:
        wide = [_spread(target, x.shape) for target in targets]
    return plan_layout((x, *wide), x.shape, axes)


def _spread(target: Form, shape: tuple[int, ...]) -> Form:
    """Return the form of a flat result as seen along all axes, in C order."""
    strides, stride = list[int](), target.strides[0] if target.shape[0] > 1 else target.item
    for length in reversed(shape):
        strides.append(stride)
        stride *= length
    return target._replace(shape=shape, strides=tuple(reversed(strides)))


def _element(dtypes: tuple[Dtype, ...]) -> TypedExpr:
    """Return the function that selects the element; an offset and an index may follow it."""
    return typed(trace(lambda x, *_: x, len(dtypes) + 1), (*dtypes, _INT64), dtypes[:1])


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of the ten largest elements of each row."""
    request = TopKRequest(min(call.size, 10), 1, largest=True)
    form = contiguous(call.dtype, (call.outputs, call.size), 16)
    return plan_call(request, (form,), None, 16, call.device, None, 0)
