"""The memory layout of a call's operands.

A :class:`Form` describes one operand. :func:`plan_layout` splits the axes of all operands into kept and reduced ones
and merges neighbouring axes, so that most calls have at most one axis of each kind.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from gpuprims.core.kernel_spec import Access, Dtype, StrideClass
from gpuprims.errors import ArrayError, ShapeError


class Form(NamedTuple):
    """The layout of an operand, without its memory.

    The element at index ``i`` starts ``offset + sum(i * strides)`` bytes into the memory and consists of ``lanes``
    neighbouring numbers. The address of the memory is a multiple of ``alignment`` bytes.
    """

    dtype: Dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    alignment: int = 1
    lanes: int = 1

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize * self.lanes


class View(NamedTuple):
    """A host array as a device sees it: the kernel's argument, its form, and an object to keep alive with it."""

    memory: Any
    form: Form
    keep: Any = None


@dataclass(frozen=True)
class Layout:
    """The merged axes of all operands of one launch.

    ``kept`` and ``reduced`` are the lengths of the axes, outermost first. ``kept_strides[k]`` and
    ``reduced_strides[k]`` are the strides of operand ``k`` along them, in elements; so is ``offsets[k]``.
    """

    forms: tuple[Form, ...]
    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    kept_strides: tuple[tuple[int, ...], ...]
    reduced_strides: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]

    @property
    def accesses(self) -> tuple[Access, ...]:
        """How a kernel accesses each operand."""
        return tuple(
            Access(form.dtype, _classes(kept), _classes(reduced), form.lanes)
            for form, kept, reduced in zip(self.forms, self.kept_strides, self.reduced_strides, strict=True)
        )

    def pack(self, count: int) -> np.ndarray:
        """Return the ``layout_t`` that kernels take by value; ``count`` is the number of elements folded."""
        numbers = [count, *self.kept, *self.reduced, *self.offsets]
        for strides in (*self.kept_strides, *self.reduced_strides):
            numbers += strides
        return np.array(numbers, dtype=np.int64)

    def side_by_side(self, inputs: int) -> bool:
        """Return True if neighbouring outputs read neighbouring elements of the first operands, or the same ones."""
        strides = [own[-1] for own in self.kept_strides[:inputs] if own]
        return len(strides) == inputs and set(strides) <= {0, 1} and 1 in strides

    def vector_width(self) -> int:
        """Return how many neighbours along the reduced axes one instruction may load or store.

        Along the innermost axis each operand must have stride 1 and be aligned, or have stride 0, and the axis must
        have a whole number of vectors. A vector of the widest dtype has at most 16 bytes.
        """
        if not self.reduced:
            return 1
        moving = [k for k, strides in enumerate(self.reduced_strides) if strides[-1] != 0]
        if not moving or any(self.reduced_strides[k][-1] != 1 for k in moving):
            return 1
        width = VECTOR_BYTES // max(self.forms[k].item for k in moving)
        rows = self.reduced[-1] if len(self.reduced) > 1 else 0  # no vector crosses the end of a row
        while width > 1 and (rows % width or not all(self._aligned(k, width) for k in moving)):
            width //= 2
        return max(width, 1)

    def width_of(self, k: int) -> int:
        """Return how many neighbours of an operand of stride 1 one instruction may move."""
        width = max(VECTOR_BYTES // self.forms[k].item, 1)
        while width > 1 and not self._aligned(k, width):
            width //= 2
        return width

    def _aligned(self, k: int, width: int) -> bool:
        """Return True if every row of an operand starts at a whole vector."""
        starts = (self.offsets[k], *self.kept_strides[k], *self.reduced_strides[k][:-1])
        return not any(start % width for start in starts) and self.forms[k].alignment >= width * self.forms[k].item


def starts_of(forms: Sequence[Form]) -> Layout:
    """Return a layout of offsets alone, for kernels that know the strides of their operands."""
    still = ((),) * len(forms)
    return Layout(tuple(forms), (), (), still, still, tuple([form.offset // form.item for form in forms]))


# Most bytes that one load or store moves; wider ones gain nothing on GPUs.
VECTOR_BYTES = 16


def contiguous(dtype: Dtype, shape: tuple[int, ...], alignment: int) -> Form:
    """Return the form of a C-contiguous array."""
    strides, stride = [], dtype.itemsize
    for length in reversed(shape):
        strides.append(stride)
        stride *= max(length, 1)
    return Form(dtype, shape, tuple(reversed(strides)), 0, alignment)


def is_contiguous(form: Form) -> bool:
    """Return True for a C-contiguous array."""
    expected = contiguous(form.dtype, form.shape, 1).strides
    return all(n == 1 or a == b for n, a, b in zip(form.shape, form.strides, expected, strict=True))


def as_lanes(form: Form, axis: int) -> tuple[Form, ...]:
    """Make an axis the components of vectors: one form if an instruction can move a vector, else one per component."""
    axis %= len(form.shape)
    count, stride = form.shape[axis], form.strides[axis]
    shape, strides = ((*own[:axis], *own[axis + 1 :]) for own in (form.shape, form.strides))
    part = form._replace(shape=shape, strides=strides)
    width = count * form.dtype.itemsize
    whole = stride == form.dtype.itemsize and not any(place % width for place in (part.offset, *part.strides))
    if whole and count in (2, 4, 8, 16) and width <= min(VECTOR_BYTES, form.alignment):
        return (part._replace(lanes=count),)
    return tuple(part._replace(offset=part.offset + k * stride) for k in range(count))


def _classes(strides: Sequence[int]) -> tuple[StrideClass, ...]:
    return tuple(stride if stride in (0, 1) else None for stride in strides)


def in_elements(form: Form, distances: Sequence[int]) -> tuple[int, ...]:
    """Return byte distances in elements; raise :class:`ArrayError` if they are not multiples of an element."""
    if any(distance % form.item for distance in distances):
        rule = f"array: strides that are multiples of {form.item} bytes, an element"
        raise ArrayError(f"{rule}; got {tuple(distances)} (make a contiguous copy)")
    return tuple([distance // form.item for distance in distances])


def reach(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Return the first byte of an array and the byte past its last, counted from its first element."""
    if 0 in shape:
        return 0, 0
    low = high = 0
    for n, stride in zip(shape, strides, strict=True):
        low, high = (low + (n - 1) * stride, high) if stride < 0 else (low, high + (n - 1) * stride)
    return low, high + itemsize


def bounds_of(array: np.ndarray) -> tuple[int, int]:
    """Return the first address of a host array and the one past its last."""
    if not array.flags.c_contiguous:
        return byte_bounds(array)
    first: int = array.__array_interface__["data"][0]
    return first, first + array.nbytes


def host_memory(array: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the memory of a host array, as bytes or as it is, and the offset of its first element in bytes."""
    if array.flags.carray:
        return array, 0
    low, high = byte_bounds(array)
    # ctypes makes the memory writable: a driver that shares it asks for that, even when it only reads.
    raw = np.ctypeslib.as_array((ctypes.c_byte * (high - low)).from_address(low))
    memory = raw.view(_Owned)
    memory.owner = array
    return memory, array.__array_interface__["data"][0] - low


def cut_array(array: np.ndarray, start: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return a view of consecutive elements of a C-contiguous host array."""
    return array.reshape(-1)[start : start + math.prod(shape)].reshape(shape)


class _Owned(np.ndarray):
    """Bytes with a reference to the array that owns them."""

    owner: np.ndarray


def broadcast_shapes(label: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common shape of arrays, or raise :class:`ShapeError`."""
    got = " and ".join(str(shape) for shape in shapes)
    too_many = f"{label}: at most 2^62 elements, which 64-bit indices count; got {got}"
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError as error:
        rule = f"{label}: shapes that broadcast together; got {got}"
        raise ShapeError(too_many if "too large" in str(error) else rule) from error
    if math.prod(shape) > _MOST_ELEMENTS:
        raise ShapeError(too_many)
    return shape


# Kernels count in 64-bit integers and may count a little beyond the last element.
_MOST_ELEMENTS = 2**62


def plan_layout(forms: Sequence[Form], shape: tuple[int, ...], reduced_axes: Sequence[int] = ()) -> Layout:
    """Merge the axes of operands that broadcast to ``shape``; ``reduced_axes`` are folded, the others kept."""
    strides = [_broadcast_strides(form, shape) for form in forms]
    offsets = tuple(in_elements(form, (form.offset,))[0] for form in forms)
    chosen = set(reduced_axes)
    kept = _merge([a for a in range(len(shape)) if a not in chosen], shape, strides)
    reduced = _merge(sorted(chosen), shape, strides)
    return Layout(tuple(forms), kept[0], reduced[0], kept[1], reduced[1], offsets)


def _broadcast_strides(form: Form, shape: tuple[int, ...]) -> tuple[int, ...]:
    missing = len(shape) - len(form.shape)
    own = tuple(0 if n == 1 else stride for n, stride in zip(form.shape, form.strides, strict=True))
    return (0,) * missing + in_elements(form, own)


def _merge(
    axes: Sequence[int], shape: tuple[int, ...], strides: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Drop axes of length 1, and merge two axes that every operand traverses with one stride."""
    lengths: list[int] = []
    merged: list[tuple[int, ...]] = []  # a stride per operand, for each axis
    for axis in axes:
        length, inner = shape[axis], tuple(own[axis] for own in strides)
        if length == 1:
            continue
        if lengths and all(outer == own * length for outer, own in zip(merged[-1], inner, strict=True)):
            lengths[-1] *= length
            merged[-1] = inner
        else:
            lengths.append(length)
            merged.append(inner)
    return tuple(lengths), tuple(tuple(axis[k] for axis in merged) for k in range(len(strides)))
