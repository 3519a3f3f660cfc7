"""Strips of neighbouring outputs, which a scan along an outer axis takes side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.layout import Layout
from gpuprims.core.refusals import warps_of
from gpuprims.primitives.fold_spec import ScanSpec
from gpuprims.primitives.fold_variants import ScanVariant


@dataclass(frozen=True, eq=False, kw_only=True)
class StripSpec(ScanSpec):
    """The macros of a scan by strips."""

    rows: int  # of a strip, that a warp holds of each item

    def macros(self) -> dict[str, int | str]:
        """Define the number of rows."""
        return super().macros() | {"ROWS": self.rows}


class Strips(NamedTuple):
    """The launch of a scan by strips.

    A warp holds ``rows`` of ``width`` neighbouring outputs, and ``across`` warps lie side by side in a tile. ``parts``
    groups share a strip, and take its tiles in turn.
    """

    variant: ScanVariant
    rows: int
    width: int
    across: int
    parts: int
    groups: int
    tiles: int  # of all strips
    turns: int  # tiles that a group takes

    @property
    def statuses(self) -> int:
        """Columns of all tiles that groups tell each other of."""
        return self.tiles * self.width * self.across if self.parts > 1 else 0


def neighbouring(layout: Layout, inputs: int) -> bool:
    """Return True if neighbouring outputs lie nearer than neighbouring elements, in every operand that moves.

    Some input must move from output to output.
    """
    if not layout.kept:
        return False
    strides = [
        (abs(own[-1]), abs(along[-1]) if along else 0)
        for own, along in zip(layout.kept_strides, layout.reduced_strides, strict=True)
    ]
    return all(own < along for own, along in strides if along) and any(own for own, _ in strides[:inputs])


def strips_of(variant: ScanVariant, able: Capabilities, layout: Layout, outputs: int, size: int) -> Strips:
    """Return the launch for outputs of ``size`` elements each, by a variant that is fitted to the call.

    Groups that share a strip wait for each other, so no more start than run at the same time. Groups with strips of
    their own may be twice as many, with half of the items. (rows: columns)
    """
    together = min(_launches(variant, able, layout, outputs, size), key=_cost)
    groups = 2 * (variant.groups_per_unit or 1)
    halved = variant.resized(items=max(variant.items // 2, 1), groups_per_unit=groups)
    alone = min(_launches(halved, able, layout, outputs, size, most_parts=1), key=_cost)
    return alone if _cost(alone) <= 1.05 * _cost(together) else together


def _launches(
    variant: ScanVariant, able: Capabilities, layout: Layout, outputs: int, size: int, most_parts: int = 2**30
) -> Iterator[Strips]:
    """Yield launches with strips of every width that may be best, shared by up to ``most_parts`` groups."""
    warps = warps_of(variant.block, able)
    lanes = variant.block // warps
    run = min(layout.kept[-1] if layout.kept else 1, outputs)  # outputs that lie side by side
    if size <= variant.items:  # rows of a warp would be empty, and a cache line has all elements of some outputs
        run = outputs
    width = -(-run // -(-run // lanes))
    rows, items = lanes // width, variant.items
    while items > 1 and items // 2 * rows >= size:
        items //= 2
    down = 1  # warps below each other that one output needs
    while down < warps and down * items * rows < size:
        down *= 2
    least = warps // min(down, 16 if lanes == 1 else warps)  # each work-item folds those above its own
    while least > 1 and least // 2 * width >= outputs:
        least //= 2
    fitted, most = variant.resized(items=items), (variant.groups_per_unit or 1) * able.compute_units
    # Long rows are faster to read, but groups that share a strip read less of each other if its tiles are tall.
    for across in sorted({max(least, wide) for wide in (4, 2, 1) if wide <= warps}, reverse=True):
        tiles, strips = -(-size // (warps // across * items * rows)), -(-outputs // (across * width))
        for parts in range(1, min(tiles, most, most_parts if across == least else 1) + 1):
            abreast = min(most // parts, strips)
            turns = -(-strips // abreast) * -(-tiles // parts)
            yield Strips(fitted, rows, width, across, parts, abreast * parts, strips * tiles, turns)


def _cost(strips: Strips) -> int:
    """Return elements that a compute unit's work-items take."""
    return strips.turns * strips.variant.items * (strips.variant.groups_per_unit or 1)
