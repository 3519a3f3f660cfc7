"""What the macros of a selection mean for one call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.primitives.networks import network_macros
from gpuprims.primitives.ordering import KERNELS, count_macros, order_macros

_ORDER = KERNELS / "order.h", KERNELS / "ordering.h"
_RADIX = *_ORDER, KERNELS / "ranks.h", KERNELS / "radix.h"


@dataclass(frozen=True, eq=False, kw_only=True)
class SelectionSpec(KernelSpec):
    """Macros for the order of elements, and for ranks."""

    many: bool  # a row has too many elements for 32-bit counts
    nan_wins: bool  # a row with a NaN has the result NaN

    lifts_constants: ClassVar[bool] = False
    scratch_pointers: ClassVar[int] = 2
    included: ClassVar[tuple[Path, ...]] = _RADIX

    def macros(self) -> dict[str, int | str]:
        """Define the order of elements, smallest first, ranks and counts."""
        rank: dict[str, int | str] = {"LARGEST": 0, "SEGMENTED": 0, "FAR": 1, "RANK(o)": "x1[gp_at_x1(layout, o, 0)]"}
        rank["NAN_WINS"] = int(self.nan_wins)
        return order_macros(self.values[0]) | rank | count_macros(many=self.many)

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return self.included


class SampledSpec(SelectionSpec):
    """The spec of selection/sampled."""

    included: ClassVar[tuple[Path, ...]] = *_RADIX, KERNELS / "pieces.h", KERNELS / "sampling.h"


class CpuRowsSpec(SelectionSpec):
    """The spec of selection/cpu_rows, which has no counters."""

    scratch_pointers: ClassVar[int] = 1
    included: ClassVar[tuple[Path, ...]] = _ORDER


class RowsSpec(SelectionSpec):
    """The spec of selection/rows and selection/sorted, which have no scratch memory."""

    scratch_pointers: ClassVar[int] = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class LanesSpec(SelectionSpec):
    """The spec of selection/lanes, which sorts rows of ``length`` elements."""

    length: int

    scratch_pointers: ClassVar[int] = 0
    included: ClassVar[tuple[Path, ...]] = _ORDER

    def macros(self) -> dict[str, int | str]:
        """Define the network, too."""
        return super().macros() | network_macros(self.length)
