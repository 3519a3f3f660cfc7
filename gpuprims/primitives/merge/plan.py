"""The launch plan of a merge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.counters import with_scratch
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import unchanged
from gpuprims.core.keywords import check_flags
from gpuprims.core.launch_plan import LaunchPlan, Sample, in_turn, nothing
from gpuprims.core.layout import Form, contiguous, plan_layout
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import MOVES, CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, ShapeError
from gpuprims.primitives.merge.spec import MergeSpec, PathSpec
from gpuprims.primitives.segments.offsets import along_one_axis

_FEW = Few(near=2**15, woken=2**15)  # rows: by_numpy
# NumPy copies whole stretches of an array that is _LONGER or _FAR_LONGER times as long as the other one, so it merges
# more elements faster than a kernel does; up to _FEW_FAR_LONGER only if an element has at least _WIDE bytes.
_LONGER, _FAR_LONGER, _WIDE = 4, 16, 4  # rows: by_numpy-unequal
_FEW_LONGER, _FEW_FAR_LONGER = Few(near=2**17, woken=2**17), Few(near=2**22, woken=2**22)  # rows: by_numpy-unequal
_FEW_HALVES = Few(near=2**22, woken=2**22)  # float16, which kernels compare slowly; rows: by_numpy-halves


class MergeRequest(NamedTuple):
    """The order of the arrays and of the result."""

    descending: bool


def bind(
    arrays: tuple[Any, ...],
    descending: bool = False,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, MergeRequest, Out | None, str | Variant | None]:
    """Find the device of a call, and check its arguments, except that the arrays are sorted."""
    if len(arrays) != 2:
        raise ArgumentError(f"merge: two sorted arrays; got {len(arrays)} argument(s)")
    check_flags("merge", descending=descending)
    operands = as_operands("merge", arrays, device)
    shapes = [native.shape for native in operands.natives]
    if any(len(shape) != 1 for shape in shapes):
        raise ShapeError(f"merge: arrays of one dimension; got shapes {shapes[0]} and {shapes[1]}")
    asked = None if variant is None else asked_by_name("merge", variant)
    return operands, MergeRequest(bool(descending)), None if out is None else as_out(operands, out), asked


@keeps_calls()
def plan_call(
    request: MergeRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a merge."""
    dtype = np.result_type(*[form.dtype for form in forms])
    size, n = forms[0].shape[0], sum([form.shape[0] for form in forms])
    result = contiguous(dtype, (n,), alignment)
    (target,) = result_forms("merge", (result,), written)
    traits = CallTraits((dtype, *[form.dtype for form in forms]), n, value_bytes=dtype.itemsize, **MOVES)

    def compiling(chosen: Variant) -> Launch:
        if not n:
            return nothing
        shape, ((first, second), targets) = along_one_axis(forms, (target,))
        layout = plan_layout((first, second, *targets), shape, (0,))
        own = layout.accesses[:2], layout.accesses[2:], (dtype,), unchanged((dtype,))
        tiles, packed = -(-n // chosen.tile), layout.pack(0)
        groups = chosen.groups(tiles, device.capabilities)
        if chosen.block == 1:
            kernel = device.kernel(chosen, MergeSpec(*own, descending=request.descending))
            return kernel.prepare(groups, packed, n, size)
        kernel = device.kernel(chosen, PathSpec(*own, descending=request.descending))
        split = kernel.prepare(-(-(tiles + 1) // chosen.block), packed, n, size, 0)
        return with_scratch(device, in_turn((split, kernel.prepare(groups, packed, n, size, 1))), 8 * (tiles + 1))

    with_elements = [k for k in range(2) if forms[k].shape[0]]  # the others have no memory
    inputs = range(2) if len(with_elements) != 1 else with_elements * 2
    by_numpy = _by_numpy(forms, descending=request.descending)
    return LaunchPlan(device, "merge", traits, (result,), compiling, asked=variant, inputs=inputs, by_numpy=by_numpy)


def _by_numpy(forms: tuple[Form, ...], *, descending: bool) -> ByNumPy | None:
    """Return how NumPy merges: its stable sort finds the two runs and merges them. None if it does not."""
    first, second = (form.dtype for form in forms)
    if {first.kind, second.kind} - set("iubf") or (first != second and np.result_type(first, second).kind == "f"):
        return None
    if first == second == np.float16:
        return ByNumPy(_merged_falling if descending else _merged, _FEW_HALVES)
    shorter, longer = sorted(form.shape[0] for form in forms)
    few = _FEW_LONGER if longer >= _LONGER * shorter else _FEW
    if longer >= _FAR_LONGER * shorter and min(first.itemsize, second.itemsize) >= _WIDE:
        few = _FEW_FAR_LONGER
    return ByNumPy(_merged_falling if descending else _merged, few)


def _merged(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    merged = np.concatenate((first, second))
    merged.sort(kind="stable")
    return merged


def _merged_falling(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    merged = np.concatenate((first, second))
    merged[::-1].sort(kind="stable")
    return merged


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a merge of two arrays of ``call.size`` elements."""
    forms = (contiguous(call.dtype, (call.size,), 16),) * 2
    return plan_call(MergeRequest(descending=False), forms, None, 16, call.device, None, 0)
