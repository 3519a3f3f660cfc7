"""Sorts of arrays along an axis, for functions of this package and others."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.warm_calls import AS_GIVEN, WarmCalls
from gpuprims.expressions import expression
from gpuprims.primitives.signatures import Function
from gpuprims.primitives.sort.by_numpy import Wanted
from gpuprims.primitives.sort.plan import bind
from gpuprims.primitives.sort.several import plan_call

_WARM = WarmCalls()


def in_order(
    label: str,
    wanted: Wanted,
    arrays: tuple[Any, ...],
    device: str | Device | None,
    *,
    axis: Any = -1,
    descending: Any = False,
    out: Any = None,
    variant: Any = None,
    less: Function | None = None,
    real: bool = True,
) -> Any:
    """Return keys in order, their indices, or keys and the values beside them; equal keys keep their order.

    Complex keys are refused if ``real``.
    """
    key = None
    if type(axis) in AS_GIVEN and type(descending) is bool:
        order = expression(less, 2) if callable(less) else less
        key, given, run = _WARM.find_into((wanted, axis, descending, variant, order, real), arrays, out, device)
        if run is not None:
            return run(given)
    operands, request, result, chosen = bind(
        arrays, axis, descending, out, device, variant, less=less, wanted=wanted, label=label, real=real
    )
    plan = find_plan(plan_call, operands, request, result, chosen)
    _WARM.keep(key, plan, operands, out=result)
    return plan.run(operands, result)
