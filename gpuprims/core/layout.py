"""The memory layout of a call's operands.

A :class:`Form` describes one operand. :func:`plan_layout` splits the axes of all operands into kept and reduced ones
and merges neighbouring axes, so that most calls have at most one axis of each kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.axis_order import arranged, divider, merged
from gpuprims.core.kernel_spec import Access, Dtype, StrideClass
from gpuprims.errors import ArrayError


class Form(NamedTuple):
    """The layout of an operand, without its memory.

    The element at index ``i`` starts ``offset + sum(i * strides)`` bytes into the memory and consists of ``lanes``
    neighbouring numbers. The address of the memory is ``phase`` bytes above a multiple of ``alignment`` bytes.
    """

    dtype: Dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    alignment: int = 1
    lanes: int = 1
    phase: int = 0

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize * self.lanes

    @property
    def divides_address(self) -> int:
        """The largest power of two known to divide the address of the memory."""
        return self.phase & -self.phase or self.alignment

    def begins_at(self, offset: int, nbytes: int) -> bool:
        """Return True if the address of the byte at an offset is a multiple of ``nbytes``."""
        return self.alignment >= nbytes and (self.phase + offset) % nbytes == 0


class View(NamedTuple):
    """A host array as a device sees it: the kernel's argument, its form, and an object to keep alive with it."""

    memory: Any
    form: Form
    keep: Any = None


