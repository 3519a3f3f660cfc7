"""The launch plan of a sort by one key."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.determinism import asked_level
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.keywords import check_flags
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, contiguous, is_contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, AxisError, DtypeError, ShapeError, quoted
from gpuprims.expressions import Expr, TypedExpr, expression, typed
from gpuprims.primitives.map.plan import MapRequest
from gpuprims.primitives.map.plan import plan_call as plan_map
from gpuprims.primitives.signatures import Function
from gpuprims.primitives.sort.by_numpy import Wanted, sorts_by_numpy
from gpuprims.primitives.sort.compared import comparison
from gpuprims.primitives.sort.keys import Keys, word_of
from gpuprims.primitives.sort.passes import passes_of
from gpuprims.primitives.sort.traits import SortTraits
from gpuprims.primitives.sort.variants import SortVariant
from gpuprims.primitives.sort.work import Four, Passes, Rows, Work

_INT64 = np.dtype(np.int64)


class SortRequest(NamedTuple):
    """How to sort, and what to return: sorted keys, their indices, or keys and the values beside them."""

    wanted: Wanted = "keys"
    axis: int | None = -1
    descending: bool = False
    less: Expr | None = None


def bind(
    arrays: tuple[Any, ...],
    axis: int | None = -1,
    descending: bool = False,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
    *,
    less: Function | None = None,
    wanted: Wanted = "keys",
    label: str = "sort",
    real: bool = True,
) -> tuple[Operands, SortRequest, Out | None, str | Variant | None]:
    """Find the device of a call, and check its keywords."""
    if wanted == "pairs" and len(arrays) < 2:
        raise ArgumentError(f"{label}: keys and one or more arrays of values; got no values")
    operands = as_operands(label, arrays, device)
    first = operands.natives[0]
    if real and first.dtype.kind == "c":
        raise DtypeError(f"{label}: real elements; got {first.dtype} (sort by several keys: lexsort((x.imag, x.real)))")
    axis = _along(axis, first.ndim, wanted)
    for other in operands.natives[1:]:
        if other.shape != first.shape:
            raise ShapeError(f"{label}: values of the keys' shape, {first.shape}; got {other.shape}")
    check_flags(label, descending=descending)
    result = None if out is None else as_out(operands, out)
    asked = None if variant is None else asked_by_name("sort", variant)
    order = None if less is None else comparison(label, less, first.dtype)
    return operands, SortRequest(wanted, axis, bool(descending), order), result, asked


def _along(axis: Any, ndim: int, wanted: Wanted) -> int | None:
    """Return an axis to sort along, from 0; None for all elements."""
    if axis is None:
        return None
    if type(axis) is not int and not isinstance(axis, np.integer):
        raise AxisError(f"axis: an int or None; got {quoted(axis)}")
    if wanted == "indices" and not ndim and axis in (0, -1):  # as NumPy's argsort of a number
        return None
    if not -ndim <= axis < ndim:
        among = f"from {-ndim} to {ndim - 1}" if ndim else "None"
        raise AxisError(f"axis: {among} for {ndim} dimension(s); got {axis}")
    return int(axis) % ndim


@keeps_calls()
def plan_rows(
    request: SortRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a sort of real keys, with one array of values at most, but its memory."""
    form, size = forms[0], math.prod(forms[0].shape)
    shape = (size,) if request.axis is None else form.shape
    dtypes = {
        "keys": (form.dtype,),
        "indices": (_INT64,),
        "pairs": tuple(one.dtype for one in forms),
    }[request.wanted]
    results = [contiguous(dtype, shape, alignment) for dtype in dtypes]
    targets = result_forms("sort", results, written)
    read = [_moved(one, request.axis) for one in forms]
    to = [_moved(one, None if request.axis is None else request.axis) for one in targets]
    length = shape[-1 if request.axis is None else request.axis]
    rows = Rows(size // length if size else 0, length)
    carried = _carried(request, forms, rows)
    less = None if request.less is None else typed(request.less, (form.dtype, form.dtype))
    keys = Keys(form.dtype, request.descending, less)
    traits = _traits(form.dtype, keys, carried, less, rows)

    def compiling(chosen: Variant) -> Launch:
        if not size:
            return nothing
        sources = [_Side.of(one, device) for one in read]
        sinks = [_Side.of(one, device) for one in to]
        begins = Four.of([side.begin for side in sources], [side.begin for side in sinks])
        passes = passes_of(Work(device, SortVariant.of(chosen), rows, keys, carried, request.wanted, begins))
        return _through(device, sources, sinks, passes)

    wanted, axis, descending, _ = request
    by_numpy = None if request.less else sorts_by_numpy(device, wanted, axis, descending, forms)
    what = device, "sort", traits, results, compiling
    return LaunchPlan(*what, asked=variant, inputs=range(len(forms)), by_numpy=by_numpy)


def _traits(
    dtype: np.dtype[Any], keys: Keys, carried: np.dtype[Any] | None, less: TypedExpr | None, rows: Rows
) -> SortTraits:
    nbytes = keys.nbytes + (carried.itemsize if carried else 0)
    computed = (keys.word,) if less is None else (keys.word, *less.computed_in)
    kind = {"floats": dtype.kind == "f", "compares": less is not None, "portable": less is None}
    return SortTraits(computed, rows.length, rows.many, value_bytes=nbytes, level=asked_level(), rounds=False, **kind)


def _carried(request: SortRequest, forms: Sequence[Form], rows: Rows) -> np.dtype[Any] | None:
    """Return the unsigned dtype of what moves with the keys: nothing, indices, or the bits of values."""
    if request.wanted == "keys":
        return None
    if request.wanted == "indices":
        return np.dtype(np.uint32 if rows.length <= 2**32 else np.uint64)
    return np.dtype(f"u{forms[1].item}")


def _moved(form: Form, axis: int | None) -> Form:
    """Return the form of an array with an axis moved to the end; of a flat one, the array itself."""
    if axis is None or axis == len(form.shape) - 1:
        return form
    order = [*(k for k in range(len(form.shape)) if k != axis), axis]
    return form._replace(shape=tuple(form.shape[k] for k in order), strides=tuple(form.strides[k] for k in order))


class _Side(NamedTuple):
    """An array as rows side by side: where it begins, or what copies it to or from such rows."""

    begin: int  # in elements
    nbytes: int
    copy_in: Launch | None  # from the array to rows; None if it already is such rows
    copy_out: Launch | None

    @classmethod
    def of(cls, form: Form, device: Device) -> _Side:
        nbytes = math.prod(form.shape) * form.item
        if is_contiguous(form) and form.offset % form.item == 0:
            return cls(form.offset // form.item, nbytes, None, None)
        bits = form._replace(dtype=word_of(form.dtype))  # a copy of floats may change the bits of NaN
        beside = contiguous(bits.dtype, form.shape, 16)
        return cls(0, nbytes, _copying(bits, beside, device), _copying(beside, bits, device))


def _copying(form: Form, to: Form, device: Device) -> Launch:
    request = MapRequest(expression("x"), in_c_order=True)
    return plan_map(request, (form,), (to,), 16, device, None, 0).compiled()


def _through(device: Device, sources: Sequence[_Side], sinks: Sequence[_Side], passes: Passes) -> Launch:
    """Return the launch of passes, from and to arrays in any layout."""
    if not any(side.copy_in or side.copy_out for side in (*sources, *sinks)):
        first = len(sources)
        return lambda memories: passes(Four(memories[0], memories[first - 1], memories[first], memories[-1]))

    def start(memories: Sequence[Any]) -> None:
        scratch = device.driver.scratch
        given, results = list(memories[: len(sources)]), memories[len(sources) :]
        for k, side in enumerate(sources):
            if side.copy_in is not None:
                beside = scratch(side.nbytes)
                side.copy_in([given[k], beside])
                given[k] = beside
        to = [one if side.copy_out is None else scratch(side.nbytes) for one, side in zip(results, sinks, strict=True)]
        passes(Four.of(given, to))
        for one, side, result in zip(to, sinks, results, strict=True):
            if side.copy_out is not None:
                side.copy_out([one, result])

    return start


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a sort of sample rows."""
    form = contiguous(call.dtype, (call.outputs, call.size), 16)
    return plan_rows(SortRequest(), (form,), None, 16, call.device, None, 0)
