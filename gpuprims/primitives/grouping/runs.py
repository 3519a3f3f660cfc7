"""Runs: neighbours that are equal."""

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
# Most elements for one scan, whose kernels write each result to a place of its own; more are marked and compacted.
# On an H100, 2^22 distinct elements took 114 us by a scan, 157 marked; 2^24 took 281 and 247 (CUDA 13.0, 2026-11-26).
# On two cores of an AMD EPYC, 2^15 took 190 and 261, 2^16 took 390 and 293 (Intel's runtime 2026.2, 2026-11-26).
_MOST_SCANNED = {"cpu": 1 << 15, "gpu": 1 << 22}


class Runs(NamedTuple):
    """What :func:`find_runs` found; None for what was not wanted."""

    values: Any
    # Where each run begins, and the end, as in CSR.
    offsets: Any
    # The number of each element's run.
    ranks: Any

    def begins(self, operands: Operands) -> Any:
        """Return where each run begins."""
        return operands.cut(self.offsets, 0, (int(self.offsets.shape[0]) - 1,))

    def lengths(self, operands: Operands) -> Any:
        """Return the number of elements of each run, as int64."""
        begins = self.begins(operands)
        return map_arrays(_LENGTH, begins, operands.cut(self.offsets, 1, begins.shape), device=operands.device)


def takes_one_scan(size: int, device: Device) -> bool:
    """Return True if a scan finds the runs of so many elements sooner than marks do."""
    return 1 < size <= _MOST_SCANNED.get(device.capabilities.kind, size)


def find_runs(operands: Operands, elements: Any, wanted: Wanted, *, equal_nan: bool = True) -> Runs:
    """Return what is wanted of the runs of an array; a call waits for their number.

    ``elements``, at least one along one axis, lie on the device of a call, or on a host whose memory it shares.
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
