"""The launch plan of unique for small arrays of a device: a sort, and a scan that finds the runs."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

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


def takes_one_plan(operands: Operands) -> bool:
    """Return True if :func:`plan_distinct` plans the call."""
    (x,), device = operands.natives, operands.device
    return has_one_plan(x.size, x.dtype, device)


def has_one_plan(size: int, dtype: np.dtype[Any], device: Device) -> bool:
    """Return True if :func:`plan_distinct` plans calls with this many elements."""
    return dtype.kind != "c" and takes_one_scan(size, device) and not may_be_direct(size, dtype, device)


@keeps_calls()
def plan_distinct(
    equal_nan: bool,
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
    results = contiguous(forms[0].dtype, (size,), alignment), contiguous(_INT64, (), alignment)
    into = list(enumerate(results))
    if able_to_encode(device, forms[0].dtype, size):
        chain.add(plan_encode, EncodeRequest(equal_nan=equal_nan), ordered, into=into)
    else:
        neighbours = ordered.part(0, size - 1), ordered.part(1, size)
        chain.add(plan_runs, RunsRequest(size, Wanted(values=True), equal_nan), *neighbours, into=into)
    return chain.plan(results, variant, kind=partial(CountedPlan, lengths=_lengths))


def _lengths(count: int) -> list[int]:
    return [count]
