"""The specs of CPUs' kernels that fold by the fixed tree of :mod:`gpuprims.primitives.fixed_trees`.

They are compiled for numbers of elements, or of lanes, without the loops for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuprims.core.geometry import power_of_two
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.layout import Layout
from gpuprims.operators import Folding
from gpuprims.primitives.fixed_parts import FixedSpec
from gpuprims.primitives.fixed_trees import lanes_of

# Kernels for columns are compiled for lanes of 1 element, of at most 2, or of any number, which this stands for
# (rows: cpu_fixed_columns-nodes).
_SEVERAL = 3
# Lanes of a row that are folded at once. Rows of at most _UNEVEN elements, for values of one word and of several, that
# are no multiple of these lanes are not folded as rows. Of outputs that are not, those of at most _FEW elements are
# folded side by side (rows: cpu_fixed-rows).
_AT_ONCE, _FEW, _UNEVEN = 8, 64, (16, 64)


@dataclass(frozen=True, eq=False, kw_only=True)
class CpuSpec(FixedSpec):
    """The headers that folds of outputs side by side, and of outputs one after the other, share."""

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), Path(__file__).parent / "reduce" / "kernels" / "fixed_halves.h")


@dataclass(frozen=True, eq=False, kw_only=True)
class CpuColumnsSpec(CpuSpec):
    """The macros of a fold of outputs side by side."""

    each: int  # elements of a lane: 1, at most 2, or _SEVERAL

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        return super().macros() | {"LANE_HAS": self.each}


@dataclass(frozen=True, eq=False, kw_only=True)
class CpuRowsSpec(CpuSpec):
    """The macros of a fold of outputs one after the other."""

    few: bool  # outputs of few elements are folded side by side
    row_apart: int = 0  # how far apart lanes of a row lie that fold at once; 0 for outputs that are not folded as rows
    row_lanes: int = 0  # how many lanes fold at once, from the first ones on
    row_whole: int = 0  # how many fold at once from all: as many, or one fewer

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        row = {"ROW_APART": self.row_apart, "ROW_AT_ONCE": self.row_lanes, "ROW_WHOLE": self.row_whole}
        return super().macros() | {"FEW": int(self.few)} | row


def cpu_spec(folding: Folding, layout: Layout, count: int, *, side_by_side: bool, commutative: bool) -> CpuSpec:
    """Return the spec of a fold of ``count`` elements for each output."""
    lanes = lanes_of(value_bytes(folding.values))
    how: dict[str, Any] = {"commutative": commutative, "vector": 1}
    if side_by_side:
        each = min(max(-(-count // lanes), 1), _SEVERAL) if commutative else _SEVERAL
        return CpuColumnsSpec.of(folding, layout, each=each, **how)
    uneven = count % _AT_ONCE > 0 and count <= _UNEVEN[value_words(folding.values) > 1]
    if not commutative or not _AT_ONCE <= count <= lanes or uneven or len(layout.reduced) > 1:
        return CpuRowsSpec.of(folding, layout, few=commutative and count <= _FEW, **how)
    apart = max(_AT_ONCE, power_of_two(count) // _AT_ONCE)
    row = {"row_apart": apart, "row_lanes": -(-count // apart), "row_whole": count // apart}
    return CpuRowsSpec.of(folding, layout, few=False, **row, **how)
