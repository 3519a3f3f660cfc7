"""The launch plan of a selection by rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.arrays import copy_on
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.primitives.selection.launches import launch_of
from gpuprims.primitives.selection.traits import SelectionTraits
from gpuprims.primitives.selection.work import Rows, Work
from gpuprims.primitives.sort.plan import SortRequest, plan_rows

_INT64 = np.dtype(np.int64)


class SelectionRequest(NamedTuple):
    """The axes to select along, ascending; the other axes are kept.

    The ranks consist of ``together`` parts of equal length; ranks at the same place of each part are close to each
    other. With ``nan_wins``, a row with a NaN gives NaN for all ranks.
    """

    axes: tuple[int, ...]
    together: int = 1
    nan_wins: bool = False


@keeps_calls()
def plan_call(
    request: SelectionRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a selection. The second array has the ranks, which are the same for all rows."""
    x, ranks = forms
    shape = (*ranks.shape, *x.shape)
    axes = tuple(axis + 1 for axis in request.axes)
    kept = tuple(length for axis, length in enumerate(shape) if axis not in axes)
    n, outputs = math.prod(x.shape[axis] for axis in request.axes), math.prod(kept)
    results = (contiguous(x.dtype, kept, alignment),)
    (result,) = result_forms("selection", results, written)
    traits = SelectionTraits((x.dtype, _INT64), n, outputs, value_bytes=x.item, axes=len(request.axes))

    def compiling(chosen: Variant) -> Launch:
        if not outputs or not n:
            return nothing
        alone = (1,) * len(x.shape)
        every = ranks._replace(shape=(*ranks.shape, *alone), strides=(*ranks.strides, *(0 for _ in alone)))
        lengths, strides = list(shape), [0] * len(shape)
        own = iter(result.strides)
        for axis in range(len(shape)):
            if axis in axes:
                lengths[axis] = 1
            else:
                strides[axis] = next(own)
        target = result._replace(shape=tuple(lengths), strides=tuple(strides))
        in_order = contiguous(x.dtype, x.shape, 16) if chosen.name == "sorted" else None
        layout = plan_layout((in_order or x, every, target), shape, axes)
        rows = Rows(outputs, n, request.together)
        launch = launch_of(Work(device, chosen, layout, rows, request.nan_wins))
        return launch if in_order is None else _after_sort(device, launch, x, in_order, request.axes[0])

    return LaunchPlan(device, "selection", traits, results, compiling, asked=variant, inputs=(0, 1))


def _after_sort(device: Device, launch: Launch, x: Form, in_order: Form, axis: int) -> Launch:
    """Return a launch that sorts rows before one that reads them."""
    sort = plan_rows(SortRequest("keys", axis), (x,), (in_order,), 16, device, None, 0).compiled()
    nbytes = math.prod(x.shape) * x.item

    def start(memories: Sequence[Any]) -> None:
        ordered = device.driver.scratch(nbytes)
        sort([memories[0], ordered])
        launch([ordered, *memories[1:]])

    return start


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a median of each row."""
    forms = contiguous(call.dtype, (call.outputs, call.size), 16), contiguous(_INT64, (1,), 16)
    return plan_call(SelectionRequest((1,)), forms, None, 16, call.device, None, 0)


def beside_arrays(operands: Operands, *arrays: np.ndarray) -> Operands:
    """Return the operands of a call with further arrays, such as ranks, on the same device."""
    own = [array if operands.on_host else copy_on(operands.device, array) for array in arrays]
    return operands.beside(*own)
