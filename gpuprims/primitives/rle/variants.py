"""The variants of rle. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue, PerBackend
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import (
    double_precision,
    forward_progress,
    group_fits,
    not_for_cpus,
    tile_fits,
)
from gpuprims.primitives.fold_variants import ScanVariant


@dataclass(frozen=True)
class RleVariant(ScanVariant):
    """A variant that finds runs."""

    # Groups of a compute unit where places are gathered beside elements, in tiles half as large.
    groups_with_places: int = 1

    def gathering(self, *, places: bool, item: int, size: int, capabilities: Capabilities) -> Self:
        """Return the variant for ``size`` elements of ``item`` bytes, gathered with or without their places."""
        words = item / _WORD + (_PLACE / _WORD if places else 0)
        chosen = self.resized(groups_per_unit=self.groups_with_places) if places else self
        return chosen.fitted(words, size, capabilities)


# Bytes of a word, and of a place in a tile.
_WORD, _PLACE = 4, 2
_RLE = Catalogue(RleVariant, "rle", Path(__file__).parent)

VARIANTS = (
    *_RLE.gpu(
        "round_robin",
        rank=10,
        geometry=PerBackend(cuda=Geometry(128, 64, 2), opencl=Geometry(512, 16, 1)),  # rows: round_robin
        groups_with_places=PerBackend(cuda=4, opencl=1),  # rows: round_robin
        word_items=True,
        looks=5,
        vectors=True,
        scratch="tile statuses",
        together=True,
        refuse=lambda at: first_refusal(
            not_for_cpus, double_precision, group_fits(at.block), tile_fits(at, 3), forward_progress
        ),
    ),
)
