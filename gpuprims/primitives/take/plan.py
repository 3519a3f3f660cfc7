"""The launch plan of a take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from gpuprims.core.arrays import NUMBERS, native_of
from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device, device_of
from gpuprims.core.driver import Launch
from gpuprims.core.faults import KnownArrays
from gpuprims.core.kernel_spec import unchanged
from gpuprims.core.keywords import is_one_of
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, Layout, contiguous, is_contiguous, plan_layout
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import MOVES, CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, AxisError, DtypeError, IndicesError, axis_rule, did_you_mean, quoted
from gpuprims.primitives.take.reference import is_outside
from gpuprims.primitives.take.spec import TakeSpec, as_words

Mode = Literal["raise", "wrap", "clip"]
# Most elements of results that NumPy takes in less time: any, and those of whole rows that lie together.
_FEW, _FEW_OF_ROWS = Few(near=2**20, woken=2**20), Few(near=2**24, woken=2**24)  # rows: by_numpy, by_numpy-rows


class OutsideError(IndicesError):
    """A kernel found an index that is out of bounds."""


class TakeRequest(NamedTuple):
    """The axis to index, from 0, or None for all in C order; and the mode for indices that are out of bounds."""

    axis: int | None
    mode: Mode


class _Shapes(NamedTuple):
    """The lengths of the indexed axes, of the axes before and after them, and of the axes of the indices."""

    indexed: slice
    counted: tuple[int, ...]
    before: tuple[int, ...]
    indices: tuple[int, ...]
    behind: tuple[int, ...]

    @classmethod
    def of(cls, axis: int | None, shape: tuple[int, ...], indices: tuple[int, ...]) -> _Shapes:
        """Split the axes of an array."""
        indexed = slice(0, len(shape)) if axis is None or not shape else slice(axis, axis + 1)
        return cls(indexed, shape[indexed], shape[: indexed.start], indices, shape[indexed.stop :])

    @property
    def length(self) -> int:
        """The number of elements along the indexed axes."""
        return math.prod(self.counted)

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of the result."""
        return (*self.before, *self.indices, *self.behind)

    def layout(self, taken: Form, indices: Form, result: Form) -> Layout:
        """Return the layout of the operands: indexed axes are kept axes, the result's axes are reduced ones."""
        at, one = self.indexed, (1,) * len(self.indices)
        still = (0,) * len(self.indices)
        elements = taken._replace(
            shape=(*self.counted, *self.before, *one, *self.behind),
            strides=(*taken.strides[at], *taken.strides[: at.start], *still, *taken.strides[at.stop :]),
        )
        named = indices._replace(
            shape=(*self.indices, *(1 for _ in self.behind)), strides=(*indices.strides, *(0 for _ in self.behind))
        )
        whole = (*self.counted, *self.result)
        return plan_layout((elements, named, result), whole, range(len(self.counted), len(whole)))


def bind(
    arrays: tuple[Any, ...],
    axis: int | None = None,
    out: Any = None,
    mode: Mode = "raise",
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, TakeRequest, Out | None, str | Variant | None]:
    """Find the device of a call, and check its arguments, except the values of the indices."""
    if len(arrays) != 2:
        raise ArgumentError(f"take: an array and indices; got {len(arrays)} argument(s)")
    if not is_one_of(mode, get_args(Mode)):
        hint = did_you_mean(mode, get_args(Mode))
        raise ArgumentError(f"take: mode= among 'raise', 'wrap', 'clip'; got {quoted(mode)}{hint}")
    x, indices = arrays
    if isinstance(x, NUMBERS):  # its dtype does not depend on that of the indices
        x = native_of("take", x)
    operands = as_operands("take", (x, _beside(x, indices)), device, stored=True)
    first, second = operands.natives
    if second.dtype.kind not in "iub":
        raise DtypeError(f"take: integer indices; got dtype {second.dtype} (pass indices.astype(np.int64))")
    request = TakeRequest(_axis(axis, first.ndim), mode)
    shapes = _Shapes.of(request.axis, first.shape, second.shape)
    if not shapes.length and second.size:
        raise IndicesError(f"take: no indices into an axis of length 0; got {second.size}")
    if mode == "raise" and not math.prod(shapes.result):  # no kernel reads them
        raise_outside(operands, request)
    asked = None if variant is None else asked_by_name("take", variant)
    return operands, request, None if out is None else as_out(operands, out), asked


def _beside(x: Any, indices: Any) -> Any:
    """Return indices as an array, on the device of ``x`` if it has one."""
    if not hasattr(indices, "dtype"):
        indices = native_of("take", indices)
        if not indices.size:
            indices = indices.astype(np.int64)  # NumPy makes floats of an empty list
    on = device_of(x)
    return (
        indices if on is None or not isinstance(indices, np.ndarray | np.generic) else on.asarray(np.asarray(indices))
    )


