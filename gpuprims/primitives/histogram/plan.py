"""The launch plan of a histogram: one or two readings of the elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, ClassVar, cast

import numpy as np

from gpuprims.core.arrays import unchanged
from gpuprims.core.device import Device
from gpuprims.core.driver import Report
from gpuprims.core.faults import KnownArrays
from gpuprims.core.kernel_spec import Dtype
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.together import together
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError
from gpuprims.primitives.axes import axes_of
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.histogram import in_place
from gpuprims.primitives.histogram.binning import Table, key_dtype
from gpuprims.primitives.histogram.bins import start_limits, table_between
from gpuprims.primitives.histogram.elements import common_dtype
from gpuprims.primitives.histogram.launches import HistogramWork
from gpuprims.primitives.histogram.reading import ALIGNMENT, fits_exactly
from gpuprims.primitives.histogram.readings import Counted, Readings
from gpuprims.primitives.histogram.request import COUNTS, HistogramRequest, Weighing
from gpuprims.primitives.histogram.sought import find_bounds, launch_of_bounds, start_bounds
from gpuprims.primitives.histogram.tables import new_edges, table_on
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.histogram.warm import Run, run_between, run_for_counts, run_in_table, starting

_INT64, _FLOAT64, _UINT32 = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.uint32)


class HistogramPlan(LaunchPlan):
    """The launch plan of a histogram for any table; it compiles to :class:`Readings`, which :meth:`count` starts."""

    __slots__ = ("alone", "forms", "known", "longer", "request", "seeks", "table")
    checks_out: ClassVar[bool] = True
    request: HistogramRequest
    forms: tuple[Form, ...]
    table: Table
    seeks: int  # bins between the smallest and the largest element of each call, or 0 for the plan's own table
    known: KnownArrays  # whose bounds were finite
    alone: bool  # the result is the counts, without the edges
    longer: int | None  # the axis along which an array of ``out=`` may be longer

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Count with the plan's own table, and return the result to the caller."""
        return to_out(operands, (self.count(operands, self.table).sums,), out, (self.longer,))[0]

    def runner(self) -> Run:
        """See :class:`LaunchPlan`."""
        (sums, peaks, *_), device, table = cast("Readings", self.compiled()), self.device, self.table
        waits = self.seeks > 0 and table.kind != "sought"
        wants = self.request.edges
        start = None if sums is None or peaks or waits else starting(device, sums, self.results[0], table, edges=wants)
        if start is None:
            return self.run_there
        if self.alone:
            return run_for_counts(start, device, table)
        if not self.seeks:
            return run_in_table(start, device, table)
        bounds = launch_of_bounds(self.forms[0], ALIGNMENT, device, REGISTRY.generation)
        return run_between(start, device, bounds, self.known, self._fault, self.run_there)

    def runner_in_place(self, slow: Callable[[Sequence[Any]], Any], nbytes: int) -> Callable[[Sequence[Any]], Any]:
        """See :class:`LaunchPlan`."""
        return in_place.runner(self, slow, nbytes)

    def run_there(self, arrays: Sequence[Any]) -> Any:
        """Count arrays of the device as the call that was kept, and return sums and edges."""
        found, _ = self._count_again(Operands(self.primitive, self.device, tuple(arrays), False, unchanged, self.forms))
        return found.sums if self.alone else (found.sums, found.edges)

    def run_in_place(self, arrays: Sequence[np.ndarray]) -> Any:
        """Count arrays of the host as the call that was kept, and return sums and edges."""
        operands = Operands(self.primitive, self.device, tuple(arrays), True, unchanged)
        found, table = self._count_again(operands)
        sums = operands.to_caller(found.sums)
        return sums if self.alone else (sums, table.edges.copy())

    def _count_again(self, operands: Operands) -> tuple[Counted, Table]:
        """Count in the plan's own table, or in that of the elements' range, which mostly takes the same plan."""
        if not self.seeks or self.table.kind == "sought":
            return self.count(operands, self.table), self.table
        wait, request = start_limits(operands), self.request
        results = self._results(operands, self.table) if self._copies_edges(self.table) else None  # meanwhile
        table = table_between(operands.natives[0].dtype, self.seeks, *wait())
        if (table.kind, table.bins, table.guide.size) == (request.kind, request.bins, request.guide):
            same = table.edges.shape == self.table.edges.shape and table.edges.dtype == self.table.edges.dtype
            return self.count(operands, table, results if same else None), table
        return find_sums(operands, self._for_table(table), None).count(operands, table), table

    def _for_table(self, table: Table) -> HistogramRequest:
        return self.request._replace(kind=table.kind, bins=table.bins, guide=table.guide.size)

    def _count_between(self, operands: Operands, table: Table) -> Counted:
        """Count between the bounds of the elements, which stay on the device.

        If no earlier call found the array's bounds finite, wait for that; else a later call raises the error (0021).
        """
        if self._launch is None:
            together(self.device, self.compiled, lambda: find_bounds(operands))
        readings: Any = self._launch
        driver, array, faults = operands.driver, operands.natives[0], self.device.faults
        faults.check()
        counts, edges = self._results(operands, table)
        report = driver.report()
        memories = (operands.placed or operands.place())[1]
        readings.sums.run(driver, memories, start_bounds(operands), (), counts, edges=edges, report=report.memory)
        if array in self.known:
            report.leave()
            faults.add(report, self._fault)
        elif report.read():
            table = table_between(array.dtype, table.bins, *start_limits(operands)())  # raises an error that says why
            return find_sums(operands, self._for_table(table), None).count(operands, table)
        elif type(array) in REGISTRY.facts_by_class:
            self.known.add(array)
        return self._counted(operands, counts, edges, None)

    def _fault(self, _: int) -> Exception:
        self.known.forget()  # the next call waits again
        return ArgumentError(
            "histogram: finite elements, in a range that has as many bins, where range= is not given; got an array that"
            " was right in one call, and wrong in a later one, whose counts hold nothing"
        )

    def _copies_edges(self, table: Table) -> bool:
        """Return True if the kernel that counts copies the edges."""
        readings: Any = self._launch or self.compiled()
        return readings.sums is not None and readings.sums.edges and (table.kind == "sought" or table.edges_in_words)

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
        if table.kind == "sought":
            return self._count_between(operands, table)
        readings: Any = self._launch or self.compiled()
        (sums, peaks, *_), in_place, report = readings, operands.in_place, None
        counts, edges = results or self._results(operands, table)
        if sums is not None:
            driver, (_, memories) = operands.driver, operands.placed or operands.place()
            if in_place:
                words, memory = driver.memory(table.words), driver.memory(counts)
            else:
                words, memory = table_on(operands.device, table), counts
            try:
                exponents = (peaks.run(driver, memories, words),) if peaks else ()
                if sums.reports:
                    report = driver.report()
                    sums.run(driver, memories, words, exponents, memory, edges=edges, report=report.memory)
                else:
                    sums.run(driver, memories, words, exponents, memory, edges=edges)
            finally:
                if in_place:
                    operands.driver.wait()  # before an error frees the host's memory, too
        return self._counted(operands, counts, edges, report)

    def _counted(self, operands: Operands, counts: Any, edges: Any, report: Report | None) -> Counted:
        """Return the counts without the places behind them."""
        shape = self.results[0].shape
        return Counted(counts if counts.shape == shape else operands.cut(counts, 0, shape), edges, report)


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
    axes = axes_of(request.axis, len(forms[0].shape))
    kept = tuple(n for k, n in enumerate(forms[0].shape) if k not in axes)
    default = _FLOAT64 if request.weighing.sums == "floats" else _INT64
    result = contiguous(request.dtype or default, (*kept, request.length), alignment)
    traits = _traits(request, forms, axes, result, device)
    work = HistogramWork(request, forms, axes, device, traits, result)
    plan = HistogramPlan(device, "histogram", traits, (result,), work.launch, asked=variant, inputs=())
    plan.request, plan.forms, plan.known, plan.longer = request, forms, KnownArrays(), None
    return plan


