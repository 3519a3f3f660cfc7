"""Whether edges on a device ascend, found there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.expressions import trace
from gpuprims.operators import find_op, make_folding
from gpuprims.primitives.fold import plan_fold

_INT64 = np.dtype(np.int64)
# 1 for an edge that is not below or equal to the next one, as beside NaN.
_FALLS = trace(lambda before, after: np.where(before <= after, 0, 1), 2)


def start_check(operands: Operands) -> Callable[[], bool]:
    """Start a kernel that compares neighbours in a contiguous array; return a function that waits for its answer."""
    (edges,), driver = operands.natives, operands.driver
    pairs = int(edges.size) - 1
    if pairs < 1:
        return lambda: True
    both = driver.cut(edges, 0, (pairs,)), driver.cut(edges, 1, (pairs,))
    report = driver.report()
    forms = driver.form(both[0]), driver.form(both[1])
    _launch(forms, operands.device, REGISTRY.generation)([*both, report.memory])
    report.mark()
    return lambda: report.read() == 0


@keeps_calls()
def _launch(forms: tuple[Form, Form], device: Device, generation: int) -> Launch:
    """Return the launch that stores 0 if all edges ascend."""
    folding = make_folding(find_op("max"), _FALLS, tuple([form.dtype for form in forms]), _INT64)
    place = Form(_INT64, (), (), 0, 8)
    return plan_fold(device, forms, [place], folding, forms[0].shape, (0,), commutative=True).compiled()
