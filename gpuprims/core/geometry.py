"""Shapes of a kernel: work-items a group, elements a work-item, groups a compute unit; and which a kernel can have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpuprims.core.driver import Capabilities
from gpuprims.core.traits import Call

Refusal = Callable[[Capabilities, Call], str | None]


class Shape(NamedTuple):
    """Work-items a group, elements a work-item, and groups a compute unit, None where there are as many as tiles."""

    block: int
    items: int
    groups_per_unit: int | None = None

    def distance(self, other: Shape) -> float:
        """Return how often numbers are doubled or halved from one shape to the other."""
        return sum(abs(math.log2((one or 1) / (two or 1))) for one, two in zip(self, other, strict=True))

    def __str__(self) -> str:
        groups = "" if self.groups_per_unit is None else f", {self.groups_per_unit} groups a unit"
        return f"{self.block} x {self.items}{groups}"


@dataclass(frozen=True)
class Tunable:
    """The shapes that a kernel is written for, beside the one it is registered with.

    Parameters
    ----------
    shapes : tuple of Shape
        In all of which it computes the same, but for the rounding of float sums.
    fits : callable
        From a shape to what refuses it, beside the variant's own refusal: what depends on the shape alone.
    """

    shapes: tuple[Shape, ...]
    fits: Callable[[Shape], Refusal]

    def beside(self, shape: Shape) -> list[Shape]:
        """Return the shapes one step away: the next in one number, the same in the others."""
        found = []
        for place in range(len(shape)):
            line = sorted(
                (other for other in self.shapes if _without(other, place) == _without(shape, place)),
                key=lambda other: other[place] or 0,
            )
            lower = [other for other in line if (other[place] or 0) < (shape[place] or 0)]
            higher = [other for other in line if (other[place] or 0) > (shape[place] or 0)]
            found += lower[-1:] + higher[:1]
        return found


def _without(shape: Shape, place: int) -> tuple[int | None, ...]:
    return (*shape[:place], *shape[place + 1 :])


def shapes(
    blocks: Sequence[int], items: Sequence[int], groups: Sequence[int | None] = (None,), most_elements: int = 2**62
) -> tuple[Shape, ...]:
    """Return every combination of numbers whose tile has at most so many elements."""
    every = (Shape(*numbers) for numbers in itertools.product(blocks, items, groups))
    return tuple(shape for shape in every if shape.block * shape.items <= most_elements)
