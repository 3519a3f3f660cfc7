"""What the macros of a sort mean for one call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from gpuprims.core.kernel_spec import Dtype, KernelSpec, unchanged
from gpuprims.core.layout import contiguous, starts_of
from gpuprims.expressions import TypedExpr, c_type
from gpuprims.primitives.merge.spec import CROSSING
from gpuprims.primitives.networks import network_macros
from gpuprims.primitives.ordering import KERNELS
from gpuprims.primitives.sort.keys import Keys

_INT64 = np.dtype(np.int64)
# The header of kernels that sort short rows.
NUMBERED = "numbered.h"
# The header of kernels that pass over digits that are alike in all keys.
DIFFERING = "differing.h"
# What a launch does: move elements, count their digits, count them and note zeros and NaN, add up counts, sort tiles,
# find where the merge path crosses the begins of tiles, put equal ones in order, write what was counted, or try what a
# device does.
Step = Literal["moves", "counts", "notes", "scans", "tiles", "crosses", "ties", "fills", "tries"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SortSpec(KernelSpec):
    """Macros of a sort of keys, perhaps with a value beside each.

    ``carried`` is the dtype of values between passes, or None. ``indices`` says that they are each element's index in
    its row, which results have as int64. ``keeps_keys`` says that the result has the keys. ``step`` is which of the
    variant's launches it is. ``wide`` says that places in a row take 64 bits.
    """

    keys: Keys
    carried: Dtype | None = None
    indices: bool = False
    keeps_keys: bool = True
    step: Step = "moves"
    lanes_in_order: bool = False  # see sort_onesweep.cl
    wide: bool = False
    memories: int = 0  # pointer arguments
    copies: int = 1  # of each count of a group: see sort_buckets.cl
    parts: tuple[str, ...] = ()  # further headers of this room
    row: int = 0  # elements of a row that networks sort
    length: int = 0  # elements that a network sorts
    segmented: bool = False  # rows differ in length

    contracted: ClassVar[bool] = False  # a product merged with a sum may make an element less than itself
    maps: ClassVar[bool] = False
    lifts_constants: ClassVar[bool] = False

    @classmethod
    def of(
        cls,
        keys: Keys,
        *,
        carried: Dtype | None = None,
        indices: bool = False,
        keeps_keys: bool = True,
        step: Step = "moves",
        lanes_in_order: bool = False,
        wide: bool = False,
        memories: int,
        copies: int = 1,
        parts: tuple[str, ...] = (),
        row: int = 0,
        length: int = 0,
        segmented: bool = False,
    ) -> SortSpec:
        """Return the spec of a launch with this number of arrays."""
        accesses = starts_of([contiguous(keys.word, (1,), 1)]).accesses
        values = (keys.word,)
        return cls(
            accesses,
            (),
            values,
            unchanged(values),
            keys=keys,
            carried=carried,
            indices=indices,
            keeps_keys=keeps_keys,
            step=step,
            lanes_in_order=lanes_in_order,
            wide=wide,
            memories=memories,
            copies=copies,
            parts=parts,
            row=row,
            length=length,
            segmented=segmented,
        )

    @property
    def pointers(self) -> int:
        """Number of pointer arguments."""
        return self.memories

    @property
    def kept(self) -> Dtype | None:
        """The dtype of values in the result."""
        return _INT64 if self.indices else self.carried

    def macros(self) -> dict[str, int | str]:
        """Define the keys, and what goes with them."""
        return {
            **self.keys.macros,
            "CARRIES": int(self.carried is not None),
            "INDICES": int(self.indices),
            "KEEPS_KEYS": int(self.keeps_keys),
            "COUNTS": int(self.step in ("counts", "notes")),
            "NOTES": int(self.step == "notes"),
            "SCANS": int(self.step == "scans"),
            "TILES": int(self.step == "tiles"),
            "CROSSES": int(self.step == "crosses"),
            "TIES": int(self.step == "ties"),
            "FILLS": int(self.step == "fills"),
            "TRIES": int(self.step == "tries"),
            "ELEMENT": c_type(self.keys.word),
            "LOAD_KEYS": 16 // self.keys.nbytes,
            "LANES_IN_ORDER": int(self.lanes_in_order),
            "COPIES": self.copies,
            **self._of_rows(),
        }

    def _of_rows(self) -> dict[str, int | str]:
        """Define what kernels of short rows use beside."""
        if NUMBERED not in self.parts:
            return {}
        own = {"KEY_BYTES": self.keys.nbytes, "ROW_KEYS": self.row, "SEGMENTED": int(self.segmented)}
        return own | network_macros(self.length)

    def text(self) -> list[str]:
        """Write the types of values and places."""
        carried, kept = self.carried or np.dtype(np.uint8), self.kept or np.dtype(np.uint8)
        return [
            f"typedef {c_type(self.keys.word)} element_t;",
            f"typedef {c_type(carried)} carried_t;",
            f"typedef {c_type(kept)} kept_t;",
            f"typedef {'u64' if self.wide else 'u32'} place_t;",
            *self.keys.text,
        ]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        own = Path(__file__).parent / "kernels"
        ordered = (KERNELS / "order.h", own / "sort_keys.h") if self.keys.less is None else ()
        return *ordered, CROSSING, own / "runs.h", own / "carried.h", *(own / name for name in self.parts)

    @property
    def functions(self) -> tuple[TypedExpr | None, ...]:
        """See :class:`KernelSpec`."""
        return *super().functions, self.keys.less
