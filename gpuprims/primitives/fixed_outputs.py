"""Scans of many outputs in the order of fixed_scans.py: how work-items share out short rows, and columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.refusals import warps_of
from gpuprims.primitives.fixed_scans import HALVES, TURNING, FixedScanSpec, slots_of
from gpuprims.primitives.fold_variants import ScanVariant

# Bytes of neighbours that a warp reads at once: a line of memory; and a sector, if lines do not fill the device. The
# fewest columns of a group.
_LINE, _SECTOR, FEWEST_COLUMNS = 128, 32, 2  # rows: fixed_columns


class FixedRows(NamedTuple):
    """How lanes share rows: ``lanes`` take ``items`` elements of each; halves of its pieces join ``halves`` times."""

    lanes: int
    items: int
    halves: int

    @classmethod
    def of(cls, variant: ScanVariant, size: int, vector: int, able: Capabilities) -> Self:
        """Return a lane for each run of a row of ``size`` elements, and no more than a warp has."""
        lanes = min(1 << _halvings(size, variant.run), variant.block // warps_of(variant.block, able))
        items = min(max(1 << _halvings(size, 1), vector), variant.run)
        return cls(lanes, items, _halvings(size, lanes * items))

    def outputs(self, variant: ScanVariant) -> int:
        """Return the rows that a group takes at once."""
        return variant.block * variant.items // (self.lanes * self.items)


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedRowsSpec(FixedScanSpec):
    """The macros of a scan of short rows by a few lanes each."""

    run: int  # elements of a run
    taken: FixedRows

    def macros(self) -> dict[str, int | str]:
        """Define the numbers of lanes, elements and halves, and how values lie in local memory."""
        lanes, items, halves = self.taken
        macros: dict[str, int | str] = {"RUN_ITEMS": self.run, "ROW_LANES": lanes, "ROW_ITEMS": items}
        return super().macros() | macros | {"HALVES": halves} | slots_of(self.values, self.run)

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), TURNING, HALVES)


class FixedColumns(NamedTuple):
    """How a group takes columns: ``down`` runs of each at once; halves of a tile's steps join ``halves`` times."""

    down: int
    halves: int

    @classmethod
    def of(cls, variant: ScanVariant, outputs: int, size: int, item: int, able: Capabilities) -> Self:
        """Return as many columns as a line has elements of ``item`` bytes, but fewer where work-items would be idle."""
        tiles = -(-size // variant.tile)
        width = min(max(min(_LINE // item, 1 << _halvings(outputs, 1)), FEWEST_COLUMNS), variant.block)
        while width > max(_SECTOR // item, FEWEST_COLUMNS) and -(-outputs // width) * tiles < able.compute_units:
            width //= 2
        down = min(1 << _halvings(size, variant.run), variant.block // width)
        return cls(down, _halvings(min(size, variant.tile), down * variant.run))

    def outputs(self, variant: ScanVariant) -> int:
        """Return the columns that a group takes at once."""
        return variant.block // self.down


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedColumnsSpec(FixedScanSpec):
    """The macros of a scan of columns."""

    taken: FixedColumns

    def macros(self) -> dict[str, int | str]:
        """Define the numbers of runs and halves."""
        return super().macros() | {"DOWN": self.taken.down, "HALVES": self.taken.halves}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), HALVES)


def _halvings(size: int, part: int) -> int:
    """Return how often halves of ``size`` elements join, from parts of ``part`` on."""
    return (-(-size // part) - 1).bit_length()
