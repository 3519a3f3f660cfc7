"""sort: elements of rows in order, by one digit of their bits after the other."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.primitive import Primitive
from gpuprims.core.warm_calls import AS_GIVEN, WarmCalls
from gpuprims.primitives.sort.plan import Wanted, bind, plan_call, sample
from gpuprims.primitives.sort.variants import VARIANTS

PRIMITIVE = Primitive("sort", VARIANTS, plan_call, sample, bind)
_WARM = WarmCalls()


@named_keywords
def sort(
    x: Any,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the elements in order, as :func:`numpy.sort`."""
    if unknown:
        refuse_keywords("sort", keywords_of(sort), unknown)
    return _sorted("sort", "keys", (x,), axis, descending, out, device, variant)


@named_keywords
def argsort(
    x: Any,
    axis: int | None = -1,
    *,
    descending: bool = False,
    stable: bool = True,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return the indices that would put the elements in order, as :func:`numpy.argsort`."""
    if unknown:
        refuse_keywords("argsort", keywords_of(argsort), unknown)
    return _sorted("argsort", "indices", (x,), axis, descending, out, device, variant)


def _sorted(
    label: str,
    wanted: Wanted,
    arrays: tuple[Any, ...],
    axis: int | None,
    descending: bool,
    out: Any,
    device: str | Device | None,
    variant: str | None,
) -> Any:
    key = None
    if type(axis) in AS_GIVEN:
        key, given, run = _WARM.find_into((wanted, axis, descending, variant), arrays, out, device)
        if run is not None:
            return run(given)
    operands, request, result, chosen = bind(arrays, axis, descending, out, device, variant, wanted=wanted, label=label)
    plan = find_plan(plan_call, operands, request, result, chosen)
    _WARM.keep(key, plan, operands, out=result)
    return plan.run(operands, result)
