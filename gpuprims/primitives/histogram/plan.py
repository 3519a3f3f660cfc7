"""Requests of a histogram, and their launch plans: one or two readings of the elements."""

from __future__ import annotations

import math
from copy import copy
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.launch_plan import LaunchPlan, Sample, nothing
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError
from gpuprims.operators import Op, find_op
from gpuprims.primitives.axes import axes_of
from gpuprims.primitives.histogram.binning import Table, check_bins, key_dtype
from gpuprims.primitives.histogram.limbs import joining_limbs
from gpuprims.primitives.histogram.reading import ALIGNMENT, Reader, Reading
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.histogram.variants import HistogramVariant

_INT64, _FLOAT64, _UINT32 = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.uint32)
# 64 bits hold the sum of up to 2^33 integers of 30 bits, which weights are cut into.
_MOST_CUT = 2**33
# Only a few tables of more bins are kept.
_LARGE = 2**16


class Weighing(NamedTuple):
    """How to add up weights: as counts, integers or floats. Sums of floats ``repeat`` from run to run or not."""

    sums: Literal["counts", "integers", "floats"]
    repeat: bool = True


COUNTS = Weighing("counts")


class HistogramRequest(NamedTuple):
    """How to count any arrays.

    Parameters
    ----------
    kind, bins, guide
        Kind, number of bins and length of the guide of the table; the caller's further bins are empty.
    asked : int
        The number of bins that the caller asked for.
    axis : int, tuple of int or None
        Count along these axes.
    weighing : Weighing
    dtype : dtype or None
        Dtype of the result; by default int64, or float64 for floats.
    outside : bool
        Whether results have two more places, for elements too high and too low for a "direct" table.
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


class _Readings(NamedTuple):
    """The launches of a histogram, and the shape of their memory, which begins with the result.

    ``sums`` is None if there is nothing to count. ``peaks`` runs before, for weights that are cut into integers: it
    finds the exponents of the largest. The memory is ``zeroed`` before the launches, if they add to it.
    """

    sums: Reading | None
    peaks: Reading | None
    shape: tuple[int, ...]
    zeroed: bool


class HistogramPlan(LaunchPlan):
    """The launch plan of a histogram for any table; ``reading`` returns the launches of the chosen variant."""

    __slots__ = ("_readings", "reading", "table")

    def __init__(
        self, device: Device, traits: HistogramTraits, result: Form, reading: Any, asked: str | Variant | None
    ) -> None:
        super().__init__(device, "histogram", traits, (result,), lambda chosen: nothing, asked=asked, inputs=())
        self.reading = reading
        self.table: Table | None = None
        self._readings: _Readings | None = None

    def compiled(self) -> Launch:
        """Compile the readings."""
        if self._readings is None:
            self._readings = self.reading(self.variant)
        return nothing

    def of(self, table: Table) -> HistogramPlan:
        """Return a copy of this plan with a table, for :meth:`run`."""
        plan = copy(self)
        plan.table = table
        return plan

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Count by the plan's own table, and return an array of the caller's library."""
        if out is not None or self.table is None:
            raise ArgumentError("histogram: no out=; got one")
        return operands.to_caller(self.count(operands, self.table))

    def count(self, operands: Operands, table: Table) -> Any:
        """Count elements, and return the sums as an array on the device, or on a host that shares its memory."""
        if self._readings is None:
            self.compiled()
        sums, peaks, shape, zeroed = self._readings  # type: ignore[misc]  # compiled() sets it
        (result,), driver = self.results, operands.driver
        if operands.in_place:
            counts = (operands.zeros if zeroed else operands.empty)(shape, result.dtype)
            if sums is not None:
                with operands.settled():
                    words = table_on(operands, table)
                    beside = _read_peaks(operands, words, peaks) if peaks else ()
                    sums.run(operands, words, beside, operands.memory(counts))
                    driver.synchronize()
        else:
            counts = (driver.zeros if zeroed else driver.empty)(shape, result.dtype)
            if sums is not None:
                words = table_on(operands, table)
                sums.run(operands, words, _read_peaks(operands, words, peaks) if peaks else (), counts)
        return counts if shape == result.shape else operands.cut(counts, 0, result.shape)


def _read_peaks(operands: Operands, words: Any, peaks: Reading) -> tuple[Any, ...]:
    """Find the exponents of the largest weights, and return their memory."""
    driver = operands.driver
    largest = peaks.room(driver) if peaks.fold is None else driver.scratch(peaks.folded)
    peaks.run(operands, words, (), largest)
    return (largest,)


