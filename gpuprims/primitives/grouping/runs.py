"""Runs of equal neighbours."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands
from gpuprims.expressions import trace
from gpuprims.primitives.grouping.by_numpy import few_runs
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.grouping.marked_runs import MarkedRuns
from gpuprims.primitives.grouping.scanned_runs import Wanted, scan_runs
from gpuprims.primitives.map import map as map_arrays

_LENGTH = trace(lambda first, second: (second - first).astype(np.int64), 2)
# Most elements for one scan, whose kernels scatter each result; in larger arrays, runs are marked and compacted.
# rows: scanned-runs
_MOST_SCANNED = {"cpu": 1 << 15, "gpu": 1 << 22}


class Runs(NamedTuple):
    """The results of :func:`find_runs`; None for each that was not wanted."""

    values: Any
    # The offsets of runs, as in CSR.
    offsets: Any
    # The number of the run of each element.
    ranks: Any

    def begins(self, operands: Operands) -> Any:
        """Return the index of the first element of each run."""
        return operands.cut(self.offsets, 0, (int(self.offsets.shape[0]) - 1,))

    def lengths(self, operands: Operands) -> Any:
        """Return the length of each run, as int64."""
        begins = self.begins(operands)
        return map_arrays(_LENGTH, begins, operands.cut(self.offsets, 1, begins.shape), device=operands.device)


def takes_one_scan(size: int, device: Device) -> bool:
    """Return True if one scan finds the runs of this many elements faster than marks do."""
    return 1 < size <= _MOST_SCANNED.get(device.capabilities.kind, size)


def find_runs(operands: Operands, elements: Any, wanted: Wanted, *, equal_nan: bool = True) -> Runs:
    """Find the runs of an array, and wait for their number.

    ``elements`` is a one-dimensional array that is not empty, on the device of a call or on a host whose memory the
    device shares.
    """
    size, device = int(elements.shape[0]), operands.device
    if (few := few_runs(operands, elements, wanted)) is not None:
        return Runs(*few)
    found: tuple[Any, ...]
    if size == 1:
        found = (elements, *[numbers(length, elements, device) for length in (2, 1)])
        return Runs(*[one if asked else None for one, asked in zip(found, wanted, strict=True)])
    if takes_one_scan(size, device):
        each = iter(scan_runs(operands, elements, wanted, equal_nan=equal_nan))
        return Runs(*[next(each) if asked else None for asked in wanted])
    marked, ranks = MarkedRuns(operands, elements, equal_nan=equal_nan), None
    if wanted.ranks:
        (ranks,) = scan_runs(operands, elements, Wanted(ranks=True), equal_nan=equal_nan)
    return Runs(marked.values if wanted.values else None, marked.offsets if wanted.offsets else None, ranks)
