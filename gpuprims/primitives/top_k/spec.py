"""The macros of top_k's kernels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.primitives.networks import network_macros
from gpuprims.primitives.ordering import KERNELS, count_macros, order_macros

_OWN = Path(__file__).parent / "kernels"


@dataclass(frozen=True, eq=False, kw_only=True)
class TopKSpec(KernelSpec):
    """Macros for the order of elements, for rows, and for storing an element and its index."""

    largest: bool
    segmented: bool  # the second input has the offsets of rows
    far: bool  # a pick needs more than 64 bits
    many: bool  # a row has too many elements for 32-bit indices
    counted: bool  # groups count elements together
    tiled: bool  # groups sort tiles of picks
    length: int  # of rows that a network sorts; 0 without one
    sampled: bool  # a sample is taken, and one group selects among many picks

    lifts_constants: ClassVar[bool] = False

    @property
    def scratch_pointers(self) -> int:  # type: ignore[override]  # depends on the kernel
        """One for picks, two with counters, which groups share; none if picks stay in local memory."""
        return 2 if self.counted else int(not self.tiled and not self.length)

    def macros(self) -> dict[str, int | str]:
        """Define the order of elements, picks and counts."""
        flags = {"LARGEST": self.largest, "SEGMENTED": self.segmented, "FAR": self.far}
        element = "x0[gp_at_x0(layout, o, ROW_FIRST(o) + (i))]"
        stores = f"y0[gp_at_y0(layout, o, place)] = {element}; y1[gp_at_y1(layout, o, place)] = i;"
        return {
            **order_macros(self.values[0]),
            **{name: int(flag) for name, flag in flags.items()},
            **(count_macros(many=self.many) if self.counted else {}),
            **(network_macros(self.length) if self.length else {}),
            "STORE_PICK(o, place, i)": f"do {{ {stores} }} while (0)",
        }

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        counting = (KERNELS / "radix.h",) if self.counted else ()
        tiles = (_OWN / "tiles.h",) if self.tiled else ()
        sampling = (KERNELS / "pieces.h", _OWN / "selecting.h") if self.sampled else ()
        return KERNELS / "order.h", KERNELS / "ordering.h", *counting, *tiles, *sampling
