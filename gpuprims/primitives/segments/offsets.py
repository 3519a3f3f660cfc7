"""Row offsets of segments, as in CSR, checked on their device; and the marks of segments, which scan kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, plan_layout
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.expressions import Expr, trace, typed
from gpuprims.operators import Op, make_folding
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.map import map as map_arrays

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)
_LEAST, _MOST = int(np.iinfo(_INT64).min), int(np.iinfo(_INT64).max)
_TO_INT64 = trace(lambda x: x.astype(np.int64))

# The lengths of the shortest and the longest segment, and the smallest and the largest offset, which are the first and
# the last if no length is negative.
_EXTREMES = Op(
    lambda p, q: (np.minimum(p[0], q[0]), np.maximum(p[1], q[1]), np.minimum(p[2], q[2]), np.maximum(p[3], q[3])),
    (_MOST, _LEAST, _MOST, _LEAST),
    commutative=True,
    name="extremes of offsets",
)
_LENGTHS = trace(lambda first, second: (second - first, second - first, first, second), 2)

# Functions of two neighbouring offsets and the segment's number: marks, and where to write them.
_TRUE = trace(lambda first, second, j: True, 3)
_NUMBER = trace(lambda first, second, j: j + 1, 3)
_BEGIN = trace(lambda value, j, first, second: np.where(first < second, first, -1), 4)
_END = trace(lambda value, j, first, second: np.where(first < second, second - 1, -1), 4)
_EVERYWHERE = trace(lambda value, j, first, second: j, 4)


class Segments:
    """Row offsets of the arrays of a call, checked, and the marks of their segments."""

    def __init__(self, offsets: Any, operands: Operands) -> None:
        self.size = _flat_size(operands)  # elements of an array
        self._operands = operands
        self._array, shortest, self.longest = _checked(offsets, operands, self.size)
        self.count = int(self._array.size) - 1
        self.has_empty = self.count > 0 and shortest == 0

    @cached_property
    def offsets(self) -> Any:
        """The offsets on the device, or on a host that shares its memory."""
        on_host = isinstance(self._array, np.ndarray) and not self._operands.in_place
        return self._operands.driver.asarray(self._array) if on_host else self._array

    def kept(self, *, apart: bool) -> Any:
        """Return the offsets; with ``apart`` a copy, because kernels may write to the caller's memory."""
        if not apart:
            return self.offsets
        device = self._operands.device
        return self.offsets.copy() if self._operands.in_place else map_arrays("x", self.offsets, device=device)

    def heads(self) -> Any:
        """Return an array of bools, True where a segment begins."""
        return self._marks(_TRUE, _BEGIN, _BOOL)

    def ends(self) -> Any:
        """Return an array with the number of each segment, counted from 1, at its last element, and 0 elsewhere."""
        return self._marks(_NUMBER, _END, end_dtype(self.count))

    def fill(self, form: Form, memory: Any, value: Any) -> None:
        """Write a value to all elements of an array on the device."""
        self._write(trace(lambda first, second, j: value, 3), _EVERYWHERE, form, memory)

    def _marks(self, function: Expr, place: Expr, dtype: np.dtype[Any]) -> Any:
        marks = self._operands.zeros((self.size,), dtype)
        form, memory = self._operands.form(marks), self._operands.memory(marks) if self.size else None
        self._write(function, place, form, memory)
        return marks

    def _write(self, function: Expr, place: Expr, form: Form, memory: Any) -> None:
        if form.shape[0]:
            (offsets,), (read,) = self._placed.place()
            launch = _writer(function, place, offsets, form, self._operands.device, REGISTRY.generation)
            launch([read, read, memory])

    @cached_property
    def _placed(self) -> Operands:
        """The offsets as a kernel's operands."""
        return self._operands.instead(self.offsets)


def end_dtype(count: int) -> np.dtype[Any]:
    """Return the dtype of :meth:`Segments.ends` for a number of segments."""
    return np.dtype(np.int32 if count < 2**31 else np.int64)


def along_one_axis(*groups: Sequence[Form]) -> tuple[tuple[int], list[list[Form]]]:
    """Lay one-dimensional arrays of any lengths along one axis: layouts have the strides, kernels know the lengths."""
    lengths = [form.shape[0] for forms in groups for form in forms if form.shape]
    shape = (max(2, *lengths),)  # layouts keep no stride for an axis of one element
    return shape, [[form._replace(shape=shape) if form.shape else form for form in forms] for forms in groups]


