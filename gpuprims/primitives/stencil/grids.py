"""How a stencil sees an array: planes, rows and columns, between axes along which nothing is a neighbour."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from gpuprims.core.layout import Form, Layout, in_elements
from gpuprims.errors import AxisError, ShapeError, quoted


class Grid(NamedTuple):
    """The axes of an array: those before neighbourhoods, up to three of neighbourhoods, and perhaps one of channels."""

    shape: tuple[int, ...]
    lead: tuple[int, ...]
    space: tuple[int, ...]
    channel: int | None

    @property
    def lengths(self) -> tuple[int, int, int, int, int]:
        """Batches, planes, rows, columns, channels."""
        planes, rows, columns = (1,) * (3 - len(self.space)) + tuple(self.shape[axis] for axis in self.space)
        channels = 1 if self.channel is None else self.shape[self.channel]
        return math.prod(self.shape[axis] for axis in self.lead), planes, rows, columns, channels

    def steps(self, form: Form) -> tuple[int, ...] | None:
        """Return how far elements are apart along each of five axes, or None where batches have no one step."""
        batch = _merged([(self.shape[axis], form.strides[axis]) for axis in self.lead])
        if batch is None:
            return None
        space = [0] * (3 - len(self.space)) + [form.strides[axis] for axis in self.space]
        channel = 0 if self.channel is None else form.strides[self.channel]
        strides = zip(self.lengths, (batch, *space, channel), strict=True)
        return in_elements(form, [0 if n == 1 else stride for n, stride in strides])

    def layout(self, forms: Sequence[Form]) -> Layout | None:
        """Return the layout of operands in five axes."""
        steps = [self.steps(form) for form in forms]
        if any(own is None for own in steps):
            return None
        return _layout(forms, self.lengths, [own for own in steps if own is not None])

    def lines(self, forms: Sequence[Form]) -> Layout | None:
        """Return the layout in batches, rows, and the elements of a row side by side, where they are."""
        batches, planes, rows, columns, channels = self.lengths
        rank = len(self.space)
        if planes > 1 or rank > 2 or max(rows * (batches if rank == 1 else 1), columns * channels) >= 2**30:
            return None
        found = []
        for form in forms:
            own = self.steps(form)
            if own is None or own[3] not in (0, channels) or own[4] not in (0, 1):
                return None
            found.append((own[0], own[2], 1) if rank == 2 else (0, own[0], 1))
        lengths = (batches, rows, columns * channels) if rank == 2 else (1, batches, columns * channels)
        return _layout(forms, lengths, found)


def _layout(forms: Sequence[Form], lengths: tuple[int, ...], steps: Sequence[tuple[int, ...]]) -> Layout:
    offsets = tuple(in_elements(form, (form.offset,))[0] for form in forms)
    return Layout(tuple(forms), (), lengths, tuple(() for _ in forms), tuple(steps), offsets)


def _merged(axes: Sequence[tuple[int, int]]) -> int | None:
    """Return the stride of axes that merge into one; None if they do not merge."""
    left = [(length, stride) for length, stride in axes if length != 1]
    if any(outer != length * inner for (_, outer), (length, inner) in itertools.pairwise(left)):
        return None
    return left[-1][1] if left else 0


def grid_of(label: str, shape: tuple[int, ...], rank: int, channel_axis: Any) -> Grid:
    """Return the axes of an array for a neighbourhood of so many."""
    if channel_axis is not None and type(channel_axis) is not int:
        raise AxisError(f"{label}: channel_axis from {-len(shape)} to {len(shape) - 1}; got {quoted(channel_axis)}")
    return _grid(label, shape, rank, channel_axis)


@lru_cache(maxsize=1024)
def _grid(label: str, shape: tuple[int, ...], rank: int, channel_axis: int | None) -> Grid:
    axes = list(range(len(shape)))
    channel = None
    if channel_axis is not None:
        if not -len(shape) <= channel_axis < len(shape):
            raise AxisError(f"{label}: channel_axis from {-len(shape)} to {len(shape) - 1}; got {quoted(channel_axis)}")
        channel = channel_axis % len(shape)
        axes.remove(channel)
    if len(axes) < rank:
        beside = "" if channel is None else " beside that of channels"
        raise ShapeError(f"{label}: an array of {rank} axes or more{beside}; got shape {shape}")
    return Grid(shape, tuple(axes[: len(axes) - rank]), tuple(axes[len(axes) - rank :]), channel)
