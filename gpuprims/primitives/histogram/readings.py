"""The launches that a histogram's plan compiles to, and the results of a count."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuprims.core.driver import Report
from gpuprims.primitives.histogram.partitioned import Partitioned
from gpuprims.primitives.histogram.reading import Reading


class Counted(NamedTuple):
    """The result of a count: sums, and the edges and the report of the last place if asked for."""

    sums: Any
    edges: Any
    report: Report | None


class Readings(NamedTuple):
    """The launches of a histogram, and the shape of their memory, which begins with the result.

    ``sums`` is None if there is nothing to count. For sums scaled by the largest weight, ``peaks`` runs before and
    finds the exponents of the largest weights. If ``zeroed``, the memory must be zero before the launches.
    """

    sums: Reading | Partitioned | None
    peaks: Reading | None
    shape: tuple[int, ...]
    zeroed: bool
