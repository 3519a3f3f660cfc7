"""Sorts of arrays along an axis, which functions of this room and of others are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.warm_calls import AS_GIVEN, WarmCalls
from gpuprims.primitives.sort.plan import Wanted, bind, plan_call
from gpuprims.primitives.sort.several import by_indices

_WARM = WarmCalls()
# Bytes of the widest elements that kernels move.
_MOVED = 8


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
    real: bool = True,
) -> Any:
    """Return keys in order, their indices, or keys and the values beside them; equal keys keep their order.

    Complex keys are refused if ``real``.
    """
    key = None
    if type(axis) in AS_GIVEN and type(descending) is bool:
        key, given, run = _WARM.find_into((wanted, axis, descending, variant, real), arrays, out, device)
        if run is not None:
            return run(given)
    operands, request, result, chosen = bind(
        arrays, axis, descending, out, device, variant, wanted=wanted, label=label, real=real
    )
    if len(arrays) > 2 or not _are_moved(operands.natives):

        def order(keys: Any) -> Any:
            how = {"axis": 1, "descending": request.descending, "variant": variant}
            return in_order(label, "indices", (keys,), operands.device, **how)

        return by_indices(operands, request, result, order)
    plan = find_plan(plan_call, operands, request, result, chosen)
    _WARM.keep(key, plan, operands, out=result)
    return plan.run(operands, result)


def _are_moved(arrays: Sequence[Any]) -> bool:
    """Return True for keys that kernels of this room order, and values that they move."""
    return arrays[0].dtype.kind != "c" and all(array.dtype.itemsize <= _MOVED for array in arrays)
