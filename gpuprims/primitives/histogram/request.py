"""Requests of a histogram: how to count any arrays."""

from __future__ import annotations

from typing import Literal, NamedTuple

from gpuprims.core.kernel_spec import Dtype
from gpuprims.primitives.histogram.binning import Table


class Weighing(NamedTuple):
    """How weights are added up.

    ``sums`` are counts, integers, or floats, whose sums ``repeat`` from run to run or not.
    """

    sums: Literal["counts", "integers", "floats"]
    repeat: bool = True


COUNTS = Weighing("counts")


class HistogramRequest(NamedTuple):
    """How to count any arrays.

    Parameters
    ----------
    kind : str
        Of the table.
    bins : int
        Bins of the table; the caller's others are empty.
    guide : int
        Entries of the table's guide.
    asked : int
        Bins that the caller asks for.
    axis : int, tuple of int or None
        Along which elements are counted together.
    weighing : Weighing
    dtype : dtype or None
        Of the result; by default int64, or float64 for floats.
    outside : bool
        Whether results have two more places, for elements too high and too low for a table that is "direct".
    label : str
        For messages.
    """

    kind: Literal["direct", "even", "edges"]
    bins: int
    guide: int
    asked: int
    axis: int | tuple[int, ...] | None
    weighing: Weighing
    dtype: Dtype | None = None
    outside: bool = False
    label: str = "histogram"


class TableRequest(NamedTuple):
    """A request and the table of its bins."""

    request: HistogramRequest
    table: Table
