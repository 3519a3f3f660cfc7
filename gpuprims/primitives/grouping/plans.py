"""Plans of the grouping functions. Each call waits for the number of groups or runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.errors import ArgumentError
from gpuprims.operators import Op
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.grouping.consecutive import consecutive
from gpuprims.primitives.grouping.distinct import DistinctRequest, has_one_plan, plan_distinct
from gpuprims.primitives.grouping.group_by import group_by
from gpuprims.primitives.grouping.run_length import DECODING, ENCODING
from gpuprims.primitives.grouping.runs import plan_alone
from gpuprims.primitives.grouping.scanned_runs import RunsRequest, Wanted, plan_runs
from gpuprims.primitives.grouping.unique import distinct, refuse_axis
from gpuprims.primitives.scan.plan import ScanRequest
from gpuprims.primitives.scan.plan import plan_call as plan_scan
from gpuprims.primitives.sort.by_numpy import Wanted as Sorted
from gpuprims.primitives.sort.plan import SortRequest
from gpuprims.primitives.sort.several import plan_call as plan_sort
from gpuprims.primitives.steps import steps_planner

_INT64 = np.dtype(np.int64)


class _Unique(NamedTuple):
    """The keywords of ``unique`` and ``unique_consecutive``."""

    return_index: bool = False
    return_inverse: bool = False
    return_counts: bool = False
    equal_nan: bool = True


def _unique(
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: None = None,
    equal_nan: bool = True,
) -> _Unique:
    refuse_axis(axis)
    check_flags("plan of unique", return_index=return_index, return_inverse=return_inverse)
    check_flags("plan of unique", return_counts=return_counts, equal_nan=equal_nan)
    return _Unique(return_index, return_inverse, return_counts, equal_nan)


def _consecutive(return_inverse: bool = False, return_counts: bool = False) -> _Unique:
    check_flags("plan of unique_consecutive", return_inverse=return_inverse, return_counts=return_counts)
    return _Unique(False, return_inverse, return_counts)


def _encoding() -> _Unique:
    return _Unique(return_counts=True)


class _Grouped(NamedTuple):
    """The operator of ``group_by``."""

    op: str | Op | Callable[..., Any] = "sum"


def _flat(form: Form, alignment: int) -> Form:
    """Return the form of a flattened array, with at least the two elements that runs need."""
    return contiguous(form.dtype, (max(math.prod(form.shape), 2),), alignment)


def _sorts(wanted: Sorted, form: Form, alignment: int, device: Device, generation: int) -> LaunchPlan:
    """Return the plan of the sort with which a call begins."""
    return plan_sort(SortRequest(wanted), (_flat(form, alignment),), None, alignment, device, None, generation)


def _first_of_unique(
    request: _Unique, forms: tuple[Form, ...], alignment: int, device: Device, generation: int
) -> LaunchPlan:
    return _sorts(
        "indices" if request.return_index or request.return_inverse else "keys", forms[0], alignment, device, generation
    )


def _all_of_unique(
    request: _Unique, forms: tuple[Form, ...], alignment: int, device: Device, generation: int
) -> LaunchPlan | None:
    """Return the plan of a call that needs only one; None for others, and on CPUs, where NumPy computes these."""
    (form,), how = forms, DistinctRequest(bool(request.equal_nan), bool(request.return_counts))
    if request.return_index or request.return_inverse or device.driver.shares_host_memory:
        return None
    if not has_one_plan(math.prod(form.shape), form.dtype, device, counted=how.counted):
        return None
    return plan_distinct(how, forms, None, alignment, device, None, generation)


def _first_of_groups(
    request: _Grouped, forms: tuple[Form, ...], alignment: int, device: Device, generation: int
) -> LaunchPlan:
    if len(forms) < 2:
        raise ArgumentError("plan of group_by: keys and at least one array of values; got no values")
    return _sorts("indices", forms[0], alignment, device, generation)


def _all_of_runs(
    request: _Unique, forms: tuple[Form, ...], alignment: int, device: Device, generation: int
) -> LaunchPlan | None:
    """Return the plan of a call that needs only one; None for others."""
    if request.return_inverse:
        return None
    return plan_alone(forms[0], alignment, device, generation, lengths=request.return_counts)


def _first_of_runs(
    request: _Unique, forms: tuple[Form, ...], alignment: int, device: Device, generation: int
) -> LaunchPlan:
    whole = _flat(forms[0], alignment)
    if (plan := _all_of_runs(request, (whole,), alignment, device, generation)) is not None:
        return plan
    pair = contiguous(whole.dtype, (whole.shape[0] - 1,), 1)
    runs = RunsRequest(whole.shape[0], Wanted(values=True), True)
    return plan_runs(runs, (pair, pair), None, alignment, device, None, generation)


def _first_of_lengths(
    request: Any, forms: tuple[Form, ...], alignment: int, device: Device, generation: int
) -> LaunchPlan:
    lengths = _flat(forms[1], alignment)
    return plan_scan(ScanRequest(dtype=_INT64), (lengths,), None, alignment, device, None, generation)


def _distinct(request: _Unique, operands: Operands, out: Out | None) -> Any:
    return distinct(*request, operands, out)


def _runs(request: _Unique, operands: Operands, out: Out | None) -> Any:
    return consecutive(request.return_inverse, request.return_counts).steps(operands, out)


def _groups(request: _Grouped, operands: Operands, out: Out | None) -> tuple[Any, ...]:
    results = group_by(*operands.natives, op=request.op, device=operands.device)
    return to_out(operands, results, out, (0,) * len(results))


_FLAGS = "return_index", "return_inverse", "return_counts", "axis"
PLANS = {
    "unique": steps_planner(
        "unique", _unique, _first_of_unique, _distinct, positional=_FLAGS, alone=_all_of_unique
    ),
    "unique_consecutive": steps_planner(
        "unique_consecutive", _consecutive, _first_of_runs, _runs, positional=_FLAGS[1:3], alone=_all_of_runs
    ),
    "run_length_encode": steps_planner(
        "run_length_encode", _encoding, _first_of_runs, lambda _, operands, out: ENCODING.steps(operands, out),
        alone=_all_of_runs,
    ),
    "run_length_decode": steps_planner(
        "run_length_decode", tuple, _first_of_lengths, lambda _, operands, out: DECODING.steps(operands, out),
        arrays=2, what="values and lengths",
    ),
    "group_by": steps_planner("group_by", _Grouped, _first_of_groups, _groups, arrays=None),
}  # fmt: skip
