"""Row offsets of segments, as in CSR, checked on their device; and the marks of segments, which scan kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from gpuprims.core.arrays import copy_on
from gpuprims.core.contents import FEW, Contents
from gpuprims.core.device import Device, device_of
from gpuprims.core.faults import KnownArrays
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Form, is_contiguous, plan_layout
from gpuprims.core.operands import Operands, Placed, as_operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import MOVES, CallTraits
from gpuprims.errors import ArgumentError, DtypeError, ShapeError
from gpuprims.expressions import Expr, trace, typed
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.segments.contents import MANY, USUAL

_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)
# Functions of two neighbouring offsets and the segment's number: marks, and where to write them.
_TRUE = trace(lambda first, second, j: True, 3)
_NUMBER = trace(lambda first, second, j: j + 1, 3)
_INDEX = trace(lambda first, second, j: j, 3)
_BEGIN = trace(lambda value, j, first, second: np.where(first < second, first.astype(np.int64), -1), 4)
_END = trace(lambda value, j, first, second: np.where(first < second, second.astype(np.int64) - 1, -1), 4)
_EVERYWHERE = trace(lambda value, j, first, second: j, 4)


# Copies of offsets that nobody else can write to, and that need no second check.
OWN_COPIES = KnownArrays()
# Offsets that this library made: they are right, have no empty segments, and stay internal.
MADE = KnownArrays()


@lru_cache(maxsize=8)
def _copy_of_many(device: Device, order: int, contents: Contents) -> Any:
    contents.keep()
    return device.driver.asarray(contents.array)


def _on_device(offsets: np.ndarray, device: Device) -> Any:
    """Return a copy of offsets of the host on a device, the same copy for equal offsets unless there are very many."""
    if offsets.nbytes > MANY:
        return device.driver.asarray(offsets)
    few = offsets.nbytes <= FEW  # copies are kept, so that equal offsets are the same array to later calls
    copy = copy_on(device, offsets) if few else _copy_of_many(device, device.driver.order, Contents(offsets))
    if copy not in OWN_COPIES:
        OWN_COPIES.add(copy)
    return copy


def beside_arrays(offsets: Any, arrays: Sequence[Any]) -> Any:
    """Return the offsets, or their copy on the arrays' device, as the key of a warm call."""
    if type(offsets) is not np.ndarray or offsets.dtype not in USUAL or not 0 < offsets.nbytes <= MANY:
        return offsets
    if not offsets.flags.c_contiguous or not arrays or (device := device_of(arrays[0])) is None:
        return offsets
    return _on_device(offsets, device)


class Segments:
    """Row offsets of the arrays of a call, checked, and the marks of their segments."""

    def __init__(self, offsets: Any, operands: Operands, size: int | None = None) -> None:
        """Take offsets for arrays of one dimension, or of a number of elements."""
        self.size = _flat_size(operands) if size is None else size
        self.label = operands.label
        self._operands = operands
        self._placed_before, self._array = _given(offsets, operands)
        self.count = int(self._array.size) - 1
        self._made = self._array in MADE

    def check(self) -> None:
        """Raise unless the offsets rise from 0 to the number of elements."""
        if not self._made:
            _ = self._checked

    @property
    def on_host(self) -> np.ndarray:
        """The offsets on the host, checked."""
        return self._checked

    @property
    def has_empty(self) -> bool:
        """True if a segment has no elements."""
        return not self._made and bool((self._checked[1:] == self._checked[:-1]).any())

    def lengths(self) -> np.ndarray:
        """Return the number of elements of each segment, on the host."""
        return np.diff(self._checked)

    @property
    def common_length(self) -> int | None:
        """The length of all segments; None if they differ."""
        first = int(self._checked[1]) if self.count else -1
        if first * self.count != self.size:  # most often, and found without all lengths
            return None
        return first if (self.lengths() == first).all() else None

    @cached_property
    def _checked(self) -> np.ndarray:
        """The offsets on the host, checked."""
        label, array, operands = self.label, self._array, self._operands
        if not isinstance(array, np.ndarray):
            if not is_contiguous(operands.driver.form(array)):  # pyopencl only reads contiguous arrays
                array = map_arrays("x", array, device=operands.device)
            array = operands.driver.to_host(array)
        offsets: np.ndarray = array
        begin, end = int(offsets[0]), int(offsets[-1])
        falls = offsets[1:] < offsets[:-1]
        if begin == 0 and end == self.size and not falls.any():
            return offsets
        if begin != 0 or end != self.size:
            rule = f"{label}: segments= from 0 to {self.size}, the number of elements"
            raise ArgumentError(f"{rule}; got {begin} to {end}")
        k = int(np.argmax(falls))
        got = f"{offsets[k]} before {offsets[k + 1]} at index {k}"
        raise ArgumentError(f"{label}: segments= that never decrease; got {got}")

    @cached_property
    def offsets(self) -> Any:
        """The offsets on the device, or on a host that shares its memory."""
        array, operands = self._array, self._operands
        if not isinstance(array, np.ndarray) or operands.in_place:
            return array
        return _on_device(array, operands.device)

    def beside(self, *, apart: bool) -> Operands:
        """Return the arrays and the offsets; ``apart`` for a copy, because kernels may write to the caller's memory."""
        own, there = self._operands, self._placed_before
        if apart:
            return own.beside(self.offsets.copy() if own.in_place else map_arrays("x", self.offsets, device=own.device))
        if own.placed is None or there is None:
            return own.beside(self.offsets)
        forms = (*own.placed[0], *there[0])  # a warm call of arrays on the device describes none of them again
        return Operands(own.label, own.device, (*own.natives, self._array), False, own.convert, forms)

    def heads(self) -> Any:
        """Return an array of bools, True where a segment begins."""
        return self._marks(_TRUE, _BEGIN, _BOOL)

    def firsts(self) -> Any:
        """Return an array with the number of each segment, counted from 0, at its first element, and 0 elsewhere."""
        return self._marks(_INDEX, _BEGIN, index_dtype(self.count))

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