@dataclass(frozen=True)
class Layout:
    """The merged axes of all operands of one launch.

    ``kept`` and ``reduced`` are the lengths of the axes, outermost first. ``kept_strides[k]`` and
    ``reduced_strides[k]`` are the strides of operand ``k`` along them, in elements; so is ``offsets[k]``. If the
    reduced axes are not in index order, ``index_strides`` and ``index_offset`` give the index of an element along them.
    """

    forms: tuple[Form, ...]
    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    kept_strides: tuple[tuple[int, ...], ...]
    reduced_strides: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]
    index_strides: tuple[int, ...] | None = None
    index_offset: int = 0

    @property
    def accesses(self) -> tuple[Access, ...]:
        """How a kernel accesses each operand."""
        narrow = self.narrow
        return tuple(
            Access(form.dtype, _classes(kept), _classes(reduced), form.lanes, narrow)
            for form, kept, reduced in zip(self.forms, self.kept_strides, self.reduced_strides, strict=True)
        )

    @property
    def index(self) -> tuple[StrideClass, ...] | None:
        """The stride class of the index along each reduced axis; None if elements are in index order."""
        return None if self.index_strides is None else _classes(self.index_strides)

    @cached_property
    def narrow(self) -> bool:
        """True if 32-bit dividers split indices by axis, in a tenth of the time of 64-bit divisions."""
        groups = ((self.kept, self.kept_strides), (self.reduced, self.reduced_strides))
        if all(len(lengths) < 2 for lengths, _ in groups):
            return False  # nothing to split
        spans = [math.prod(lengths) for lengths, _ in groups]
        spans += [
            sum(abs(stride) * n for stride, n in zip(own, lengths, strict=True))
            for lengths, strides in groups
            for own in strides
        ]
        return max(spans) < 2**31 and all(n > 1 for lengths, _ in groups for n in lengths[1:])

    def pack(self, count: int) -> np.ndarray:
        """Return the ``layout_t`` that kernels take by value; ``count`` is the number of elements folded."""
        numbers = [count, *self.kept, *self.reduced, *self.offsets]
        for strides in (*self.kept_strides, *self.reduced_strides):
            numbers += strides
        if self.index_strides is not None:
            numbers += [self.index_offset, *self.index_strides]
        if self.narrow:
            numbers += [divider(n) for n in (*self.kept, *self.reduced)]
        return np.array(numbers, dtype=np.int64)

    def side_by_side(self, inputs: int) -> bool:
        """Return True if neighbouring outputs of the first operands lie closer in memory than neighbouring elements.

        Short runs of neighbouring elements count as one element.
        """
        if not self.kept:
            return False
        operands = range(inputs)
        if not self.reduced:
            strides = [self.kept_strides[k][-1] for k in operands]
            return set(strides) <= {0, 1} and 1 in strides
        outputs = self._apart(self.kept_strides, operands)
        elements, run = self._apart(self.reduced_strides, operands), self.reduced[-1]
        short = len(self.reduced) > 1 and run * elements <= _SHORT_RUN
        return outputs <= run * elements if short else outputs < elements

    def _apart(self, strides: Sequence[Sequence[int]], operands: Sequence[int]) -> int:
        """Return the bytes between neighbours along the last axis, added up over operands."""
        return sum(abs(strides[k][-1]) * self.forms[k].item for k in operands)

    def flattened(self, inputs: int, *, indexed: bool) -> Layout | None:
        """Return the layout in which one index counts through all rows of the first operands.

        Return None unless each operand is a contiguous array of rows, one for each output. ``indexed`` says that the
        call needs the index of an element in its row.
        """
        if len(self.kept) != 1 or len(self.reduced) != 1 or self.index_strides is not None:
            return None
        (outputs,), (n,) = self.kept, self.reduced
        if any(self.kept_strides[k] != (n,) or self.reduced_strides[k] != (1,) for k in range(inputs)):
            return None
        others = range(inputs, len(self.forms))
        still = (*((0,),) * inputs, *(self.kept_strides[k] for k in others))
        if not indexed:
            return replace(self, reduced=(outputs * n,), kept_strides=still)
        rows = (*((n, 1),) * inputs, *((0, 0),) * len(others))
        return replace(self, reduced=(outputs, n), kept_strides=still, reduced_strides=rows, index_strides=(0, 1))

    def vector_width(self) -> int:
        """Return how many neighbours along the reduced axes one instruction may load or store.

        Along the innermost axis, each operand must have stride 0, or stride 1 and be aligned. The length of the axis
        must be a multiple of the width. A vector of the widest dtype has at most 16 bytes.
        """
        moving = [k for k, strides in enumerate(self.reduced_strides) if strides and strides[-1] != 0]
        starts = [(*self.kept_strides[k], *self.reduced_strides[k][:-1]) for k in moving]
        rows = self.reduced[-1] if len(self.reduced) > 1 else 0  # no vector crosses the end of a row
        return self._width(moving, self.reduced_strides, starts, rows)

    def width_across(self, inputs: int) -> int:
        """Return how many neighbouring outputs of the first operands one instruction may load, by these rules."""
        moving = [k for k in range(inputs) if self.kept_strides[k] and self.kept_strides[k][-1] != 0]
        starts = [(*self.kept_strides[k][:-1], *self.reduced_strides[k]) for k in moving]
        return self._width(moving, self.kept_strides, starts, self.kept[-1] if self.kept else 0)

    def _width(
        self,
        moving: Sequence[int],
        strides: Sequence[Sequence[int]],
        starts: Sequence[Sequence[int]],
        length: int,
    ) -> int:
        """Return the vector width of the operands ``moving``; rows of each begin at multiples of its ``starts``."""
        if not moving or any(strides[k][-1] != 1 for k in moving):
            return 1
        width = VECTOR_BYTES // max(self.forms[k].item for k in moving)
        while width > 1 and (
            length % width or not all(self._aligned(k, own, width) for k, own in zip(moving, starts, strict=True))
        ):
            width //= 2
        return max(width, 1)

    def width_of_pairs(self, inputs: int) -> int:
        """Return the vector width for inputs of stride 1 and 2, which loads all elements; 0 where it gains nothing."""
        forms, width = self.forms[:inputs], VECTOR_BYTES // max(form.item for form in self.forms[:inputs])
        whole = all(form.begins_at(self.offsets[k] * form.item, VECTOR_BYTES) for k, form in enumerate(forms))
        paired = {(2,)} <= set(self.reduced_strides[:inputs]) <= {(1,), (2,)}
        return width if paired and whole and width >= _FEWEST_PAIRED else 0

    def width_of(self, k: int) -> int:
        """Return how many neighbours of an operand of stride 1 one instruction may move."""
        width = max(VECTOR_BYTES // self.forms[k].item, 1)
        starts = (*self.kept_strides[k], *self.reduced_strides[k][:-1])
        while width > 1 and not self._aligned(k, starts, width):
            width //= 2
        return width

    def _aligned(self, k: int, starts: Sequence[int], width: int) -> bool:
        """Return True if an operand, and each of its rows, starts at a multiple of the vector size."""
        form = self.forms[k]
        return not any(start % width for start in starts) and form.begins_at(
            self.offsets[k] * form.item, width * form.item
        )


def starts_of(forms: Sequence[Form]) -> Layout:
    """Return a layout of offsets only, for kernels that have the strides of their operands compiled in."""
    still = ((),) * len(forms)
    return Layout(tuple(forms), (), (), still, still, tuple([form.offset // form.item for form in forms]))


# Largest size in bytes of one load or store; wider ones gain nothing on GPUs.
VECTOR_BYTES = 16
_FEWEST_PAIRED = 8  # vectors of fewer elements gain nothing
# Largest run in bytes that one work-item reads by itself while its neighbours read the next runs.
_SHORT_RUN = 64


def contiguous(dtype: Dtype, shape: tuple[int, ...], alignment: int) -> Form:
    """Return the form of a C-contiguous array."""
    strides, stride = [], dtype.itemsize
    for length in reversed(shape):
        strides.append(stride)
        stride *= max(length, 1)
    return Form(dtype, shape, tuple(reversed(strides)), 0, alignment)


def turned(form: Form) -> Form:
    """Return the Fortran-ordered form of an array, given its C-contiguous form."""
    return form._replace(strides=contiguous(form.dtype, form.shape[::-1], 1).strides[::-1])


def is_contiguous(form: Form) -> bool:
    """Return True for a C-contiguous array."""
    expected = contiguous(form.dtype, form.shape, 1).strides
    return all(n == 1 or a == b for n, a, b in zip(form.shape, form.strides, expected, strict=True))


def _classes(strides: Sequence[int]) -> tuple[StrideClass, ...]:
    return tuple(stride if stride in (-1, 0, 1, 2, 3, 4) else None for stride in strides)


def in_elements(form: Form, distances: Sequence[int]) -> tuple[int, ...]:
    """Convert distances from bytes to elements; raise :class:`ArrayError` unless they are multiples of an element."""
    if any(distance % form.item for distance in distances):
        rule = f"array: strides that are multiples of {form.item} bytes, an element"
        raise ArrayError(f"{rule}; got {tuple(distances)} (make a contiguous copy)")
    return tuple([distance // form.item for distance in distances])


def plan_layout(
    forms: Sequence[Form],
    shape: tuple[int, ...],
    reduced_axes: Sequence[int] = (),
    *,
    kept_by: Sequence[int] = (),
    reduced_by: Sequence[int] = (),
    indexed: bool = False,
) -> Layout:
    """Merge the axes of operands that broadcast to ``shape``; ``reduced_axes`` are folded, the others kept.

    Axes stay in index order, or take the memory order of the operands ``kept_by`` and ``reduced_by``, from lower to
    higher addresses. With ``indexed``, the layout then also gives the index of an element along the reduced axes.
    """
    strides = [_broadcast_strides(form, shape) for form in forms]
    offsets = [in_elements(form, (form.offset,))[0] for form in forms]
    chosen = set(reduced_axes)
    axes = [a for a in range(len(shape)) if a not in chosen], sorted(chosen)
    items = [form.item for form in forms]
    if indexed and reduced_by:
        steps, step = [0] * len(shape), 1
        for axis in reversed(axes[1]):
            steps[axis], step = step, step * shape[axis]
        strides.append(tuple(steps))
        offsets.append(0)
    kept = merged(arranged(axes[0], shape, strides, offsets, items, kept_by), shape, strides)
    reduced = merged(arranged(axes[1], shape, strides, offsets, items, reduced_by), shape, strides)
    many = len(forms)
    layout = Layout(tuple(forms), kept[0], reduced[0], kept[1][:many], reduced[1][:many], tuple(offsets[:many]))
    if len(strides) == many or (offsets[-1] == 0 and reduced[1][-1] == _dense(reduced[0])):
        return layout
    return replace(layout, index_strides=reduced[1][-1], index_offset=offsets[-1])


def _dense(lengths: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a C-contiguous array, in elements."""
    return contiguous(np.dtype(np.int8), tuple(lengths), 1).strides


def _broadcast_strides(form: Form, shape: tuple[int, ...]) -> tuple[int, ...]:
    missing = len(shape) - len(form.shape)
    own = tuple(0 if n == 1 else stride for n, stride in zip(form.shape, form.strides, strict=True))
    return (0,) * missing + in_elements(form, own)
