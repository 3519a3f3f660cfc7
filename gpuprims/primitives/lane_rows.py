"""The lanes of a scan that gives each row a few: how many, and the rows and vectors that each takes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gpuprims.primitives.fold_spec import ScanSpec

# Vectors that a lane takes at once: fewer where each has more elements, which take registers.
_MOST_VECTORS, _MOST_NARROW, _NARROW = 4, 8, 2


@dataclass(frozen=True, eq=False, kw_only=True)
class LaneRowsSpec(ScanSpec):
    """The macros of a scan of rows by a few lanes each."""

    taken: LaneRows

    def macros(self) -> dict[str, int | str]:
        """Define the numbers of lanes, rows and pieces, so that loops over them unroll."""
        lanes, rows, pieces = self.taken
        return super().macros() | {"ROW_LANES": lanes, "ROWS": rows, "PIECES": pieces}


class LaneRows(NamedTuple):
    """How lanes share rows: ``lanes`` take each row, and a lane takes ``pieces`` vectors of each of ``rows``."""

    lanes: int
    rows: int
    pieces: int

    @classmethod
    def of(cls, size: int, vector: int, warp: int) -> LaneRows:
        """Return as many lanes for a row of ``size`` elements as it has vectors, and no more than a warp has."""
        vectors = -(-size // vector)
        lanes = min(1 << (vectors - 1).bit_length(), warp)
        most = _MOST_NARROW if vector <= _NARROW else _MOST_VECTORS
        pieces = min(-(-vectors // lanes), most)
        return cls(lanes, most // pieces, pieces)

    def outputs(self, block: int) -> int:
        """Return the rows that a group of ``block`` work-items takes at once."""
        return block // self.lanes * self.rows
