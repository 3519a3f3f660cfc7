"""Where the elements of a call's operands lie: shapes and steps, merged to the fewest axes.

A :class:`View` is one operand as a backend hands it over, a :class:`Form` its geometry. :func:`plan_layout` splits the
axes into kept and reduced ones and merges neighbours that all operands walk in one stride, so that most calls come down
to one axis of each kind.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from gpuprims.definitions import Access, StepClass
from gpuprims.errors import ArrayError, ShapeError

Dtype = np.dtype[Any]


class Form(NamedTuple):
    """Where an operand's elements lie, without the memory: what a launch is planned from.

    The element at index ``i`` is ``offset + sum(i * steps)`` items into the memory, whose address is a multiple of
    ``alignment`` bytes.
    """

    dtype: Dtype
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    offset: int
    alignment: int = 1


class View(NamedTuple):
    """An operand in a device's memory: what a kernel is given, and what must live as long as it does."""

    memory: Any
    form: Form
    keep: Any = None


@dataclass(frozen=True)
class Layout:
    """The merged axes of all operands of one launch.

    ``kept`` and ``reduced`` are axis lengths, outermost first; ``kept_steps[k]`` and ``reduced_steps[k]`` the steps of
    operand ``k`` along them, in items.
    """

    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    kept_steps: tuple[tuple[int, ...], ...]
    reduced_steps: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]

    def accesses(self, dtypes: Sequence[Dtype]) -> tuple[Access, ...]:
        """Return how a kernel reads each operand."""
        return tuple(
            Access(dtype, _classes(kept), _classes(reduced))
            for dtype, kept, reduced in zip(dtypes, self.kept_steps, self.reduced_steps, strict=True)
        )

    def pack(self, count: int) -> np.ndarray:
        """Return the ``layout_t`` that kernels take by value: how many elements are folded, and every axis."""
        numbers = [count, *self.kept, *self.reduced, *self.offsets]
        for steps in (*self.kept_steps, *self.reduced_steps):
            numbers += steps
        return np.array(numbers, dtype=np.int64)

    def side_by_side(self) -> bool:
        """Whether neighbouring outputs read neighbouring elements of every operand, or the same ones."""
        steps = [own[-1] for own in self.kept_steps if own]
        return len(steps) == len(self.offsets) and set(steps) <= {0, 1} and 1 in steps

    def vector_width(self, forms: Sequence[Form], outputs: Sequence[Dtype]) -> int:
        """Return how many neighbours along the reduced axes a work-item may read, and write, at once.

        As many as 16 bytes hold of the widest dtype, where each operand lies side by side and aligned, or stands still.
        """
        steps = [own[0] for own in self.reduced_steps if len(own) == 1]
        if len(steps) != len(forms) or not set(steps) <= {0, 1} or 1 not in steps:
            return 1
        width = _VECTOR_BYTES // max(dtype.itemsize for dtype in (*outputs, *(form.dtype for form in forms)))
        for form, step, across in zip(forms, steps, self.kept_steps, strict=True):
            while step == 1 and width > 1 and not _aligned(form, across, width):
                width //= 2
        return width


# What a work-item moves in one instruction at best; wider ones gain nothing on GPUs.
_VECTOR_BYTES = 16


def _aligned(form: Form, across: Sequence[int], width: int) -> bool:
    """Whether every row of an operand starts at a whole vector."""
    return not any(start % width for start in (form.offset, *across)) and form.alignment >= width * form.dtype.itemsize


def _classes(steps: Sequence[int]) -> tuple[StepClass, ...]:
    return tuple(step if step in (0, 1) else None for step in steps)


def steps_of(strides: Sequence[int], dtype: Dtype) -> tuple[int, ...]:
    """Return strides in items; raises :class:`ArrayError` where they are not whole items."""
    size = dtype.itemsize
    for stride in strides:
        if stride % size:
            raise ArrayError(f"array: strides of whole items ({size} bytes); got {tuple(strides)}")
    return tuple([stride // size for stride in strides])  # a list is made faster than a generator


def host_memory(array: np.ndarray) -> tuple[np.ndarray, tuple[int, ...], int]:
    """Return the bytes of memory that a host array lies in, its steps in items, and its first element's place.

    A view keeps its strides, so that nothing is copied; a sparse or misaligned one is copied together first.
    """
    low, high = byte_bounds(array)
    misaligned = any(stride % array.itemsize for stride in array.strides) or not array.flags.aligned
    if misaligned or high - low > 2 * array.nbytes + 4096:
        array = np.array(array, order="C")
        low, high = byte_bounds(array)
    # Through ctypes, which gives writable memory: a driver that shares it asks for that, even when it only reads.
    raw = np.ctypeslib.as_array((ctypes.c_byte * (high - low)).from_address(low))
    memory = raw.view(_Owned)
    memory.owner = array
    start = array.__array_interface__["data"][0] - low
    return memory, steps_of(array.strides, array.dtype), start // array.itemsize


class _Owned(np.ndarray):
    """Bytes that keep their owner alive."""

    owner: np.ndarray


def broadcast_shapes(label: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common shape of arrays, or raise :class:`ShapeError` naming them."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        got = " and ".join(str(shape) for shape in shapes)
        raise ShapeError(f"{label}: shapes that broadcast together; got {got}") from error


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
    chosen = set(reduced_axes)
    kept = _merge([a for a in range(len(shape)) if a not in chosen], shape, steps)
    reduced = _merge(sorted(chosen), shape, steps)
    return Layout(kept[0], reduced[0], kept[1], reduced[1], tuple(form.offset for form in forms))


def _broadcast_steps(form: Form, shape: tuple[int, ...]) -> tuple[int, ...]:
    missing = len(shape) - len(form.shape)
    own = tuple(0 if n == 1 else step for n, step in zip(form.shape, form.steps, strict=True))
    return (0,) * missing + own


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
