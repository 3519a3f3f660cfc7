"""The launch plan of a histogram: one or two readings of the elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from gpuprims.core.arrays import unchanged
from gpuprims.core.device import Device
from gpuprims.core.driver import Report
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.launch_plan import LaunchPlan, Sample
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
from gpuprims.primitives.histogram.bins import start_limits, table_between
from gpuprims.primitives.histogram.elements import in_memory_order
from gpuprims.primitives.histogram.joining import joining_planes
from gpuprims.primitives.histogram.reading import ALIGNMENT, Reader, Reading
from gpuprims.primitives.histogram.request import COUNTS, HistogramRequest, Weighing
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.histogram.variants import HistogramVariant

_INT64, _FLOAT64, _UINT32 = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.uint32)
# Float weights are added as integers; their digits hold the sum of this many.
_MOST_ADDED = 2**33
# Only a few tables of more bins are kept.
_LARGE = 2**16


class Counted(NamedTuple):
    """The result of a count: sums, and the edges and the report of the last place if asked for."""

    sums: Any
    edges: Any
    report: Report | None


class _Readings(NamedTuple):
    """The launches of a histogram, and the shape of their memory, which begins with the result.

    ``sums`` is None if there is nothing to count. For sums scaled by the largest weight, ``peaks`` runs before and
    finds the exponents of the largest weights. If ``zeroed``, the memory must be zero before the launches.
    """

    sums: Reading | None
    peaks: Reading | None
    shape: tuple[int, ...]
    zeroed: bool


class HistogramPlan(LaunchPlan):
    """The launch plan of a histogram for any table; it compiles to :class:`_Readings`, which :meth:`count` starts."""

    __slots__ = ("forms", "request", "seeks", "table")
    request: HistogramRequest
    forms: tuple[Form, ...]
    table: Table
    seeks: int  # bins between the smallest and the largest element of each call, or 0 for the plan's own table

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Count with the plan's own table, and return the result to the caller."""
        if out is not None:
            raise ArgumentError("histogram: no out=; got one")
        return operands.to_caller(self.count(operands, self.table).sums)

    def run_there(self, arrays: Sequence[Any]) -> Any:
        """Count arrays of the device as the call that was kept, and return sums and edges."""
        found, _ = self._count_again(Operands(self.primitive, self.device, tuple(arrays), False, unchanged, self.forms))
        return found.sums, found.edges

    def run_in_place(self, arrays: Sequence[np.ndarray]) -> Any:
        """Count arrays of the host as the call that was kept, and return sums and edges."""
        operands = Operands(self.primitive, self.device, tuple(arrays), True, unchanged)
        found, table = self._count_again(operands)
        return operands.to_caller(found.sums), table.edges.copy()

    def _count_again(self, operands: Operands) -> tuple[Counted, Table]:
        """Count in the plan's own table, or in that of the elements' range, which mostly takes the same plan."""
        if not self.seeks:
            return self.count(operands, self.table), self.table
        wait, request = start_limits(operands), self.request
        results = self._results(operands, self.table) if self._copies_edges(self.table) else None  # meanwhile
        table = table_between(operands, self.seeks, *wait())
        described = table.kind, table.bins, table.guide.size
        if described == (request.kind, request.bins, request.guide):
            same = table.edges.shape == self.table.edges.shape and table.edges.dtype == self.table.edges.dtype
            return self.count(operands, table, results if same else None), table
        request = request._replace(kind=table.kind, bins=table.bins, guide=table.guide.size)
        return find_sums(operands, request, None).count(operands, table), table

    def _copies_edges(self, table: Table) -> bool:
        """Return True if the kernel that counts copies the edges."""
        readings: Any = self._launch or self.compiled()
        return readings.sums is not None and readings.sums.edges and table.edges_in_words

    def _results(self, operands: Operands, table: Table) -> tuple[Any, Any]:
        """Return memory for the counts, and edges or memory for them if asked for."""
        readings: Any = self._launch or self.compiled()
        owner, (result,) = np if operands.in_place else operands.driver, self.results
        counts, edges = (owner.zeros if readings.zeroed else owner.empty)(readings.shape, result.dtype), None
        if self.request.edges:  # before counting: a copy from the host would wait for the counts
            edges = new_edges(operands, table, copied=self._copies_edges(table))
        return counts, edges

    def count(self, operands: Operands, table: Table, results: tuple[Any, Any] | None = None) -> Counted:
        """Count on the device, or on the host if kernels work there; into results of :meth:`_results` if given."""
        readings: Any = self._launch or self.compiled()
        sums, peaks, shape, _ = readings
        (result,), in_place, report = self.results, operands.in_place, None
        counts, edges = results or self._results(operands, table)
        if sums is not None:
            words, memory = table_on(operands, table), operands.memory(counts) if in_place else counts
            try:
                exponents = (peaks.run(operands, words),) if peaks else ()
                if sums.reports:
                    report = operands.driver.report()
                    sums.run(operands, words, exponents, memory, edges=edges, report=report.memory)
                else:
                    sums.run(operands, words, exponents, memory, edges=edges)
            finally:
                if in_place:
                    operands.driver.wait()  # before an error frees the host's memory, too
        return Counted(counts if shape == result.shape else operands.cut(counts, 0, result.shape), edges, report)


def table_on(operands: Operands, table: Table, part: Literal["words", "edges"] = "words") -> Any:
    """Return a part of a table on the device, in memory of the current queue or stream."""
    look_up = _small_tables if table.bins <= _LARGE else _large_tables
    return look_up(operands.device, operands.driver.order, table, part)