def _flat_size(operands: Operands) -> int:
    """Return the common length of one-dimensional arrays, or raise."""
    shapes = {native.shape for native in operands.natives if native.shape}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        got = " and ".join(str(native.shape) for native in operands.natives)
        raise ShapeError(f"{operands.label}: arrays of one dimension and one length with segments=; got {got}")
    return int(next(iter(shapes))[0])


def _checked(offsets: Any, operands: Operands, size: int) -> tuple[Any, int, int]:
    """Return offsets of int64, on the host or the device, and the lengths of the shortest and the longest segment.

    Raise unless the offsets are integers in one dimension that rise from 0 to ``size``.
    """
    label, device = operands.label, operands.device
    given = as_operands(label, (offsets,), device)
    array = given.natives[0]
    if array.ndim != 1 or not array.size:
        raise ShapeError(f"{label}: segments= of one dimension, an offset for each and the end; got {array.shape}")
    if array.dtype.kind not in "iu":
        raise DtypeError(f"{label}: segments= of integers; got dtype {array.dtype}")
    if given.on_host or operands.in_place or array.size == 1:
        return _checked_on_host(label, given.to_host(array), size)
    there = array if array.dtype == _INT64 else map_arrays(_TO_INT64, array, device=device)
    shortest, longest, first, last = _extremes(device, there)
    if first != 0 or last != size or shortest < 0:
        _checked_on_host(label, given.to_host(array), size)  # raises, and names the place
    return there, shortest, longest


def _checked_on_host(label: str, offsets: np.ndarray, size: int) -> tuple[np.ndarray, int, int]:
    whole = np.ascontiguousarray(offsets, np.int64)
    if whole[0] != 0 or whole[-1] != size:
        rule = f"{label}: segments= from 0 to {size}, the number of elements"
        raise ArgumentError(f"{rule}; got {whole[0]} to {whole[-1]}")
    lengths = np.diff(whole)
    shortest, longest = (int(lengths.min()), int(lengths.max())) if lengths.size else (0, 0)
    if shortest < 0:
        k = int(np.argmax(lengths < 0))
        raise ArgumentError(f"{label}: segments= that never decrease; got {whole[k]} before {whole[k + 1]} at {k}")
    return whole, shortest, longest


def _extremes(device: Device, offsets: Any) -> list[int]:
    """Return the shortest and the longest length, and the smallest and the largest offset, of offsets on the device."""
    driver = device.driver
    found = driver.empty((4,), _INT64)
    places = [driver.cut(found, k, ()) for k in range(4)]
    pair = [offsets[:-1], offsets[1:]]
    forms, targets = (tuple(map(driver.form, arrays)) for arrays in (pair, places))
    _plan_extremes(forms, targets, device, REGISTRY.generation).compiled()([*pair, *places])
    return [int(value) for value in driver.to_host(found)]


@keeps_calls()
def _plan_extremes(forms: tuple[Form, ...], targets: tuple[Form, ...], device: Device, generation: int) -> LaunchPlan:
    folding = make_folding(_EXTREMES, _LENGTHS, (_INT64, _INT64), None)
    return plan_fold(device, forms, targets, folding, forms[0].shape, (0,), commutative=True)


@keeps_calls()
def _writer(function: Expr, place: Expr, offsets: Form, target: Form, device: Device, generation: int) -> Any:
    """Return a launch of map over pairs of neighbouring offsets, or with ``_EVERYWHERE`` over the target's elements."""
    every = place is _EVERYWHERE
    size = target.shape[0] if every else offsets.shape[0] - 1
    stride = 0 if every else offsets.strides[0]
    first = offsets._replace(shape=(size,), strides=(stride,))
    second = first._replace(offset=first.offset + stride)
    shape, (inputs, targets) = along_one_axis((first, second), (target,))
    layout = plan_layout((*inputs, *targets), shape, (0,))
    own, numbers = (target.dtype,), (_INT64, _INT64, _INT64)
    spec = KernelSpec(
        layout.accesses[:2],
        layout.accesses[2:],
        own,
        typed(function, numbers, own),
        typed(trace(lambda value, *_: value, 4), (*own, *numbers), own),
        typed(place, (*own, *numbers), (_INT64,)),
    )
    chosen = device.select("map", CallTraits((_INT64, *own), 1, size, value_bytes=target.dtype.itemsize))
    groups = chosen.groups(-(-size // chosen.tile), device.capabilities)
    return device.kernel(chosen, spec).prepare(groups, layout.pack(0), size)
