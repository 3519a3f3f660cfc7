"""An array as a stencil reads it: its axes, and how it continues beyond its borders."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, get_args

import numpy as np

from gpuprims.core.keywords import is_one_of
from gpuprims.core.layout import Form, Layout, in_elements
from gpuprims.errors import ArgumentError, AxisError, ShapeError, did_you_mean, quoted
from gpuprims.expressions.masks import plain_array
from gpuprims.expressions.narrow import kind_of
from gpuprims.primitives.stencil.spec import Mode

# Most axes of neighbourhoods; axes without neighbours are counted together.
_MOST_SPACE = 3


class Border(NamedTuple):
    """A mode, and the element beyond the borders, by its bytes: NaN equals NaN, and 0.0 does not equal -0.0."""

    mode: Mode
    bits: bytes
    element: np.dtype[Any]

    @property
    def beyond(self) -> Any:
        """The element beyond the borders."""
        return np.frombuffer(self.bits, self.element)[0]

    @classmethod
    def around(cls, mode: Mode, beyond: Any) -> Border:
        """Return the border with a NumPy scalar beyond it."""
        return cls(mode, beyond.tobytes(), beyond.dtype)


def border_of(label: str, mode: Any, cval: Any, element: np.dtype[Any]) -> Border:
    """Check the mode and the element beyond the borders."""
    # Not -0.0 and NaN: in Python -0.0 equals 0, and NaN equals nothing.
    kept = type(mode) is str and (type(cval) is int or (type(cval) is float and cval == cval != 0))
    check = _border if kept else _border.__wrapped__
    return check(label, mode, cval, element)


# Modes of NumPy, torch and OpenCV. NumPy's "reflect" is SciPy's "mirror".
_INSTEAD = {
    "edge": "nearest", "replicate": "nearest", "clamp": "nearest", "border": "nearest", "symmetric": "reflect",
    "reflect101": "mirror", "reflect_101": "mirror", "reflect-101": "mirror", "circular": "wrap", "periodic": "wrap",
    "grid-wrap": "wrap", "zero": "constant", "zeros": "constant", "fill": "constant", "grid-constant": "constant",
}  # fmt: skip


@lru_cache(maxsize=64)
def _border(label: str, mode: Any, cval: Any, element: np.dtype[Any]) -> Border:
    if not is_one_of(mode, get_args(Mode)):
        hint = did_you_mean(mode, get_args(Mode), _INSTEAD)
        raise ArgumentError(f"{label}: mode= among {', '.join(get_args(Mode))}; got {quoted(mode)}{hint}")
    given = plain_array(label, cval, "cval= one number", ArgumentError)
    if given.dtype.kind in "SUT":
        raise ArgumentError(f"{label}: cval= one number; got {quoted(cval)}")
    try:
        with np.errstate(all="ignore"):
            beyond = given.astype(element)
        fits = given.ndim == 0 and (kind_of(element) == "f" or beyond == given)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{label}: cval= one number; got {quoted(cval)}") from error
    if not fits:
        raise ArgumentError(f"{label}: cval= one number that {element} holds; got {quoted(cval)}")
    return Border.around(mode, beyond[()])


# Neighbouring axes whose elements are counted together, as if they were one.
Axes = tuple[int, ...]


class Grid(NamedTuple):
    """The axes of an array: batches (``lead``), one to three of neighbourhoods (``space``), and any of channels.

    Each entry of ``space`` is one axis, or several axes without neighbours that are counted together.
    """

    shape: tuple[int, ...]
    lead: Axes
    space: tuple[Axes, ...]
    channel: Axes = ()

    @property
    def lengths(self) -> tuple[int, int, int, int, int]:
        """Batches, planes, rows, columns, channels."""
        planes, rows, columns = (1,) * (3 - len(self.space)) + tuple(map(self._length, self.space))
        return self._length(self.lead), planes, rows, columns, self.channels

    @property
    def channels(self) -> int:
        """Channels of a pixel; 1 without an axis of channels."""
        return self._length(self.channel)

    def _length(self, axes: Axes) -> int:
        return math.prod([self.shape[axis] for axis in axes])

    def strides(self, form: Form) -> tuple[int, ...] | None:
        """Return the strides along these axes in elements; None if axes that are counted together have several."""
        groups: tuple[Axes, ...] = (self.lead, *[()] * (3 - len(self.space)), *self.space, self.channel)
        strides = [self._stride(form, axes) for axes in groups]
        return None if None in strides else in_elements(form, [stride or 0 for stride in strides])

    def _stride(self, form: Form, axes: Axes) -> int | None:
        """Return the stride of axes that are counted together; None if they have no single one."""
        long = [(self.shape[axis], form.strides[axis]) for axis in axes if self.shape[axis] != 1]
        if any(outer != length * inner for (_, outer), (length, inner) in itertools.pairwise(long)):
            return None
        return long[-1][1] if long else 0

    def flat(self) -> Grid:
        """Return the grid with planes as batches."""
        return self._replace(lead=(*self.lead, *self.space[0]), space=self.space[1:])

    def tall(self) -> Grid:
        """Return the grid of a contiguous array, with planes as rows."""
        batches, planes, *others = self.lengths
        return Grid((batches, planes, math.prod(others)), (0,), ((1,), (2,)))

    def lines(self, forms: Sequence[Form]) -> Layout | None:
        """Return the layout in batches, planes, rows and elements; None unless rows are contiguous.

        The forms are those of the array, of tables of weights, and of the result.
        """
        batches, planes, rows, columns, channels = self.lengths
        if len(self.space) == 1:  # each batch is a row
            batches, rows = 1, batches
        if max(planes, rows, columns * channels) >= 2**30:
            return None
        found: list[tuple[int, ...]] = []
        last = len(forms) - 1
        for k, form in enumerate(forms):
            if 0 < k < last:
                found.append((0, 0, 0, 0))
                continue
            own = self.strides(form)
            if own is None or (columns > 1 and own[3] != channels) or (channels > 1 and own[4] != 1):
                return None
            found.append((0, 0, own[0], 1) if len(self.space) == 1 else (*own[:3], 1))
        return layout_of(forms, (batches, planes, rows, columns * channels), found)


def layout_of(forms: Sequence[Form], lengths: tuple[int, ...], strides: Sequence[tuple[int, ...]]) -> Layout:
    """Return the layout of operands in axes of these lengths, by the strides of each operand in elements."""
    offsets = tuple(in_elements(form, (form.offset,))[0] for form in forms)
    return Layout(tuple(forms), (), lengths, ((),) * len(forms), tuple(strides), offsets)


def grid_of(label: str, shape: tuple[int, ...], rank: int, channel_axis: Any) -> Grid:
    """Return the axes of an array for a neighbourhood of ``rank`` axes."""
    bound = len(shape)
    if channel_axis is not None and not (type(channel_axis) is int and -bound <= channel_axis < bound):
        raise AxisError(f"{label}: channel_axis from {-bound} to {bound - 1}; got {quoted(channel_axis)}")
    return _grid(label, shape, rank, channel_axis)


@lru_cache(maxsize=1024)
def _grid(label: str, shape: tuple[int, ...], rank: int, channel_axis: int | None) -> Grid:
    channel = None if channel_axis is None else channel_axis % len(shape)
    axes = tuple(axis for axis in range(len(shape)) if axis != channel)
    if len(axes) < rank:
        beside = "" if channel is None else " beside that of channels"
        raise ShapeError(f"{label}: an array of {rank} axes or more{beside}; got shape {shape}")
    lead, space = axes[: len(axes) - rank], axes[len(axes) - rank :]
    if channel is not None and (not lead or channel < space[0]) and channel < space[-1]:
        lead, channel = tuple(sorted((*lead, channel))), None  # each channel is a batch
    return Grid(shape, lead, tuple((axis,) for axis in space), () if channel is None else (channel,))


def reaches(axes: tuple[int, ...]) -> bool:
    """Return True if one kernel reaches neighbours along some axes, in order."""
    return not axes or len(_space(axes)) <= _MOST_SPACE


@lru_cache(maxsize=1024)
def grid_along(label: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[Grid, tuple[int, ...]]:
    """Return the grid for neighbours along some axes, in order, and the entry of ``space`` for each axis."""
    if not axes:  # each element alone
        return grid_along(label, shape, (len(shape) - 1,))[0], ()
    space, last = _space(axes), axes[-1]
    if len(space) > _MOST_SPACE:
        raise ShapeError(f"{label}: neighbours along three axes or fewer; got those along {axes}")
    after = tuple(range(last + 1, len(shape)))
    if after and len(space) < _MOST_SPACE:
        space, after = [*space, after], ()
    return Grid(shape, tuple(range(axes[0])), tuple(space), after), tuple(space.index((axis,)) for axis in axes)


def _space(axes: tuple[int, ...]) -> list[Axes]:
    """Return the axes from the first to the last; those between them count together."""
    space: list[Axes] = []
    for axis in range(axes[0], axes[-1] + 1):
        if axis not in axes and space and space[-1][0] not in axes:
            space[-1] = (*space[-1], axis)
        else:
            space.append((axis,))
    return space