def new_edges(operands: Operands, table: Table, *, copied: bool) -> Any:
    """Return new memory for the edges on the device, or with the edges unless a kernel copies them there."""
    if copied:
        return operands.driver.empty(table.edges.shape, table.edges.dtype)
    return operands.driver.copy(table_on(operands, table, "edges"), table.edges)


def _copied(device: Device, order: int, table: Table, part: str) -> Any:
    return device.driver.asarray(getattr(table, part))


_small_tables, _large_tables = lru_cache(maxsize=64)(_copied), lru_cache(maxsize=4)(_copied)


@keeps_calls()
def plan_sums(
    request: HistogramRequest,
    forms: tuple[Form, ...],
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> HistogramPlan:
    """Decide everything about a histogram but its memory and the contents of its table."""
    weighing, asked, bins, shape = request.weighing, request.asked, request.bins, forms[0].shape
    axes = axes_of(request.axis, len(shape))
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    floats, dtypes = weighing.sums == "floats", tuple(form.dtype for form in forms)
    traits = HistogramTraits(
        dtypes=(dtypes[0], key_dtype(dtypes[0]), *dtypes[1:], *([_FLOAT64] if floats else [])),
        size=math.prod(shape[k] for k in axes),
        outputs=math.prod(kept),
        value_bytes=12 if floats and weighing.repeat else {"counts": 4, "integers": 8, "floats": 8}[weighing.sums],
        bins=bins,
    )
    length, width = asked + 2 * request.outside, bins + 2 * request.outside
    result = contiguous(request.dtype or (_FLOAT64 if floats else _INT64), (*kept, length), alignment)

    def compiling(variant: Variant) -> Any:
        chosen = HistogramVariant.of(variant)
        if not math.prod(shape) or not width:
            return _Readings(None, None, result.shape, zeroed=True)
        reader = Reader(device, chosen, in_memory_order(forms, axes), axes, traits, request.kind, request.guide)
        target = contiguous(result.dtype, (traits.outputs, length), alignment)._replace(shape=(traits.outputs, width))
        peaks, how = None, {"edges": request.edges, "reports": request.reports}
        if not floats or chosen.histograms == "private" or not weighing.repeat:
            sums = reader.read(weighing.sums, _adding(floats, result.dtype), target, alone=bins == asked, **how)
        elif math.prod(shape) > _MOST_ADDED:
            raise ArgumentError(
                f"{request.label}: at most 2^33 float weights for sums that repeat from run to run; got"
                f" {math.prod(shape)} (deterministic=False adds them in any order)"
            )
        elif reader.adds_exactly(result.dtype):
            sums = reader.read("exact", _adding(True, result.dtype), target, alone=False, **how)
        elif not chosen.shares_histograms:
            sums = reader.read("relative", _adding(True, result.dtype), target, alone=bins == asked)
        else:
            beside = contiguous(_UINT32, (traits.outputs, bins + 2), ALIGNMENT)
            peaks = reader.read("peaks", find_op("max"), beside, alone=True)
            joining = joining_planes(result.dtype, single=dtypes[1].kind == "f" and dtypes[1].itemsize < 8)
            sums = reader.read("scaled", joining, target, beside, alone=False, **how)
        if sums.behind:
            return _Readings(sums, peaks, (bins + sums.behind,), sums.zeroed)
        return _Readings(sums, peaks, result.shape, zeroed=bins < asked)

    plan = HistogramPlan(device, "histogram", traits, (result,), compiling, asked=variant, inputs=())
    plan.request, plan.forms = request, forms
    return plan


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
    edges: bool = False,
    reports: bool = False,
) -> Counted:
    """Count as :meth:`HistogramPlan.count`; see :class:`HistogramRequest` for the arguments."""
    described = operands.label, table.kind, table.bins, table.guide.size
    request = HistogramRequest(*described, asked, axis, weighing, dtype, outside, edges, reports)
    return find_sums(operands, request, variant).count(operands, table)


def find_sums(operands: Operands, request: HistogramRequest, variant: str | Variant | None) -> HistogramPlan:
    """Look up the launch plan of a histogram like this one."""
    if variant is not None:
        asked_by_name("histogram", variant)
    forms, _ = operands.placed or operands.place()
    return plan_sums(request, forms, operands.alignment, operands.device, variant, REGISTRY.generation)


def with_table(plan: HistogramPlan, table: Table, seeks: int = 0) -> HistogramPlan:
    """Return the plan with a table of its own, or with a number of bins whose range it seeks."""
    plan = copy(plan)
    plan.table, plan.seeks = table, seeks
    return plan


def plan_call(
    request: tuple[HistogramRequest, Table],
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a histogram but its memory."""
    return with_table(plan_sums(request[0], forms, alignment, device, variant, generation), request[1])


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a histogram of each row, for ``explain``."""
    form = contiguous(call.dtype, (call.outputs, call.size), 16)
    bins = check_bins("explain", call.bins)
    request = HistogramRequest("explain", "even", bins, 0, bins, 1, COUNTS)
    return plan_sums(request, (form,), 16, call.device, None, 0)


@cache
def _adding(floats: bool, result: Dtype) -> Op:
    """Return the operator that adds parts and converts the sum to the result's dtype."""
    dtypes = (_FLOAT64 if floats else _INT64,), (result,)
    return Op("a + b", 0, name="sum", commutative=True, dtypes=lambda elements, dtype: dtypes)
