"""The two launches of a histogram of many bins: their kernel spec, and how a call runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpuprims.core.driver import Driver, Launch
from gpuprims.core.kernel_spec import Dtype
from gpuprims.expressions import c_type
from gpuprims.primitives.histogram.spec import HistogramSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionSpec(HistogramSpec):
    """Macros of one of the two launches."""

    partitions: bool
    groups: int  # that a compute unit must have room for
    stored: Dtype | None  # of weights between the launches

    @property
    def pointers(self) -> int:
        """Number of pointer arguments: inputs, results, table, memory between the launches, counters, and edges."""
        return len(self.inputs) + 4 + self.edges

    @property
    def near(self) -> int:
        """Elements of a vector: whose weights, or 16-bit places, take 16 bytes."""
        return near_of(self.stored)

    def macros(self) -> dict[str, int | str]:
        """Define the launch, and how elements lie between the launches."""
        pointers = (
            "GLOBAL total_t *histograms, GLOBAL const u64 *RESTRICT table, GLOBAL u8 *parts, GLOBAL u32 *counters"
        )
        return {
            **super().macros(),
            "PARTITIONS": int(self.partitions),
            "HAS_WEIGHTS": int(self.stored is not None),
            "STORED": c_type(self.stored) if self.stored else "u16",
            "NEAR": self.near,
            "GROUPS_EACH": self.groups,
            "HISTOGRAMS": pointers + ", GLOBAL u32 *edges" * self.edges,
        }


def near_of(weight: Dtype | None) -> int:
    """Return the elements of a vector between the launches."""
    return 16 // (weight.itemsize if weight else 2)


class Partitioned(NamedTuple):
    """Two launches that read each element once, and the fold to another dtype, None if they store the result.

    ``scratch`` counts the bytes between the launches, ``left`` those of the sums before a fold, and ``counters`` the
    zeros in which they count.
    """

    sorts: Launch
    counts: Launch
    scratch: int
    left: int
    counters: int
    fold: Launch | None
    edges: bool
    behind: int = 0
    zeroed: bool = False
    reports: bool = False

    def run(
        self,
        driver: Driver,
        memories: Sequence[Any],
        words: Any,
        peaks: Sequence[Any],
        target: Any,
        *,
        edges: Any = None,
        report: Any = None,
    ) -> Any:
        """Launch on the memory of a call, and return the target."""
        left = target if self.fold is None else driver.scratch(self.left)
        shared = [*memories, left, words, driver.scratch(self.scratch), driver.counters(self.counters)]
        self.sorts([*shared, edges] if self.edges else shared)
        self.counts(shared)
        if self.fold is not None:
            self.fold([left, target])
        return target
