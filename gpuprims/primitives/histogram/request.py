"""Requests of histograms: all that a launch plan depends on, except the arrays."""

from __future__ import annotations

from typing import Literal, NamedTuple

from gpuprims.core.kernel_spec import Dtype
from gpuprims.primitives.histogram.binning import Table
from gpuprims.primitives.histogram.spec import ONE_KEY, Bins, Keys


class Weighing(NamedTuple):
    """How to add weights: as counts, integers or floats. With ``repeat``, sums of floats are the same in every run."""

    sums: Literal["counts", "integers", "floats"]
    repeat: bool = True


COUNTS = Weighing("counts")


class HistogramRequest(NamedTuple):
    """How to count: all that a launch plan depends on, except the arrays and the contents of the table."""

    label: str  # the function, for messages
    kind: Bins
    bins: int  # of the table; requested bins after these are empty
    guide: int  # entries of the table's guide
    asked: int  # requested bins
    axis: int | tuple[int, ...] | None
    weighing: Weighing
    dtype: Dtype | None = None  # of the result; by default int64, or float64 for floats
    outside: bool = False  # two more results, for elements that are too high and too low for a "direct" table
    edges: bool = False  # the edges are a result too
    keys: Keys = ONE_KEY  # the arrays before the weights
    reports: bool = False  # tell the host one more than the last place that is not zero, if a kernel can

    @property
    def length(self) -> int:
        """Results of each output."""
        return self.asked + 2 * self.outside

    @property
    def width(self) -> int:
        """Results of each output that the table has bins for."""
        return self.bins + 2 * self.outside

    @property
    def repeats(self) -> bool:
        """True if sums of floats are the same in every run."""
        return self.weighing.sums == "floats" and self.weighing.repeat

    @classmethod
    def of(
        cls,
        table: Table,
        axis: int | tuple[int, ...] | None,
        weighing: Weighing,
        dtype: Dtype | None,
        *,
        edges: bool = False,
    ) -> HistogramRequest:
        """Return the request of a histogram in the bins of a table."""
        described = "histogram", table.kind, table.bins, table.guide.size, len(table.edges) - 1
        return cls(*described, axis, weighing, dtype, edges=edges)