def _axis(axis: Any, ndim: int) -> int | None:
    """Return an axis counted from 0; raise if the array has no such axis."""
    if axis is None:
        return None
    if isinstance(axis, bool) or not isinstance(axis, int | np.integer):
        raise AxisError(f"axis: an int or None; got {quoted(axis)}")
    axes = max(ndim, 1)  # as NumPy, which treats a number as an array of one element
    if not -axes <= axis < axes:
        raise AxisError(f"axis: {axis_rule(axes)}; got {quoted(axis)}")
    return int(axis) % axes


@keeps_calls()
def plan_call(
    request: TakeRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a take."""
    taken, indices = forms
    shapes = _Shapes.of(request.axis, taken.shape, indices.shape)
    result = contiguous(taken.dtype, shapes.result, alignment)
    (target,) = result_forms("take", (result,), written)
    n, word = math.prod(shapes.result), as_words(taken.dtype)
    traits = CallTraits((word, as_words(indices.dtype)), n, value_bytes=word.itemsize, **MOVES)

    def compiling(chosen: Variant) -> Launch:
        if not n:
            return nothing
        counted = indices._replace(dtype=np.dtype(np.uint8)) if indices.dtype.kind == "b" else indices
        layout = shapes.layout(taken._replace(dtype=word), counted, target._replace(dtype=word))
        accesses = layout.accesses
        vector = min(layout.vector_width(), chosen.items) if chosen.vectors else 1
        own = unchanged((word,))
        spec = TakeSpec(accesses[:2], accesses[2:], (word,), own, vector=vector, mode=request.mode)
        groups = chosen.groups(-(-n // chosen.tile), device.capabilities)
        launch = device.kernel(chosen, spec).prepare(groups, layout.pack(0), n, shapes.length)
        if request.mode == "raise":
            return _checked(device, launch, KnownArrays(), shapes.length)
        return with_counters(device, launch, 2, one_kernel=True)

    by_numpy = None
    if taken.shape and np.can_cast(indices.dtype, np.intp):
        picks = is_contiguous(taken)  # NumPy copies all of an array that is not
        few = _FEW_OF_ROWS if picks and math.prod(shapes.behind) > 1 else _FEW
        by_numpy = ByNumPy(partial(_taken, axis=request.axis, mode=request.mode), few, picks=picks)
    what = device, "take", traits, (result,), compiling
    return LaunchPlan(*what, asked=variant, inputs=range(2), by_numpy=by_numpy)


def _taken(x: np.ndarray, indices: np.ndarray, *, axis: int | None, mode: Mode) -> np.ndarray:
    """Take with NumPy."""
    try:
        return x.take(indices, axis, mode=mode)
    except IndexError:
        length = x.size if axis is None else x.shape[axis]
        raise OutsideError(f"{_rule(length)}; got others") from None


def _rule(length: int) -> str:
    return f"take: indices from {-length} to {length - 1}, as the axis has {length} elements"


def _checked(device: Device, launch: Launch, known: KnownArrays, length: int) -> Launch:
    """Return a launch that waits for the kernel's check, unless an earlier call found the same indices valid.

    In that case a later call raises (docs/decisions/0021).
    """
    rule = _rule(length)

    def fault(_: int) -> Exception:
        known.forget()  # the next call waits again
        return OutsideError(f"{rule}; got an array that was right in one call, and wrong in a later one")

    def start(memories: Sequence[Any]) -> None:
        driver, indices = device.driver, memories[1]
        device.faults.check()
        report, seen = driver.report(), indices in known
        launch([*memories, report.memory, driver.counters(2)])
        if seen:
            report.leave()
            device.faults.add(report, fault)
            return
        if report.read():
            raise OutsideError(f"{rule}; got others")
        if type(indices) in REGISTRY.facts_by_class:
            known.add(indices)

    return start


def raise_outside(operands: Operands, request: TakeRequest) -> None:
    """Raise for the first index that is out of bounds, if there is one."""
    x, indices = operands.natives
    length = _Shapes.of(request.axis, x.shape, indices.shape).length
    if not isinstance(indices, np.ndarray):
        indices = operands.driver.to_host(indices)
    wrong = np.argwhere(is_outside(np.atleast_1d(indices), length))
    if len(wrong):
        place = tuple(wrong[0].tolist())
        got = f"indices{list(place) if indices.ndim else ''} = {np.atleast_1d(indices)[place]}"
        rule = f"indices from {-length} to {length - 1}" if length else "no indices into an axis of length 0"
        raise IndicesError(f"take: {rule}; got {got} (mode='wrap' and mode='clip' take any index)")


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a take of ``call.size`` elements by ``call.size`` int64 indices."""
    forms = tuple(contiguous(dtype, (call.size,), 16) for dtype in (call.dtype, np.dtype(np.int64)))
    return plan_call(TakeRequest(None, "raise"), forms, None, 16, call.device, None, 0)