def table_on(operands: Operands, table: Table, part: Literal["words", "edges"] = "words") -> Any:
    """Return a part of a table on the device, in memory of the current queue or stream."""
    look_up = _small_tables if table.bins <= _LARGE else _large_tables
    return look_up(operands.device, operands.driver.order, table, part)


def _copied(device: Device, order: int, table: Table, part: str) -> Any:
    return device.driver.asarray(getattr(table, part))


_small_tables, _large_tables = lru_cache(maxsize=64)(_copied), lru_cache(maxsize=4)(_copied)


@keeps_calls()
def plan_sums(
    request: HistogramRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> HistogramPlan:
    """Decide everything about a histogram but its memory and the table of its bins."""
    weighing, asked, bins, shape = request.weighing, request.asked, request.bins, forms[0].shape
    axes = axes_of(request.axis, len(shape))
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    floats, dtypes = weighing.sums == "floats", tuple(form.dtype for form in forms)
    traits = HistogramTraits(
        dtypes=(dtypes[0], key_dtype(dtypes[0]), *dtypes[1:], *([_FLOAT64] if floats else [])),
        size=math.prod(shape[k] for k in axes),
        outputs=math.prod(kept),
        value_bytes=24 if floats and weighing.repeat else {"counts": 4, "integers": 8, "floats": 8}[weighing.sums],
        bins=bins,
    )
    length, width = asked + 2 * request.outside, bins + 2 * request.outside
    result = contiguous(request.dtype or (_FLOAT64 if floats else _INT64), (*kept, length), alignment)

    def reading(variant: Variant) -> _Readings:
        chosen = HistogramVariant.of(variant)
        if not math.prod(shape) or not width:
            return _Readings(None, None, result.shape, zeroed=True)
        reader = Reader(device, chosen, forms, axes, traits, request.kind, request.guide)
        target = contiguous(result.dtype, (traits.outputs, length), alignment)._replace(shape=(traits.outputs, width))
        peaks = None
        if not floats or chosen.histograms == "private" or not weighing.repeat:
            sums = reader.read(weighing.sums, _adding(floats, result.dtype), target, alone=bins == asked)
        elif math.prod(shape) > _MOST_CUT:
            raise ArgumentError(
                f"{request.label}: at most 2^33 float weights for sums that repeat from run to run; got"
                f" {math.prod(shape)} (deterministic=False adds them in any order)"
            )
        else:
            beside = contiguous(_UINT32, (traits.outputs, bins + 2), ALIGNMENT)
            peaks = reader.read("peaks", find_op("max"), beside, alone=True)
            joining = joining_limbs(result.dtype, single=dtypes[1].kind == "f" and dtypes[1].itemsize < 8)
            sums = reader.read("limbs", joining, target, beside, alone=False)
        if sums.fold is None:
            return _Readings(sums, peaks, (bins + 2,), sums.zeroed)
        return _Readings(sums, peaks, result.shape, zeroed=bins < asked)

    return HistogramPlan(device, traits, result, reading, variant)


def count(
    operands: Operands,
    table: Table,
    asked: int,
    axis: int | tuple[int, ...] | None,
    weighing: Weighing = COUNTS,
    dtype: Dtype | None = None,
    variant: str | Variant | None = None,
    *,
    outside: bool = False,
    label: str = "histogram",
) -> Any:
    """Return counts of an array, or sums of its weights; see :meth:`HistogramPlan.count`, :class:`HistogramRequest`."""
    if variant is not None:
        asked_by_name("histogram", variant)
    request = HistogramRequest(table.kind, table.bins, table.guide.size, asked, axis, weighing, dtype, outside, label)
    forms, _ = operands.placed or operands.place()
    plan = plan_sums(request, forms, None, operands.alignment, operands.device, variant, REGISTRY.generation)
    return plan.count(operands, table)


def plan_call(
    request: TableRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a histogram but its memory."""
    return plan_sums(request.request, forms, written, alignment, device, variant, generation).of(request.table)


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of ``call.outputs`` histograms."""
    form = contiguous(call.dtype, (call.outputs, call.size), 16)
    bins = check_bins("explain", call.bins)
    request = HistogramRequest("even", bins, 0, bins, 1, COUNTS)
    return plan_sums(request, (form,), None, 16, call.device, None, 0)


@cache
def _adding(floats: bool, result: Dtype) -> Op:
    """Return the operator that adds up parts and converts the sum to the result's dtype."""
    dtypes = (_FLOAT64 if floats else _INT64,), (result,)
    return Op("a + b", 0, name="sum", commutative=True, dtypes=lambda elements, dtype: dtypes)
