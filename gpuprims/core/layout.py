"""Where the elements of a call's operands lie: shapes and steps, merged to the fewest axes.

A :class:`Form` is the geometry of one operand. :func:`plan_layout` splits the axes into kept and reduced ones and
merges neighbours that all operands walk in one stride, so that most calls come down to one axis of each kind.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from gpuprims.core.kernel_spec import Access, StrideClass
from gpuprims.errors import ArrayError, ShapeError

Dtype = np.dtype[Any]


class Form(NamedTuple):
    """Where an operand's elements lie, without the memory: what a launch is planned from.

    The element at index ``i`` is ``offset + sum(i * strides)`` bytes into the memory, whose address is a multiple of
    ``alignment`` bytes. It is a vector of ``lanes`` numbers of the dtype, side by side.
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
    """A host array as a device sees it: what a kernel is given, and what must live as long as that does."""

    memory: Any
    form: Form
    keep: Any = None


@dataclass(frozen=True)
class Layout:
    """The merged axes of all operands of one launch.

    ``kept`` and ``reduced`` are axis lengths, outermost first; ``kept_steps[k]`` and ``reduced_steps[k]`` the steps of
    operand ``k`` along them, in items.
    """

    forms: tuple[Form, ...]
    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    kept_steps: tuple[tuple[int, ...], ...]
    reduced_steps: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]

    @property
    def accesses(self) -> tuple[Access, ...]:
        """How a kernel reads, or writes, each operand."""
        return tuple(
            Access(form.dtype, _classes(kept), _classes(reduced), form.lanes)
            for form, kept, reduced in zip(self.forms, self.kept_steps, self.reduced_steps, strict=True)
        )

    def pack(self, count: int) -> np.ndarray:
        """Return the ``layout_t`` that kernels take by value: how many elements are folded, and every axis."""
        numbers = [count, *self.kept, *self.reduced, *self.offsets]
        for steps in (*self.kept_steps, *self.reduced_steps):
            numbers += steps
        return np.array(numbers, dtype=np.int64)

    def side_by_side(self, inputs: int) -> bool:
        """Whether neighbouring outputs read neighbouring elements of each of the first operands, or the same ones."""
        steps = [own[-1] for own in self.kept_steps[:inputs] if own]
        return len(steps) == inputs and set(steps) <= {0, 1} and 1 in steps

    def vector_width(self) -> int:
        """Return how many neighbours along the reduced axes a work-item may read, and write, at once.

        As many as 16 bytes hold of the widest, where each operand lies side by side and aligned along the innermost
        axis, or stands still, and that axis has a whole number of vectors.
        """
        if not self.reduced:
            return 1
        moving = [k for k, steps in enumerate(self.reduced_steps) if steps[-1] != 0]
        if not moving or any(self.reduced_steps[k][-1] != 1 for k in moving):
            return 1
        width = VECTOR_BYTES // max(self.forms[k].item for k in moving)
        while width > 1 and not (self._whole(width) and all(self._aligned(k, width) for k in moving)):
            width //= 2
        return max(width, 1)

    def width_of(self, k: int) -> int:
        """Return how many neighbours of one operand, side by side along the innermost axis, are moved at once."""
        width = max(VECTOR_BYTES // self.forms[k].item, 1)
        while width > 1 and not self._aligned(k, width):
            width //= 2
        return width

    def _whole(self, width: int) -> bool:
        """Whether no vector runs from one row into the next."""
        return len(self.reduced) == 1 or self.reduced[-1] % width == 0

    def _aligned(self, k: int, width: int) -> bool:
        """Whether every row of an operand starts at a whole vector."""
        starts = (self.offsets[k], *self.kept_steps[k], *self.reduced_steps[k][:-1])
        return not any(start % width for start in starts) and self.forms[k].alignment >= width * self.forms[k].item


def starts_of(forms: Sequence[Form]) -> Layout:
    """Return where operands begin, for kernels that know how far apart their elements lie."""
    still = ((),) * len(forms)
    return Layout(tuple(forms), (), (), still, still, tuple([form.offset // form.item for form in forms]))


# What a work-item moves in one instruction at best; wider ones gain nothing on GPUs.
VECTOR_BYTES = 16


def contiguous(dtype: Dtype, shape: tuple[int, ...], alignment: int) -> Form:
    """Return the form of a C-contiguous array."""
    strides, stride = [], dtype.itemsize
    for length in reversed(shape):
        strides.append(stride)
        stride *= max(length, 1)
    return Form(dtype, shape, tuple(reversed(strides)), 0, alignment)


def lies_together(form: Form) -> bool:
    """Whether an array is C-contiguous."""
    together = contiguous(form.dtype, form.shape, 1).strides
    return all(n == 1 or a == b for n, a, b in zip(form.shape, form.strides, together, strict=True))


def as_lanes(form: Form, axis: int) -> tuple[Form, ...]:
    """See an axis as the components of short vectors.

    Returns
    -------
    tuple of Form
        One, of vectors, where each can be moved in one instruction; else one for each component, over the same memory.
    """
    axis %= len(form.shape)
    count, stride = form.shape[axis], form.strides[axis]
    part = form._replace(shape=_without(form.shape, axis), strides=_without(form.strides, axis))
    vectors = part._replace(lanes=count)
    if stride == form.dtype.itemsize and _movable(vectors):
        return (vectors,)
    return tuple(part._replace(offset=part.offset + k * stride) for k in range(count))


def _without(values: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(value for k, value in enumerate(values) if k != axis)


def _movable(form: Form) -> bool:
    """Whether an element is of a width that processors move, and each lies at a multiple of it."""
    aligned = form.alignment >= form.item and not any(place % form.item for place in (form.offset, *form.strides))
    return form.lanes in (2, 4, 8, 16) and form.item <= VECTOR_BYTES and aligned


def _classes(steps: Sequence[int]) -> tuple[StrideClass, ...]:
    return tuple(step if step in (0, 1) else None for step in steps)


def whole_steps(form: Form, places: Sequence[int]) -> tuple[int, ...]:
    """Return byte distances in items; raises :class:`ArrayError` where they are not whole items."""
    if any(place % form.item for place in places):
        raise ArrayError(f"array: strides of whole items ({form.item} bytes); got {tuple(places)} (copy it together)")
    return tuple([place // form.item for place in places])


def reach(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Return the first byte and the one past the last of an array, counted from its first element."""
    if 0 in shape:
        return 0, 0
    low = high = 0
    for n, stride in zip(shape, strides, strict=True):
        low, high = (low + (n - 1) * stride, high) if stride < 0 else (low, high + (n - 1) * stride)
    return low, high + itemsize


def host_memory(array: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the bytes of memory that a host array lies in, and its first element's place in them."""
    low, high = byte_bounds(array)
    # Through ctypes, which gives writable memory: a driver that shares it asks for that, even when it only reads.
    raw = np.ctypeslib.as_array((ctypes.c_byte * (high - low)).from_address(low))
    memory = raw.view(_Owned)
    memory.owner = array
    return memory, array.__array_interface__["data"][0] - low


def stretch(array: np.ndarray, start: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return a view of that shape over elements of a C-contiguous host array, from one on."""
    return array.reshape(-1)[start : start + math.prod(shape)].reshape(shape)


def together(array: np.ndarray) -> np.ndarray:
    """Return a host array that kernels can walk in whole items: itself, or a copy of a sparse or misaligned one."""
    low, high = byte_bounds(array)
    misaligned = any(stride % array.itemsize for stride in array.strides) or not array.flags.aligned
    return np.array(array, order="C") if misaligned or high - low > 2 * array.nbytes + 4096 else array


class _Owned(np.ndarray):
    """Bytes that keep their owner alive."""

    owner: np.ndarray


def broadcast_shapes(label: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common shape of arrays, or raise :class:`ShapeError` naming them."""
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


# Kernels count in 64-bit integers, and a little beyond the last element.
_MOST_ELEMENTS = 2**62


def plan_layout(forms: Sequence[Form], shape: tuple[int, ...], reduced_axes: Sequence[int] = ()) -> Layout:
    """Merge the axes of a call.

    Parameters
    ----------
    forms : sequence of Form
        Operands that broadcast to ``shape``.
    shape : tuple of int
        The common shape.
    reduced_axes : sequence of int
        The axes of ``shape`` that are folded away, ascending; the others are kept.

    Returns
    -------
    Layout
    """
    steps = [_broadcast_steps(form, shape) for form in forms]
    offsets = tuple(whole_steps(form, (form.offset,))[0] for form in forms)
    chosen = set(reduced_axes)
    kept = _merge([a for a in range(len(shape)) if a not in chosen], shape, steps)
    reduced = _merge(sorted(chosen), shape, steps)
    return Layout(tuple(forms), kept[0], reduced[0], kept[1], reduced[1], offsets)


def _broadcast_steps(form: Form, shape: tuple[int, ...]) -> tuple[int, ...]:
    missing = len(shape) - len(form.shape)
    own = tuple(0 if n == 1 else stride for n, stride in zip(form.shape, form.strides, strict=True))
    return (0,) * missing + whole_steps(form, own)


def _merge(
    axes: Sequence[int], shape: tuple[int, ...], steps: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Drop axes of length 1 and join an axis to the one inside it where every operand goes on in the same stride."""
    lengths: list[int] = []
    walks: list[tuple[int, ...]] = []  # one step per operand, for each axis
    for axis in axes:
        length, walk = shape[axis], tuple(own[axis] for own in steps)
        if length == 1:
            continue
        if lengths and all(outer == inner * length for outer, inner in zip(walks[-1], walk, strict=True)):
            lengths[-1] *= length
            walks[-1] = walk
        else:
            lengths.append(length)
            walks.append(walk)
    per_operand = tuple(tuple(walk[k] for walk in walks) for k in range(len(steps)))
    return tuple(lengths), per_operand
