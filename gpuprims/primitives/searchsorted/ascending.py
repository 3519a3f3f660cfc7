"""Check on a device that its edges ascend."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch, Report
from gpuprims.core.faults import KnownArrays
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import forgets_calls, keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError
from gpuprims.expressions import trace
from gpuprims.operators import find_op, make_folding
from gpuprims.primitives.fold import plan_fold

_INT64 = np.dtype(np.int64)
_MOST_CHECKS = 64
# 1 for an edge that is not below or equal to the next one, as beside NaN.
_FALLS = trace(lambda before, after: np.where(before <= after, 0, 1), 2)


def start_check(operands: Operands) -> Callable[[], bool]:
    """Start a kernel that compares neighbours in a contiguous array; return a function that waits for its answer."""
    (edges,) = operands.natives
    if edges.size < 2:
        return lambda: True
    report = _started(operands.device, edges)
    report.mark()
    return lambda: report.read() == 0


def check_behind(device: Device, edges: Any, known: KnownArrays) -> None:
    """Check edges that ascended in an earlier call while the host goes on; see docs/decisions/0021."""

    def fault(_: int) -> Exception:
        known.forget()  # the next call waits again
        rule = "digitize: bins that ascend, as the same array did in an earlier call"
        return ArgumentError(f"{rule}; got others in a call since (pass a new array for other bins)")

    device.faults.check()
    if edges.size > 1:
        report = _started(device, edges)
        report.leave()
        device.faults.add(report, fault)


def _started(device: Device, edges: Any) -> Report:
    prepared = _checks.get(id(edges))
    if prepared is None or prepared.edges() is not edges:
        prepared = _prepare(device, edges)
    report = device.driver.report()
    prepared.launch([*prepared.pairs, report.memory])
    return report


class _Check(NamedTuple):
    """The launch of a check, and the two views of the edges that it reads; these live as long as the edges."""

    edges: weakref.ref[Any]
    pairs: tuple[Any, Any]
    launch: Launch


def _prepare(device: Device, edges: Any) -> _Check:
    """Return the check of an array, which further calls find by the array itself."""
    driver, count, place = device.driver, int(edges.size) - 1, id(edges)
    pairs = driver.cut(edges, 0, (count,)), driver.cut(edges, 1, (count,))
    launch = _launch((driver.form(pairs[0]), driver.form(pairs[1])), device, REGISTRY.generation)
    if len(_checks) >= _MOST_CHECKS:
        _checks.clear()
    found = _checks[place] = _Check(weakref.ref(edges, lambda _: _checks.pop(place, None)), pairs, launch)
    return found


@keeps_calls()
def _launch(forms: tuple[Form, Form], device: Device, generation: int) -> Launch:
    """Return the launch that stores 0 if all edges ascend."""
    folding = make_folding(find_op("max"), _FALLS, tuple([form.dtype for form in forms]), _INT64)
    place = Form(_INT64, (), (), 0, 8)
    return plan_fold(device, forms, [place], folding, forms[0].shape, (0,), commutative=True).compiled()


_checks: dict[int, _Check] = {}
forgets_calls(_checks.clear)
