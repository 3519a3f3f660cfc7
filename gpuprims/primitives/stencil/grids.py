"""An array as a stencil reads it: batches, planes, rows, columns and channels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from gpuprims.core.layout import Form, Layout, in_elements
from gpuprims.errors import AxisError, ShapeError, quoted


class Grid(NamedTuple):
    """The axes of an array: batches (``lead``), one to three of neighbourhoods (``space``), perhaps one of channels."""

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
        """Return the strides along five axes in elements, or None where the batches have no single stride."""
        batch = _merged([(self.shape[axis], form.strides[axis]) for axis in self.lead])
        if batch is None:
            return None
        space = [0] * (3 - len(self.space)) + [form.strides[axis] for axis in self.space]
        channel = 0 if self.channel is None else form.strides[self.channel]
        strides = zip(self.lengths, (batch, *space, channel), strict=True)
        return in_elements(form, [0 if n == 1 else stride for n, stride in strides])

    def layout(self, forms: Sequence[Form]) -> Layout | None:
        """Return the layout of operands in five axes, or None where batches have no single stride."""
        steps = [self.steps(form) for form in forms]
        if any(own is None for own in steps):
            return None
        return _layout(forms, self.lengths, [own for own in steps if own is not None])

    def lines(self, forms: Sequence[Form]) -> Layout | None:
        """Return the layout in batches, rows and columns, or None unless the elements of a row lie side by side."""
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
    """Return the axes of an array for a neighbourhood of ``rank`` axes."""
    bound = len(shape)
    if channel_axis is not None and not (type(channel_axis) is int and -bound <= channel_axis < bound):
        raise AxisError(f"{label}: channel_axis from {-bound} to {bound - 1}; got {quoted(channel_axis)}")
    return _grid(label, shape, rank, channel_axis)


@lru_cache(maxsize=1024)
def _grid(label: str, shape: tuple[int, ...], rank: int, channel_axis: int | None) -> Grid:
    axes = list(range(len(shape)))
    channel = None
    if channel_axis is not None:
        channel = channel_axis % len(shape)
        axes.remove(channel)
    if len(axes) < rank:
        beside = "" if channel is None else " beside that of channels"
        raise ShapeError(f"{label}: an array of {rank} axes or more{beside}; got shape {shape}")
    return Grid(shape, tuple(axes[: len(axes) - rank]), tuple(axes[len(axes) - rank :]), channel)
