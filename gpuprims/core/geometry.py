"""Geometries of a kernel: work-items a group, elements a work-item, groups a compute unit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.traits import CallTraits

# Returns why a variant cannot run a call, in a sentence, or None if it can.
Refusal = Callable[[Capabilities, CallTraits], str | None]

# Blocks to tune kernels for GPUs to, and groups a compute unit to tune kernels for CPUs to.
BLOCKS = (64, 128, 256, 512, 1024)
THREAD_GROUPS = (1, 2, 4, 8, 16, 32, 64)


class Geometry(NamedTuple):
    """Work-items per group, elements per work-item, and groups per compute unit (None: as many as there are tiles)."""

    block: int
    items: int
    groups_per_unit: int | None = None

    def distance(self, other: Geometry) -> float:
        """Return how often numbers are doubled or halved from one geometry to the other."""
        return sum(abs(math.log2((one or 1) / (two or 1))) for one, two in zip(self, other, strict=True))

    def __str__(self) -> str:
        groups = "" if self.groups_per_unit is None else f", {self.groups_per_unit} groups a unit"
        return f"{self.block} x {self.items}{groups}"


@dataclass(frozen=True)
class Tunable:
    """Other geometries that a kernel can run in, whether fast or slow.

    Parameters
    ----------
    geometries : tuple of Geometry
        The kernel computes the same in all of them, except for the rounding of float sums.
    fits : callable
        Returns a refusal for a geometry. The variant's own refusal holds as well.
    """

    geometries: tuple[Geometry, ...]
    fits: Callable[[Geometry], Refusal]

    def beside(self, geometry: Geometry) -> list[Geometry]:
        """Return the neighbours of a geometry: the next smaller and larger value of each number."""
        found = []
        for name, here in geometry._asdict().items():
            line = {getattr(one, name) or 0: one for one in self.geometries if one._replace(**{name: here}) == geometry}
            lower, higher = [k for k in line if k < (here or 0)], [k for k in line if k > (here or 0)]
            found += [line[k] for k in [*sorted(lower)[-1:], *sorted(higher)[:1]]]
        return found


def geometries(
    blocks: Sequence[int], items: Sequence[int], groups: Sequence[int | None] = (None,), most_elements: int = 2**62
) -> tuple[Geometry, ...]:
    """Return every combination of the numbers with at most ``most_elements`` in a tile."""
    every = (Geometry(*numbers) for numbers in itertools.product(blocks, items, groups))
    return tuple(geometry for geometry in every if geometry.block * geometry.items <= most_elements)


def first_refusal(*refusals: Refusal) -> Refusal:
    """Return a refusal that gives the first reason of several, or None if all give None."""

    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        return next((reason for refusal in refusals if (reason := refusal(capabilities, call))), None)

    return refuse


def power_of_two(number: int) -> int:
    """Return the least power of two that is at least a number."""
    return 1 << (number - 1).bit_length()