def index_dtype(count: int) -> np.dtype[Any]:
    """Return the dtype of :meth:`Segments.firsts` for a number of segments."""
    return np.min_scalar_type(max(count - 1, 0))


def across_rows(operands: Operands, marks: Any, axis: int) -> Any:
    """Return marks of the elements of a row as an array that broadcasts along the other axes."""
    axes = max(native.ndim for native in operands.natives)
    return operands.cut(marks, 0, tuple(marks.shape[0] if k == axis else 1 for k in range(axes)))


def along_one_axis(*groups: Sequence[Form], axis: int = 0) -> tuple[tuple[int, ...], list[list[Form]]]:
    """Lay out arrays that differ in length along one axis only: layouts have strides, and kernels know the lengths."""
    arrays = [form.shape for forms in groups for form in forms if form.shape]
    shape = tuple(map(max, zip(*arrays, strict=True)))
    shape = (
        *shape[:axis],
        max(2, shape[axis]),
        *shape[axis + 1 :],
    )  # layouts keep no stride for an axis of one element

    def lengthened(form: Form) -> Form:
        return form._replace(shape=(*form.shape[:axis], shape[axis], *form.shape[axis + 1 :]))

    return shape, [[lengthened(form) if form.shape else form for form in forms] for forms in groups]


def _flat_size(operands: Operands) -> int:
    """Return the common length of one-dimensional arrays, or raise."""
    first = operands.natives[0].shape
    if len(operands.natives) == len(first) == 1:
        return int(first[0])
    shapes = {native.shape for native in operands.natives if native.shape}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        got = " and ".join(str(native.shape) for native in operands.natives)
        axes = operands.label in ("reduce", "scan") and any(len(shape) > 1 for shape in shapes)
        hint = " (segments lie along an axis: write axis=)" if axes else ""
        raise ShapeError(f"{operands.label}: arrays of one dimension and one length with segments=; got {got}{hint}")
    return int(next(iter(shapes))[0])


def _given(offsets: Any, operands: Operands) -> tuple[Placed | None, Any]:
    """Return where offsets on a device lie, and their array, on the host if kernels work there.

    Raise unless they are integers in one dimension.
    """
    label = operands.label
    if operands.in_place and type(offsets) is np.ndarray and offsets.dtype in USUAL and offsets.flags.carray:
        given, array = None, offsets  # kernels read it as it is
    else:
        given = as_operands(label, (offsets,), operands.device)
        array = given.natives[0]
    if array.ndim != 1 or not array.size:
        raise ShapeError(f"{label}: segments= of one dimension, an offset for each and the end; got {array.shape}")
    if array.dtype.kind not in "iu":
        raise DtypeError(f"{label}: segments= of integers; got dtype {array.dtype}")
    if given is None:
        return None, array
    return given.placed, given.to_host(array) if operands.in_place else array


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
    own, numbers = (target.dtype,), (offsets.dtype, offsets.dtype, _INT64)
    behind = (*own, _INT64, offsets.dtype, offsets.dtype)  # of functions that take a value
    spec = KernelSpec(
        layout.accesses[:2],
        layout.accesses[2:],
        own,
        typed(function, numbers, own),
        typed(trace(lambda value, *_: value, 4), behind, own),
        typed(place, behind, (_INT64,)),
    )
    chosen = device.select("map", CallTraits((_INT64, *own), 1, size, value_bytes=target.dtype.itemsize, **MOVES))
    groups = chosen.groups(-(-size // chosen.tile), device.capabilities)
    return device.kernel(chosen, spec).prepare(groups, layout.pack(0), size)
