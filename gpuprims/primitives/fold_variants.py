"""Variants of folds and scans, for several primitives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.variant import Variant


@dataclass(frozen=True)
class FoldVariant(Variant):
    """A variant of a fold."""

    # Several groups may share an output, and each folds a part of its elements.
    shares_outputs: bool = True
    # Groups fold into one zeroed slot for each output, in any order. Others leave partial values, which the last group
    # folds in order.
    accumulates: bool = False


@dataclass(frozen=True)
class ScanVariant(Variant):
    """A variant of a scan."""

    # Memory beside the operands: aggregates of tiles, of tiles of these, and so on, with a launch for each level; or
    # tile statuses, which groups of one launch write for each other.
    scratch: Literal["none", "levels", "tile statuses"] = "none"
    # Tiles of elements and of results pass through local memory. Of W warps of a group, (W - 3) / 2 scan.
    queued: bool = False
    # ``items`` counts 32-bit words: a work-item takes fewer values of several words.
    word_items: bool = False

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
        return self.scratch == "tile statuses"

    def fitted(self, words: int, size: int, capabilities: Capabilities) -> Self:
        """Return the variant for values of ``words`` words, with as few items as fill the device."""
        if not self.word_items:
            return self
        items = max(self.items // words, 1)
        items = 1 << items.bit_length() - 1  # whole vectors, which have a power of two of elements
        while items > 1 and self.block * (items // 2) * capabilities.compute_units >= size:
            items //= 2
        return self.resized(items=items)
