"""Sorts by several keys, of several values, and of elements of 128 bits: by indices, one key after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import as_operands
from gpuprims.core.outputs import result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.expressions import trace
from gpuprims.primitives.chain import Chain, Operand
from gpuprims.primitives.grouping.indices import plan_numbers
from gpuprims.primitives.map.plan import MapRequest
from gpuprims.primitives.map.plan import plan_call as plan_map
from gpuprims.primitives.sort.keys import WIDEST
from gpuprims.primitives.sort.plan import SortRequest, plan_rows
from gpuprims.primitives.sort.several_by_numpy import complex_by_numpy, lexsorts_by_numpy
from gpuprims.primitives.take.plan import TakeRequest
from gpuprims.primitives.take.plan import plan_call as plan_take

_INT64 = np.dtype(np.int64)
_TAKE = TakeRequest(None, "clip")
# Keys by which complex elements are sorted as NumPy does, the last one first: those without NaN come first.
_PARTS = MapRequest(
    trace(lambda z: (z.imag, z.real, np.where(np.isnan(z.real), 2, 0) + np.where(np.isnan(z.imag), 1, 0)), 1),
    in_c_order=True,
)
# The number and the form of a result of the call.
Place = tuple[int, Form]


@keeps_calls()
def plan_call(
    request: SortRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a sort of any elements, with any number of values, but its memory."""
    if len(forms) < 3 and _are_moved(request, forms):
        return plan_rows(request, forms, written, alignment, device, variant, generation)
    chain, whole = Chain(device, forms, generation), forms[0].shape
    shape = (math.prod(whole),) if request.axis is None else whole
    dtypes = [_INT64] if request.wanted == "indices" else [form.dtype for form in forms]
    results = [contiguous(dtype, shape, alignment) for dtype in dtypes]
    into = list(enumerate(result_forms("sort", results, written)))
    of_indices = request.wanted == "indices"
    keys: Sequence[Operand] = chain.given[:1]
    if in_parts := forms[0].dtype.kind == "c" and request.less is None:
        keys = [part.reshaped(shape) for part in chain.add(plan_map, _PARTS, keys[0])]
    order = request._replace(wanted="indices", axis=0 if in_parts and request.axis is None else request.axis)
    indices = _last_first(chain, keys, order, variant, into[0] if of_indices else None)
    if not of_indices:
        places = _in_whole(chain, indices, order.axis)
        for array, place in zip(chain.given, into, strict=True):
            chain.add(plan_take, _TAKE, array, places, into=[place])
    plan = chain.plan(results, variant, first=int(in_parts))
    if in_parts:
        plan.by_numpy = complex_by_numpy(request.wanted, request.axis, request.descending, forms)
    return plan


@keeps_calls()
def plan_lexsort(
    rows: bool,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a sort by several keys but its memory; ``rows`` if they are those of one array."""
    chain = Chain(device, forms, generation)
    keys: Sequence[Operand] = chain.given
    if rows:
        keys = [chain.given[0].row(k) for k in range(forms[0].shape[0])]
    results = (contiguous(_INT64, keys[0].form.shape, alignment),)
    (target,) = result_forms("lexsort", results, written)
    _last_first(chain, keys, SortRequest("indices", 0), variant, (0, target))
    plan = chain.plan(results, variant)
    plan.by_numpy = lexsorts_by_numpy(device, rows, forms)
    return plan


def _are_moved(request: SortRequest, forms: Sequence[Form]) -> bool:
    """Return True for keys that kernels of this room order, and values that they move."""
    ordered = request.less is not None or forms[0].dtype.kind != "c"
    return ordered and all(form.item <= WIDEST for form in forms[1:])


def _last_first(
    chain: Chain, keys: Sequence[Operand], request: SortRequest, variant: str | Variant | None, into: Place | None
) -> Operand:
    """Add the sorts by several keys, the last one first, and return the indices along an axis."""
    places = [*(None for _ in keys[1:]), into]
    (indices,) = chain.add(plan_call, request, keys[0], variant=variant, into=places[:1])
    for key, place in zip(keys[1:], places[1:], strict=True):
        (taken,) = chain.add(plan_take, _TAKE, key, _in_whole(chain, indices, request.axis))
        (order,) = chain.add(plan_call, request, taken, variant=variant)
        (indices,) = chain.add(plan_take, _TAKE, indices, _in_whole(chain, order, request.axis), into=[place])
    return indices


def _in_whole(chain: Chain, indices: Operand, axis: int | None) -> Operand:
    """Return indices along an axis, or of all elements, as places in the whole array."""
    shape = indices.form.shape
    if axis is None or math.prod(shape) == shape[axis]:
        return indices
    three = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    (places,) = chain.add(_plan_in_whole, None, indices.reshaped(three))
    return places.reshaped(shape)


def in_whole(indices: Any, device: Device) -> Any:
    """Return indices along the middle one of three axes as places in the whole array."""
    operands = as_operands("sort", (indices,), device)
    return find_plan(_plan_in_whole, operands, None, None, None).run(operands, None)


@keeps_calls()
def _plan_in_whole(
    request: None,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about places in a whole array but their memory: a map with the numbers of rows and columns."""
    chain = Chain(device, forms, generation)
    (indices,) = chain.given
    rows, length, columns = indices.form.shape
    results = (contiguous(_INT64, indices.form.shape, alignment),)
    (target,) = result_forms("sort", results, written)
    (row,) = chain.add(plan_numbers, rows, indices)
    (column,) = chain.add(plan_numbers, columns, indices)

    def place(index: Any, row: Any, column: Any) -> Any:
        return (row.astype(np.int64) * length + index) * columns + column

    numbered = indices, row.reshaped((rows, 1, 1)), column.reshaped((1, 1, columns))
    chain.add(plan_map, MapRequest(trace(place, 3), in_c_order=True), *numbered, into=[(0, target)])
    return chain.plan(results, variant)