def _traits(
    request: HistogramRequest, forms: tuple[Form, ...], axes: tuple[int, ...], result: Form, device: Device
) -> HistogramTraits:
    """Return the traits of a call."""
    shape, dtypes, repeats = forms[0].shape, tuple(form.dtype for form in forms), request.repeats
    key, floats = common_dtype(dtypes, request.keys), request.weighing.sums == "floats"
    outputs = math.prod(n for k, n in enumerate(shape) if k not in axes)
    room = device, dtypes[-1], result.dtype, outputs, request.bins, request.guide
    exact, here = fits_exactly(*room) if repeats else (False, False)
    return HistogramTraits(
        dtypes=(dtypes[0], key_dtype(key), *dtypes[1:], *([_FLOAT64] if floats else [])),
        arrays=request.keys.arrays,
        axes=request.keys.axes,
        size=math.prod(shape[k] for k in axes),
        outputs=outputs,
        value_bytes=12 if repeats else 4 if request.weighing.sums == "counts" else 8,
        bins=request.bins,
        values=request.guide - 2 if request.guide and key.kind in "iub" else 0,
        rounds=floats,
        exact=exact,
        exact_here=here,
    )


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
    request = HistogramRequest(*described, asked, axis, weighing, dtype, outside, edges, reports=reports)
    return find_sums(operands, request, variant).count(operands, table)


def find_sums(operands: Operands, request: HistogramRequest, variant: str | Variant | None) -> HistogramPlan:
    """Look up the launch plan of a histogram like this one."""
    if variant is not None:
        asked_by_name("histogram", variant)
    forms, _ = operands.placed or operands.place()
    return plan_sums(request, forms, operands.alignment, operands.device, variant, REGISTRY.generation)


def with_table(plan: HistogramPlan, table: Table, seeks: int = 0, *, alone: bool = False) -> HistogramPlan:
    """Return the plan with a table of its own, or with a number of bins whose range it seeks."""
    plan = copy(plan)
    plan.table, plan.seeks, plan.alone = table, seeks, alone
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
    return with_table(plan_sums(request[0], forms, alignment, device, variant, generation), request[1], alone=True)
