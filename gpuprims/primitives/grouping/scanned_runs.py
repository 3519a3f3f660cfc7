"""Runs by one scan, which counts the pairs of neighbours that differ, and scatters the wanted results."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.expressions import TypedExpr, trace, typed
from gpuprims.operators import Folding, find_op
from gpuprims.primitives.counted import CountedPlan
from gpuprims.primitives.fold import plan_scan
from gpuprims.primitives.grouping.indices import index_dtype
from gpuprims.primitives.segments.offsets import along_one_axis

_INT64 = np.dtype(np.int64)
_WARM = WarmCalls()


class Wanted(NamedTuple):
    """The wanted results: the first elements of runs, their offsets, and the number of the run of each element."""

    values: bool = False
    offsets: bool = False
    ranks: bool = False


class RunsRequest(NamedTuple):
    """The wanted results for the runs of ``size`` elements; with ``equal_nan``, NaN equals NaN."""

    size: int
    wanted: Wanted
    equal_nan: bool


def scan_runs(operands: Operands, elements: Any, wanted: Wanted, *, equal_nan: bool) -> tuple[Any, ...]:
    """Return the wanted results, in the order of their fields, for two elements or more; see ``find_runs``."""
    size = int(elements.shape[0])
    request = RunsRequest(size, wanted, equal_nan)
    pairs = operands.cut(elements, 0, (size - 1,)), operands.cut(elements, 1, (size - 1,))
    key, given, run = _WARM.find_into(request, pairs, None, operands.device)
    if run is not None:
        found = run(given)
    else:
        own = as_operands("runs", pairs, operands.device)
        plan = find_plan(plan_runs, own, request, None, None)
        _WARM.keep(key, plan, own)
        found = plan.run(own, None)
    return found if isinstance(found, tuple) else (found,)


def plan_scan_ahead(device: Device, dtype: np.dtype[Any], size: int, wanted: Wanted) -> LaunchPlan:
    """Return the plan of :func:`scan_runs` for elements in new memory."""
    pair = contiguous(dtype, (size - 1,), 16)
    pairs = pair, pair._replace(phase=dtype.itemsize % 16)
    request = RunsRequest(size, wanted, equal_nan=True)
    return plan_runs(request, pairs, None, 16, device, None, REGISTRY.generation)


@keeps_calls()
def plan_runs(
    request: RunsRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan runs: a scan of pairs of neighbours."""
    wanted, size, dtype, index = request.wanted, request.size, forms[0].dtype, index_dtype(request.size)
    room = (dtype, size), (index, size + 1), (index, size)
    results = [contiguous(kind, (most,), alignment) for (kind, most), asked in zip(room, wanted, strict=True) if asked]
    results.append(contiguous(_INT64, (), alignment))
    # Several outputs of the scan write to one result, since a pair may write two or three of its elements.
    outputs = [wanted[:k].count(True) for k, many in enumerate((2, 3, 2)) for _ in range(many * wanted[k])]
    outputs.append(len(results) - 1)
    count = contiguous(_INT64, (size + 1,), alignment)._replace(strides=(0,))
    targets = [results[k] if results[k].shape else count for k in outputs]
    folding, place = _counting(request, dtype, tuple(target.dtype for target in targets))
    shape, (pairs, written_along) = along_one_axis(forms, targets)
    plan = plan_scan(
        *(device, pairs, written_along, results, folding, shape, (0,), variant),
        commutative=True,
        inclusive=False,
        place=place,
        count=size - 1,
        kind=partial(CountedPlan, lengths=partial(_lengths, request)),
    )
    return replace(plan, outputs=outputs)


def _lengths(request: RunsRequest, count: int) -> list[int]:
    """Return the length of each result, given the number of runs."""
    each = count, count + 1, request.size
    return [length for length, asked in zip(each, request.wanted, strict=True) if asked]


def _counting(
    request: RunsRequest, dtype: np.dtype[Any], written: tuple[np.dtype[Any], ...]
) -> tuple[Folding, TypedExpr]:
    """Return the scan that counts the pairs that differ, and the function that places its results.

    The second element of a pair that differs begins a run. The first pair also writes the first run, and the last pair
    the end and the number of runs.
    """
    wanted, last, index = request.wanted, request.size - 2, index_dtype(request.size)

    def differ(a: Any, b: Any) -> Any:
        return (a != b) & ((a == a) | (b == b)) if dtype.kind in "fc" and request.equal_nan else a != b

    def results(before: Any, j: Any, a: Any, b: Any) -> Any:
        """Return the value of each output of the scan; ``before`` counts the earlier pairs that differ."""
        runs = before + np.where(differ(a, b), 2, 1)  # up to the second element of the pair
        each = (b, a), (j + 1, 0, last + 2), (runs - 1, 0)
        return (*[one for ones, asked in zip(each, wanted, strict=True) if asked for one in ones], runs)

    def places(before: Any, j: Any, a: Any, b: Any) -> Any:
        """Return the place of each output, or -1 to drop it."""
        begins = differ(a, b)
        own, first, end = np.where(begins, before + 1, -1), np.where(j == 0, 0, -1), j == last
        behind = np.where(end, before + np.where(begins, 2, 1), -1)
        each = (own, first), (own, first, behind), (j + 1, first)
        return (*[one for ones, asked in zip(each, wanted, strict=True) if asked for one in ones], np.where(end, 0, -1))

    counted = index, _INT64, dtype, dtype
    folding = Folding(
        values=(index,),
        outputs=written,
        map=typed(trace(lambda a, b, j: differ(a, b), 3), (dtype, dtype, _INT64), (index,)),
        op=typed(find_op("sum").fold, (index, index), (index,)),
        finish=typed(trace(results, 4), counted, written),
        identity=(index.type(0),),
    )
    return folding, typed(trace(places, 4), counted, (_INT64,) * len(written))
