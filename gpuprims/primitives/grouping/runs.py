"""Runs of equal neighbours."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous, is_contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.together import ahead
from gpuprims.expressions import trace
from gpuprims.primitives.grouping.by_numpy import few_runs
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.grouping.marked_runs import MarkedRuns
from gpuprims.primitives.grouping.scanned_runs import Wanted, plan_scan_ahead, scan_runs
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.rle import EncodeRequest, able_to_encode, encode_runs
from gpuprims.primitives.rle.plan import plan_call as plan_encode

_LENGTH = trace(lambda first, second: (second - first).astype(np.int64), 2)
# Most elements for one scan, whose kernels scatter each result; in larger arrays, runs are marked and compacted. A
# device with kernels of rle scans only for ranks.
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
    if _encodes(wanted, size, elements.dtype, device):
        return _encoded(operands, elements, wanted, equal_nan=equal_nan)
    if takes_one_scan(size, device):
        each = iter(scan_runs(operands, elements, wanted, equal_nan=equal_nan))
        return Runs(*[next(each) if asked else None for asked in wanted])
    marked, ranks = MarkedRuns(operands, elements, equal_nan=equal_nan), None
    if wanted.ranks:
        (ranks,) = scan_runs(operands, elements, Wanted(ranks=True), equal_nan=equal_nan)
    return Runs(marked.values if wanted.values else None, marked.offsets if wanted.offsets else None, ranks)


def find_lengths(operands: Operands, elements: Any, *, equal_nan: bool = True) -> tuple[Any, Any]:
    """Return the first elements and the lengths of runs, of an array as :func:`find_runs` takes it."""
    if able_to_encode(operands.device, elements.dtype, int(elements.shape[0])):
        found: tuple[Any, Any] = encode_runs(elements, lengths=True, equal_nan=equal_nan, device=operands.device)
        return found
    runs = find_runs(operands, elements, Wanted(values=True, offsets=True), equal_nan=equal_nan)
    return runs.values, runs.lengths(operands)


def plan_of_runs(operands: Operands, *, lengths: bool) -> LaunchPlan | None:
    """Return the launch plan that finds the first elements of runs, and their lengths; None if it takes several."""
    if operands.in_place:
        return None
    forms, _ = operands.placed or operands.place()
    return plan_alone(forms[0], operands.alignment, operands.device, REGISTRY.generation, lengths=lengths)


def plan_alone(form: Form, alignment: int, device: Device, generation: int, *, lengths: bool) -> LaunchPlan | None:
    """Return the plan of :func:`plan_of_runs` for an array of this form."""
    if not is_contiguous(form) or not able_to_encode(device, form.dtype, math.prod(form.shape)):
        return None
    return plan_encode(EncodeRequest(lengths=lengths), (form,), None, alignment, device, None, generation)


@keeps_calls()
def compile_runs_ahead(device: Device, dtype: np.dtype[Any], size: int, wanted: Wanted) -> None:
    """Compile the kernel of :func:`find_runs` in another thread, while the elements are sorted."""
    if _encodes(wanted, size, dtype, device):
        request = EncodeRequest(wanted.values, wanted.offsets)
        plan = plan_encode(request, (contiguous(dtype, (size,), 16),), None, 16, device, None, REGISTRY.generation)
    elif takes_one_scan(size, device):
        plan = plan_scan_ahead(device, dtype, size, wanted)
    else:
        return
    ahead(device, plan.compiled)


def _encodes(wanted: Wanted, size: int, dtype: np.dtype[Any], device: Device) -> bool:
    """Return True if kernels of one pass find values or offsets; one scan finds these with few ranks."""
    asked = (wanted.values or wanted.offsets) and not (wanted.ranks and takes_one_scan(size, device))
    return asked and able_to_encode(device, dtype, size)


def _encoded(operands: Operands, elements: Any, wanted: Wanted, *, equal_nan: bool) -> Runs:
    """Find runs by a kernel of one pass, and the ranks by a scan."""
    begins, values, ranks = wanted.offsets, wanted.values, None
    found = encode_runs(elements, values=values, begins=begins, equal_nan=equal_nan, device=operands.device)
    each = iter(found if isinstance(found, tuple) else (found,))
    first, offsets = next(each) if values else None, next(each) if begins else None
    if wanted.ranks:
        (ranks,) = scan_runs(operands, elements, Wanted(ranks=True), equal_nan=equal_nan)
    return Runs(first, offsets, ranks)
