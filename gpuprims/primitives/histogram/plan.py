"""The launch plan of a histogram: how often its elements are read, into what memory."""

from __future__ import annotations

import math
from copy import copy
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.launch_plan import Compiled, LaunchPlan, Sample
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, Result
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
from gpuprims.primitives.histogram.request import COUNTS, HistogramRequest, TableRequest, Weighing
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.histogram.variants import HistogramVariant

_INT64, _FLOAT64, _UINT32 = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.uint32)
# What weights are cut into: as many sums of 64 bits hold 2^33 integers of 30 bits.
_MOST_CUT = 2**33
# Tables of more bins take too much memory to keep many.
_LARGE = 2**16


class _Readings(NamedTuple):
    """The launches of a histogram.

    Parameters
    ----------
    sums : Reading or None
        None if there is nothing to count.
    peaks : Reading or None
        The launch before, for weights that are cut: the exponents of the largest.
    shape : tuple of int
        The shape of memory that begins with the result, and may go on behind it.
    zeroed : bool
        Whether that memory is zero before.
    """

    sums: Reading | None
    peaks: Reading | None
    shape: tuple[int, ...]
    zeroed: bool


class HistogramPlan(LaunchPlan):
    """A histogram with everything decided but the memory and the table of its bins.

    Parameters
    ----------
    device, traits, results, asked
        As of a :class:`LaunchPlan`.
    reading : callable
        From the chosen variant to the launches.
    """

    __slots__ = ("_readings", "reading", "table")

    def __init__(
        self, device: Device, traits: HistogramTraits, result: Result, reading: Any, asked: str | Variant | None
    ) -> None:
        super().__init__(device, "histogram", traits, (result,), lambda chosen: Compiled(), asked=asked, inputs=())
        self.reading = reading
        self.table: Table | None = None
        self._readings: _Readings | None = None

    def compiled(self) -> Compiled:
        """Compile the readings."""
        if self._readings is None:
            self._readings = self.reading(self.variant)
        return Compiled()

    def of(self, table: Table) -> HistogramPlan:
        """Return this plan with a table, for :meth:`run`."""
        plan = copy(self)
        plan.table = table
        return plan

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Count by the plan's own table, and return the counts as the caller wants them."""
        if out is not None or self.table is None:
            raise ArgumentError("histogram: no out=; got one")
        return operands.to_caller(self.count(operands, self.table))

    def count(self, operands: Operands, table: Table) -> Any:
        """Count elements, and return the sums as an array of the device, or of the host if it shares memory."""
        if self._readings is None:
            self.compiled()
        sums, peaks, shape, zeroed = self._readings  # type: ignore[misc]  # compiled() sets it
        (result,), driver = self.results, operands.driver
        if operands.in_place:
            counts = (operands.zeros if zeroed else operands.empty)(shape, result.dtype)
            if sums is not None:
                with operands.settled():
                    words = table_on(operands, table)
                    sums.run(operands, words, _read_peaks(operands, words, peaks), operands.memory(counts))
                    driver.synchronize()
        else:
            counts = (driver.zeros if zeroed else driver.empty)(shape, result.dtype)
            if sums is not None:
                words = table_on(operands, table)
                sums.run(operands, words, _read_peaks(operands, words, peaks) if peaks else (), counts)
        return counts if shape == result.shape else operands.cut(counts, 0, result.shape)


def _read_peaks(operands: Operands, words: Any, peaks: Reading | None) -> tuple[Any, ...]:
    """Return the memory of the exponents of the largest weights, if they are asked for."""
    if peaks is None:
        return ()
    driver, fold = operands.driver, peaks.fold
    largest = peaks.room(driver) if fold is None else driver.scratch(math.prod(fold.results[0].shape) * 4)
    peaks.run(operands, words, (), largest)
    return (largest,)


def table_on(operands: Operands, table: Table, part: Literal["words", "edges"] = "words") -> Any:
    """Return a part of a table on the device, in memory of the current queue or stream."""
    look_up = _kept_table if table.bins <= _LARGE else _large_table
    return look_up(operands.device, operands.driver.order, table, part)


@lru_cache(maxsize=64)
def _kept_table(device: Device, order: int, table: Table, part: str) -> Any:
    return device.driver.asarray(getattr(table, part))


@lru_cache(maxsize=4)
def _large_table(device: Device, order: int, table: Table, part: str) -> Any:
    return device.driver.asarray(getattr(table, part))


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
    traits = _traits(tuple(form.dtype for form in forms), kept, math.prod(shape[k] for k in axes), bins, weighing)
    length, width = asked + 2 * request.outside, bins + 2 * request.outside
    result = Result((*kept, length), request.dtype or (_FLOAT64 if weighing.sums == "floats" else _INT64))

    def reading(variant: Variant) -> _Readings:
        chosen = HistogramVariant.of(variant)
        if not math.prod(shape) or not width:
            return _Readings(None, None, result.shape, zeroed=True)
        reader = Reader(device, chosen, forms, axes, traits, request.kind, request.guide)
        target = contiguous(result.dtype, (traits.outputs, length), alignment)._replace(shape=(traits.outputs, width))
        floats, peaks = weighing.sums == "floats", None
        if not floats or chosen.histograms == "private" or not weighing.repeat:
            sums = reader.read(weighing.sums, _adding(floats, result.dtype), target, alone=bins == asked)
        elif math.prod(shape) > _MOST_CUT:
            raise ArgumentError(
                f"{request.label}: at most 2^33 float weights, whose sums are the same from run to run; got"
                f" {math.prod(shape)} (deterministic=False adds them as they come)"
            )
        else:
            beside = contiguous(_UINT32, (traits.outputs, bins + 2), ALIGNMENT)
            peaks = reader.read("peaks", find_op("max"), beside, alone=True)
            weights = forms[1].dtype
            joining = joining_limbs(result.dtype, single=weights.kind == "f" and weights.itemsize < 8)
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
    """Return the sums of an array, and of weights of the same shape, as an array of the device or the shared host.

    See :class:`HistogramRequest` for the arguments.
    """
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
    """Return the plan of so many histograms."""
    form = contiguous(call.dtype, (call.outputs, call.size), 16)
    bins = check_bins("explain", call.bins)
    request = HistogramRequest("even", bins, 0, bins, 1, COUNTS)
    return plan_sums(request, (form,), None, 16, call.device, None, 0)


@cache
def _adding(floats: bool, result: Dtype) -> Op:
    """Return the operator that adds parts up, and gives them a dtype in the end."""
    dtypes = (_FLOAT64 if floats else _INT64,), (result,)
    return Op("a + b", 0, name="sum", commutative=True, dtypes=lambda elements, dtype: dtypes)


def _traits(
    dtypes: tuple[Dtype, ...], kept: tuple[int, ...], size: int, bins: int, weighing: Weighing
) -> HistogramTraits:
    limbs = weighing.sums == "floats" and weighing.repeat
    return HistogramTraits(
        dtypes=(dtypes[0], key_dtype(dtypes[0]), *dtypes[1:], *([_FLOAT64] if weighing.sums == "floats" else [])),
        size=size,
        outputs=math.prod(kept),
        value_bytes={"counts": 4, "integers": 8, "floats": 24 if limbs else 8}[weighing.sums],
        bins=bins,
    )
