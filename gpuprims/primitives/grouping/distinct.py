"""The launch plan of unique for small arrays of a device: a sort, and a kernel that finds the runs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.primitives.chain import Chain
from gpuprims.primitives.counted import CountedPlan
from gpuprims.primitives.grouping.direct import may_be_direct
from gpuprims.primitives.grouping.runs import takes_one_scan
from gpuprims.primitives.grouping.scanned_runs import RunsRequest, Wanted, plan_runs
from gpuprims.primitives.rle import EncodeRequest, able_to_encode
from gpuprims.primitives.rle.plan import plan_call as plan_encode
from gpuprims.primitives.sort.plan import SortRequest
from gpuprims.primitives.sort.several import plan_call as plan_sort

_INT64 = np.dtype(np.int64)


class DistinctRequest(NamedTuple):
    """Find the distinct elements and, if ``counted``, how often each occurs."""

    equal_nan: bool
    counted: bool


def takes_one_plan(operands: Operands, *, counted: bool) -> bool:
    """Return True if :func:`plan_distinct` plans the call."""
    (x,), device = operands.natives, operands.device
    return has_one_plan(x.size, x.dtype, device, counted=counted)


def has_one_plan(size: int, dtype: np.dtype[Any], device: Device, *, counted: bool) -> bool:
    """Return True if :func:`plan_distinct` plans calls with this many elements."""
    small = dtype.kind != "c" and takes_one_scan(size, device) and not may_be_direct(size, dtype, device)
    return small and (not counted or able_to_encode(device, dtype, size))


@keeps_calls()
def plan_distinct(
    request: DistinctRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a call."""
    chain, size = Chain(device, forms, generation), math.prod(forms[0].shape)
    (ordered,) = chain.add(plan_sort, SortRequest("keys", None), chain.given[0])
    counts = [contiguous(_INT64, (size,), alignment)] if request.counted else []
    results = contiguous(forms[0].dtype, (size,), alignment), *counts, contiguous(_INT64, (), alignment)
    into = list(enumerate(results))
    if able_to_encode(device, forms[0].dtype, size):
        how = EncodeRequest(lengths=request.counted, equal_nan=request.equal_nan)
        chain.add(plan_encode, how, ordered, into=into)
    else:
        neighbours = ordered.part(0, size - 1), ordered.part(1, size)
        chain.add(plan_runs, RunsRequest(size, Wanted(values=True), request.equal_nan), *neighbours, into=into)
    return chain.plan(results, variant, kind=CountedPlan)
