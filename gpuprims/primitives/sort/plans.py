"""Plans of sorts: the functions' keywords, bound."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Planner
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import ArgumentError, ShapeError, quoted
from gpuprims.primitives.segments.kept import keeping_offsets
from gpuprims.primitives.signatures import Function
from gpuprims.primitives.sort.by_numpy import Wanted
from gpuprims.primitives.sort.plan import SortRequest, bind
from gpuprims.primitives.sort.several import plan_call, plan_lexsort

_SEVERAL = WarmCalls()
Bound = tuple[Operands, SortRequest, Out | None, str | Variant | None]


def _bind_alone(
    wanted: Wanted,
    label: str,
    arrays: tuple[Any, ...],
    axis: int | None = -1,
    descending: bool = False,
    stable: bool = True,
    less: Function | None = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> Bound:
    """Bind a call of ``sort`` or ``argsort``."""
    if len(arrays) != 1:
        raise ArgumentError(f"{label}: one array; got {len(arrays)} (sort_by_key moves values with their keys)")
    return bind(arrays, axis, descending, out, device, variant, less=less, wanted=wanted, label=label, real=False)


def _bind_by_key(
    arrays: tuple[Any, ...],
    axis: int | None = -1,
    descending: bool = False,
    less: Function | None = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> Bound:
    """Bind a call of ``sort_by_key``."""
    how: dict[str, Any] = {"wanted": "pairs", "label": "sort_by_key", "real": False}
    return bind(arrays, axis, descending, out, device, variant, less=less, **how)


def bind_lexsort(
    arrays: tuple[Any, ...],
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, bool, Out | None, str | Variant | None]:
    """Find the device of a call, and check its keys; True if these are the rows of one array."""
    if len(arrays) != 1:
        raise ArgumentError(f"lexsort: one sequence of keys; got {len(arrays)} argument(s)")
    (keys,) = arrays
    rows = getattr(keys, "ndim", 0) == 2 and keys.shape[0] > 0
    try:
        given = (keys,) if rows else tuple(keys)
    except TypeError:
        raise ArgumentError(f"lexsort: a sequence of keys, such as (second, first); got {quoted(keys)}") from None
    if not given:
        raise ArgumentError("lexsort: one or more keys; got none")
    operands = as_operands("lexsort", given, device)
    shapes = [native.shape for native in operands.natives]
    if not rows and (len(shapes[0]) != 1 or set(shapes) != {shapes[0]}):
        hint = "" if shapes[0] else " (for one key: argsort)"
        raise ShapeError(f"lexsort: keys of one axis and one length; got the shapes {quoted(shapes)}{hint}")
    return operands, rows, as_out(operands, out), None if variant is None else asked_by_name("sort", variant)


def lexsorted(keys: Any, out: Any, device: str | Device | None, variant: str | None) -> Any:
    """Return the indices that sort by several keys, and keep the plan for later calls with like arrays."""
    key, sequence = None, type(keys) in (tuple, list)
    if out is None:
        key, given, run = _SEVERAL.find_into((sequence, variant), tuple(keys) if sequence else (keys,), None, device)
        if run is not None:
            return run(given)
    operands, rows, result, chosen = bind_lexsort((keys,), out, device, variant)
    plan = find_plan(plan_lexsort, operands, rows, result, chosen)
    _SEVERAL.keep(key, plan, operands)
    return plan.run(operands, result)


_APART = {
    "key": "a plan of map makes the keys (and one of sort_by_key sorts by them)",
    "check": "it reads elements on the host (check a call of the function once)",
}
bind_sort, _BIND_ARGSORT = partial(_bind_alone, "keys", "sort"), partial(_bind_alone, "indices", "argsort")
_ROOM, _AXIS = "gpuprims.primitives.sort", ("axis",)
PLANS: dict[str, Planner | str] = {
    "sort": keeping_offsets("sort", _ROOM, planner("sort", bind_sort, plan_call, positional=_AXIS, refused=_APART)),
    "argsort": keeping_offsets(
        "argsort", _ROOM, planner("argsort", _BIND_ARGSORT, plan_call, positional=_AXIS, refused=_APART)
    ),
    "sort_by_key": planner(
        "sort_by_key", _bind_by_key, plan_call, refused={name: _APART[name] for name in ("key", "check")}
    ),
    "lexsort": planner("lexsort", bind_lexsort, plan_lexsort),
    **dict.fromkeys(("unique", "group_by"), "gpuprims.primitives.grouping.plans"),
}
