"""Sorts of arrays along one axis, or of rows, that other functions are made of."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.primitives.sort.plan import Wanted, bind, plan_call

_WARM = WarmCalls()


def in_order(
    label: str, wanted: Wanted, arrays: tuple[Any, ...], device: Device, descending: Any = False, variant: Any = None
) -> Any:
    """Return keys in order, their indices, or keys and the values beside them; equal keys keep their order."""
    key, given, run = _WARM.find_into((wanted, descending, variant), arrays, None, device)
    if run is not None:
        return run(given)
    operands, request, _, chosen = bind(arrays, -1, descending, None, device, variant, wanted=wanted, label=label)
    plan = find_plan(plan_call, operands, request, None, chosen)
    _WARM.keep(key, plan, operands)
    return plan.run(operands, None)
