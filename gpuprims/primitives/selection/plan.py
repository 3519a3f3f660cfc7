"""The launch plan of a selection by rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gpuprims.core.arrays import copy_on
from gpuprims.core.counters import with_counters, with_scratch
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.launch_plan import LaunchPlan, Sample, in_turn, nothing
from gpuprims.core.layout import Form, Layout, contiguous, plan_layout
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.expressions import trace, typed
from gpuprims.primitives.networks import network_macros
from gpuprims.primitives.ordering import (
    DIGIT_BITS,
    KERNELS,
    STATE_BYTES,
    count_macros,
    digits,
    order_bits,
    order_macros,
)
from gpuprims.primitives.selection.sampled import Rows, launch_sampled
from gpuprims.primitives.selection.traits import SelectionTraits
from gpuprims.primitives.sort.plan import SortRequest, plan_rows

_INT64 = np.dtype(np.int64)
_ELEMENT = trace(lambda x, rank, j: x, 3)
# As in selection_radix.cl.
_CLEAR, _DIGIT, _STORE = range(3)
# Elements of a row that one work-item of a CPU takes.
_CPU_PART = 1 << 14


class SelectionRequest(NamedTuple):
    """The axes to select along, ascending; the other axes are kept.

    The ranks consist of ``together`` parts of equal length; ranks at the same place of each part are close to each
    other. With ``nan_wins``, a row with a NaN gives NaN for all ranks.
    """

    axes: tuple[int, ...]
    together: int = 1
    nan_wins: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class SelectionSpec(KernelSpec):
    """Macros for the order of elements, and for ranks."""

    many: bool  # a row has too many elements for 32-bit counts
    nan_wins: bool  # a row with a NaN has the result NaN

    lifts_constants: ClassVar[bool] = False
    scratch_pointers: ClassVar[int] = 2

    def macros(self) -> dict[str, int | str]:
        """Define the order of elements, smallest first, ranks and counts."""
        rank: dict[str, int | str] = {"LARGEST": 0, "SEGMENTED": 0, "FAR": 1, "RANK(o)": "x1[gp_at_x1(layout, o, 0)]"}
        rank["NAN_WINS"] = int(self.nan_wins)
        return order_macros(self.values[0]) | rank | count_macros(many=self.many)

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return KERNELS / "order.h", KERNELS / "ordering.h", KERNELS / "ranks.h", KERNELS / "radix.h"


class SampledSpec(SelectionSpec):
    """The spec of selection/sampled."""

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return *super().headers(), KERNELS / "pieces.h", KERNELS / "sampling.h"


class CpuRowsSpec(SelectionSpec):
    """The spec of selection/cpu_rows, which has no counters."""

    scratch_pointers: ClassVar[int] = 1

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return KERNELS / "order.h", KERNELS / "ordering.h"


class RowsSpec(SelectionSpec):
    """The spec of selection/rows, which has no scratch memory."""

    scratch_pointers: ClassVar[int] = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class LanesSpec(RowsSpec):
    """The spec of selection/lanes, which sorts rows of ``length`` elements."""

    length: int

    def macros(self) -> dict[str, int | str]:
        """Define the network, too."""
        return super().macros() | network_macros(self.length)

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return KERNELS / "order.h", KERNELS / "ordering.h"


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
        launch = _launch(device, chosen, layout, outputs, n, request)
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


def _launch(
    device: Device, variant: Variant, layout: Layout, outputs: int, n: int, request: SelectionRequest
) -> Launch:
    dtype, able = layout.forms[0].dtype, device.capabilities
    how: dict[str, Any] = {"many": n >= 2**32, "nan_wins": request.nan_wins and dtype.kind == "f"}
    function = typed(_ELEMENT, (dtype, _INT64, _INT64), (dtype,))
    told = layout.accesses[:2], layout.accesses[2:], (dtype,), function
    if variant.name == "cpu_rows":
        groups = variant.groups(outputs, able)
        launch = device.kernel(variant, CpuRowsSpec(*told, **how)).prepare(groups, layout.pack(0), outputs, n)
        return with_scratch(device, launch, groups * n * (8 if order_bits(dtype) > 32 else 4))
    if variant.name == "lanes":
        kernel = device.kernel(variant, LanesSpec(*told, **how, length=n))
        return kernel.prepare(variant.groups(-(-outputs // variant.block), able), layout.pack(0), outputs, n)
    if variant.name in ("rows", "sorted"):
        kernel = device.kernel(variant, RowsSpec(*told, **how))
        tasks = outputs if variant.name == "rows" else -(-outputs // variant.block)
        return kernel.prepare(variant.groups(tasks, able), layout.pack(0), outputs, n)
    if not isinstance(variant.source, Path):
        kernel = device.kernel(variant, SelectionSpec(*told, **how))
        return kernel.prepare(1, layout.pack(0), outputs, n)
    if able.kind == "cpu":  # a lone work-item counts without atomics
        variant = variant.resized(block=1, items=_CPU_PART)
    if variant.name == "sampled":
        spec = SampledSpec(*told, **how, vector=layout.vector_width())
        return launch_sampled(device, variant, device.kernel(variant, spec), layout, Rows(outputs, n, request.together))
    kernel, most = device.kernel(variant, SelectionSpec(*told, **how)), variant.groups(2**30, able)
    parts = max(min(-(-most // outputs), -(-n // variant.tile)), 1)
    packed = layout.pack(0)

    def step_of(tasks: int, step: int, at: int, turn: int) -> Launch:
        return kernel.prepare(max(min(tasks, most), 1), packed, outputs, n, parts, step, at, turn % 2)

    shifts = digits(order_bits(dtype))
    launches = [step_of(8 * outputs, _CLEAR, 0, 1)]
    launches += [step_of(outputs * parts, _DIGIT, at, turn) for turn, at in enumerate(shifts)]
    launches.append(step_of(-(-outputs // variant.block), _STORE, 0, len(shifts)))
    scratch = outputs * (2 * STATE_BYTES + ((8 if how["many"] else 4) << DIGIT_BITS) + 4)
    return with_counters(device, in_turn(launches), outputs, scratch)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a median of each row."""
    forms = contiguous(call.dtype, (call.outputs, call.size), 16), contiguous(_INT64, (1,), 16)
    return plan_call(SelectionRequest((1,)), forms, None, 16, call.device, None, 0)


def beside_arrays(operands: Operands, *arrays: np.ndarray) -> Operands:
    """Return the operands of a call with further arrays, such as ranks, on the same device."""
    own = [array if operands.on_host else copy_on(operands.device, array) for array in arrays]
    return operands.beside(*own)
