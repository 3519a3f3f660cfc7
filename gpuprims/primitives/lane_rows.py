"""The lanes of a scan that gives each row a few: how many, and the rows and vectors that each takes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gpuprims.primitives.fold_spec import ScanSpec

# Vectors that a lane takes at once: fewer where each has more elements, which take registers.
_MOST_VECTORS, _MOST_NARROW, _NARROW = 4, 8, 2
# Lanes of a row that begins anywhere, at least (rows: rows-peeled).
_FEWEST_LANES = 4


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
    def of(cls, size: int, vector: int, warp: int, filling: int | None = None) -> LaneRows:
        """Return as many lanes for a row of ``size`` elements as it has vectors, and no more than a warp has.

        Rows that begin anywhere, for which ``filling`` lanes each occupy the device, have a vector more. Elements at
        both their ends are stored one by one, so a lane takes several vectors, few of them past a row's end.
        """
        most = _MOST_NARROW if vector <= _NARROW else _MOST_VECTORS
        if filling is None:
            vectors = -(-size // vector)
            lanes = min(1 << (vectors - 1).bit_length(), warp)
            pieces = min(-(-vectors // lanes), most)
            return cls(lanes, most // pieces, pieces)
        vectors, lanes = -(-(size + vector - 1) // vector), min(_FEWEST_LANES, warp)
        while lanes < warp and (lanes < filling or vectors >= 2 * lanes * (vector // 2 + 1)):
            lanes *= 2
        each = -(-vectors // lanes)
        most_pieces = min(each, most)
        pieces = min(range(most_pieces, most_pieces // 2, -1), key=lambda several: -(-each // several) * several)
        return cls(lanes, most // pieces, pieces)

    def outputs(self, block: int) -> int:
        """Return the rows that a group of ``block`` work-items takes at once."""
        return block // self.lanes * self.rows
