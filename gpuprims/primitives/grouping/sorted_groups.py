"""The launch plan of groups on a device: a sort of pairs, and a kernel that finds the runs of keys."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.core.warm_calls import Run
from gpuprims.primitives.chain import Chain
from gpuprims.primitives.counted import CountedPlan
from gpuprims.primitives.grouping.indices import index_dtype
from gpuprims.primitives.rle import EncodeRequest, able_to_encode
from gpuprims.primitives.rle.plan import plan_call as plan_encode
from gpuprims.primitives.sort.plan import SortRequest
from gpuprims.primitives.sort.several import plan_call as plan_sort

_INT64 = np.dtype(np.int64)


def finder_of_groups(device: Device, keys: Form, beside: Form, alignment: int, *, keyed: bool) -> Run | None:
    """Return a function from keys along one axis, and what lies beside them, to groups.

    It returns what lay beside the keys in their order, the key of each group if ``keyed``, and the offsets of groups.
    It is None if this takes several plans.
    """
    (size,) = keys.shape
    if size < 2 or keys.dtype.kind == "c" or not able_to_encode(device, keys.dtype, size):
        return None
    return plan_groups(keyed, (keys, beside), None, alignment, device, None, REGISTRY.generation).runner()


@keeps_calls()
def plan_groups(
    keyed: bool,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan a call."""
    chain, (keys, beside) = Chain(device, forms, generation), forms
    (size,), request = keys.shape, EncodeRequest(values=keyed, begins=True)
    lengths = [(keys.dtype, size)] if keyed else []
    lengths = [(beside.dtype, size), *lengths, (index_dtype(size), size + 1)]
    results = [contiguous(dtype, (length,), alignment) for dtype, length in lengths]
    results.append(contiguous(_INT64, (), alignment))
    ordered, _ = chain.add(plan_sort, SortRequest("pairs", None), *chain.given, into=[None, (0, results[0])])
    chain.add(plan_encode, request, ordered, into=list(enumerate(results[1:], 1)))
    return chain.plan(results, variant, kind=partial(CountedPlan, lengths=partial(_lengths, size, keyed)))


def _lengths(size: int, keyed: bool, count: int) -> Sequence[int]:
    """Return the length of each result, given the number of groups."""
    return (size, count, count + 1) if keyed else (size, count + 1)
