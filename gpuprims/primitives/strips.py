"""Strips of neighbouring outputs, which a scan along an outer axis takes side by side."""

from __future__ import annotations

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

    @property
    def statuses(self) -> int:
        """Columns of all tiles that groups tell each other of."""
        return self.tiles * self.width * self.across if self.parts > 1 else 0


def neighbouring(layout: Layout, inputs: int) -> bool:
    """Return True if neighbouring outputs lie nearer than neighbouring elements, in every operand.

    At least one input must have a stride between neighbouring outputs.
    """
    if not layout.kept:
        return False
    strides = [
        (abs(own[-1]), abs(along[-1]) if along else 0)
        for own, along in zip(layout.kept_strides, layout.reduced_strides, strict=True)
    ]
    return all(own < along for own, along in strides if along) and any(own for own, _ in strides[:inputs])


def strips_of(variant: ScanVariant, able: Capabilities, layout: Layout, outputs: int, size: int) -> Strips:
    """Return the launch for outputs of ``size`` elements each, by a variant that is fitted to the call."""
    warps = warps_of(variant.block, able)
    lanes = variant.block // warps
    run = min(layout.kept[-1] if layout.kept else 1, outputs)  # outputs that lie side by side
    width = -(-run // -(-run // lanes))
    rows, items = lanes // width, variant.items
    while items > 1 and items // 2 * rows >= size:
        items //= 2
    down = 1  # warps below each other that one output needs
    while down < warps and down * items * rows < size:
        down *= 2
    across = warps // min(down, 16 if lanes == 1 else warps)  # each work-item folds those above its own
    while across > 1 and across // 2 * width >= outputs:
        across //= 2
    most = (variant.groups_per_unit or 1) * able.compute_units

    def of(across: int, parts: int) -> tuple[int, Strips]:
        """Return how many tiles a group takes, and the launch."""
        tiles, strips = -(-size // (warps // across * items * rows)), -(-outputs // (across * width))
        groups = min(most // parts, strips) * parts
        found = Strips(variant.resized(items=items), rows, width, across, parts, groups, strips * tiles)
        return -(-strips // (most // parts)) * -(-tiles // parts), found

    # Long rows are faster to read, but groups that share a strip read less of each other if its tiles are tall.
    alone = min((of(wide, 1) for wide in (4, 2, 1) if across <= wide <= warps), default=of(across, 1), key=_turns)
    tiles = -(-size // (warps // across * items * rows))
    together = min((of(across, parts) for parts in range(1, min(tiles, most) + 1)), key=_turns)
    return alone[1] if alone[0] <= 1.05 * together[0] else together[1]


def _turns(found: tuple[int, Strips]) -> int:
    return found[0]
