"""Variants of folds and scans, for several primitives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.variant import Variant
from gpuprims.primitives.fixed_scans import RUN, TILE


@dataclass(frozen=True)
class FoldVariant(Variant):
    """A variant of a fold."""

    # Several groups may share an output, and each folds a part of its elements.
    shares_outputs: bool = True
    # Groups fold into one zeroed slot for each output, in any order. Others leave partial values, which the last group
    # folds in order.
    accumulates: bool = False
    # Work-items share outputs if these are fewer than a group has work-items; ``outputs_per_group`` is the most.
    narrows: bool = False
    # Groups load the elements of all outputs by one index, and keep a tile of values in local memory.
    stages: bool = False
    # A group is one work-item, or as many as a CPU's compiler joins in a vector, for functions that need it.
    joins: bool = False
    # Rows of at least this many narrow elements may begin anywhere; 0 if the kernel looks for no whole vector.
    peels: int = 0
    # In what order values fold: in parts, as many as suit the device; by the tree of fixed_trees.py; as the scans of
    # fixed_scans.py; or in any, because sums are exact (exact_sums.py).
    folds: Literal["parts", "fixed tree", "fixed tiles", "exactly"] = "parts"

    def narrowed(self, vector: int, words: int) -> Self:
        """Return the variant for vectors of ``vector`` elements and values of ``words`` words, which take registers."""
        groups = self.groups_per_unit
        if groups is None:
            return self
        if vector > self.items:
            groups = max(groups * 3 // 4, 1)
        if words > _FEW_WORDS and self.shares_outputs:
            groups = min(groups, _MOST_GROUPS, max(_MOST_WORDS // (words * self.block), 1))
        return self.resized(groups_per_unit=groups)

    def width(
        self, outputs: int, neighbours: int, across: int, size: int, item: int, capabilities: Capabilities
    ) -> int:
        """Return how many outputs a group takes at once.

        So many ``neighbours`` lie together, with elements of ``item`` bytes, and a work-item takes ``across`` of them.
        """
        line = max(_LINE // item, _FEWEST_IN_LINE)
        most, sharers = self.outputs_per_group * across, max(size // _FEWEST, 1)  # work-items that may share an output
        if self.stages:
            return max(self.block * self.items // max(size, 1), 1)
        if not self.narrows or not neighbours:
            return most
        if neighbours < 2 * line:  # all neighbours, of one row or of several
            return neighbours * max(1, most // (neighbours * sharers)) if neighbours < most else most
        groups = (self.groups_per_unit or 1) * capabilities.compute_units
        width = most
        while width > line and most // width < sharers and -(-outputs // width) < groups // _FEWEST:
            width //= 2
        if width < neighbours < _FEWEST * width:  # as many for each, none with few
            width = min(-(-neighbours // (neighbours // width * across)) * across, most)
        return width


# Groups of a compute unit, and words of the values of all its work-items, that it has registers for if values have more
# than a few words (rows: warp-moments).
_MOST_GROUPS, _MOST_WORDS, _FEW_WORDS = 5, 6400, 3
# Bytes of a line of memory, the fewest outputs that are read as one, and the fewest elements for each work-item that
# shares an output.
_LINE, _FEWEST_IN_LINE, _FEWEST = 128, 32, 8


@dataclass(frozen=True)
class ScanVariant(Variant):
    """A variant of a scan."""

    # Memory beside the operands: aggregates of tiles, of tiles of these, and so on, with a launch for each level; or
    # tile statuses, which groups of one launch write for each other; or these for each column of a strip, or of a part
    # of a strip; or a bit for each element.
    scratch: Literal["none", "levels", "tile statuses", "strip statuses", "part statuses", "bits"] = "none"
    # Tiles of elements and of results pass through local memory. Of W warps of a group, (W - 3) / 2 scan.
    queued: bool = False
    # ``items`` counts 32-bit words: a work-item takes fewer values of several words.
    word_items: bool = False
    # How many times as many work-items a group has, in tiles of the same size, if elements take less than a word.
    widens: int = 1
    # Statuses of other groups that each work-item reads at most.
    looks: int = 1
    # A group gathers the chosen elements of a tile, and writes them a turn later (gathering.h).
    gathers: bool = False
    # A few lanes take each output; compilers know how many.
    few_lanes: bool = False
    # A group takes runs of several neighbouring outputs at once; compilers know how many.
    across: bool = False
    # A group takes an output of at most so many elements alone, in one launch.
    alone: int = 0
    # A work-item takes an output alone, and loads the next elements before it scans some: more of longer outputs.
    ahead: bool = False
    # Vectors of elements of stride 2 are loaded with those between.
    pairs: bool = False
    # Values fold in the order of fixed_scans.py.
    in_fixed_order: bool = False
    # Groups take several tiles of that order at once, and write a status for each.
    in_stretches: bool = False

    @property
    def runs(self) -> int:
        """Work-items of a group that scan."""
        return (self.block // 32 - 3) // 2 * 32 if self.queued else self.block

    @property
    def tile(self) -> int:
        """See :class:`Variant`."""
        return self.runs * self.items // self.outputs_per_group

    @property
    def asks_local_memory(self) -> bool:
        """See :class:`Variant`."""
        return self.queued

    @property
    def waits(self) -> bool:
        """True if groups wait for each other."""
        return self.scratch in ("tile statuses", "strip statuses", "part statuses")

    @property
    def run(self) -> int:
        """Elements of a run in the order of fixed_scans.py; small groups have small tiles."""
        return min(self.items, RUN)

    @property
    def tile_runs(self) -> int:
        """Runs of a tile in the order of fixed_scans.py."""
        return min(self.block, TILE // RUN)

    @property
    def told(self) -> int:
        """Aggregates of a group's elements that others read."""
        return self.tile // (self.run * self.tile_runs) if self.in_stretches else 1

    @property
    def most_groups(self) -> int:
        """The most groups whose aggregates a group can read at once, from one of its turns to the next.

        In stretches a group also keeps the folds of two supertiles (fixed_tiles.h), so a turn has no more tiles than
        one.
        """
        most = self.looks * self.block
        return (min(most, self.tile_runs * self.run) - self.run) // self.told if self.in_stretches else most

    def taking(self, size: int) -> Self:
        """Return the variant for outputs of ``size`` elements."""
        return self.resized(items=self.alone) if self.items < size <= self.alone else self

    def fitted(self, words: float, size: int, capabilities: Capabilities) -> Self:
        """Return the variant for values of ``words`` words, with as few items as fill the device."""
        if not self.word_items:
            return self
        block = min(self.block * self.widens, capabilities.group_limit) if words < 1 else self.block
        items = max(int(self.items * self.block / (block * words)), 1)
        items = 1 << items.bit_length() - 1  # whole vectors, which have a power of two of elements
        least = self.run if self.in_stretches else 1
        items = max(items, least)
        while items > least and block * (items // 2) * capabilities.compute_units >= size:
            items //= 2
        return self.resized(block=block, items=items)
