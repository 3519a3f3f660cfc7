"""plan: decide once everything about a call except its memory, for a loop of such calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, signature
from typing import Any

from gpuprims.core.determinism import at_level
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, refuse_keywords
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out
from gpuprims.core.planned import Plan, Planned
from gpuprims.core.primitive import Planner, Primitive
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, did_you_mean, quoted

# Why a plan is made without out=, if the function's results have a length that depends on the elements.
OUT_OF_CALLS = "calls of the plan take it: plan(x, out=out)"

_SHOWN = 12  # names in an error, which is a sentence and no list


def bind_call(
    primitive: str, arrays: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Primitive, Operands, Out | None, LaunchPlan]:
    """Return the primitive, the operands, ``out=`` and the launch plan of a call; nothing is compiled."""
    room = REGISTRY.primitive(primitive)
    if room is None or room.bind is None:
        raise _unknown(primitive)
    _check(primitive, arrays, keywords, keywords_of(room.bind)[1:])
    operands, request, out, variant = room.bind(arrays, **keywords)
    return room, operands, out, find_plan(room.plan_call, operands, request, out, variant)


def planned_call(primitive: str, arrays: tuple[Any, ...], keywords: dict[str, Any]) -> Planned:
    """Return a call of a primitive, described by its ``bind`` and ``plan_call``."""
    room, operands, out, launch_plan = bind_call(primitive, arrays, keywords)
    return Planned(primitive, operands, out, launch_plan, room.in_place)


def planner(
    name: str,
    bind: Callable[..., tuple[Operands, Any, Out | None, str | Variant | None]],
    plan_call: Callable[..., LaunchPlan],
    *,
    taken: int = 1,
    positional: Sequence[str] = (),
    refused: Mapping[str, str] | None = None,
    in_place: bool = False,
    beside: bool = False,
) -> Planner:
    """Return how a function is planned that has a ``bind`` and a ``plan_call`` of its own, as primitives have.

    ``bind`` takes the first ``taken`` positional arguments as they are; those that follow are the keywords
    ``positional``. With ``beside``, the operands after the first are the plan's own, made by ``bind`` of the arguments.
    """

    def planned(arrays: tuple[Any, ...], keywords: dict[str, Any]) -> Planned:
        if taken < len(arrays) <= taken + len(positional):
            named = dict(zip(positional, arrays[taken:], strict=False))
            if twice := [one for one in named if one in keywords]:
                raise ArgumentError(f"plan of {name}: each argument once; got {', '.join(twice)} twice")
            arrays, keywords = arrays[:taken], keywords | named
        operands, request, out, variant = bind(arrays, **keywords)
        plan = find_plan(plan_call, operands, request, out, variant)
        if beside and not operands.in_place:
            operands.device.synchronize()  # calls of the plan may run in another stream
        return Planned(name, operands, out, plan, in_place, len(operands.natives) - 1 if beside else 0)

    return Planner(planned, bind, refused=refused or {})


def _check(primitive: str, arrays: tuple[Any, ...], keywords: dict[str, Any], known: Sequence[str]) -> None:
    if not arrays:
        raise ArgumentError(f"plan of {primitive}: at least one array; got none")
    if unknown := [name for name in keywords if name not in known]:
        refuse_keywords(f"plan of {primitive}", known, dict.fromkeys(unknown))


def _rooms() -> Sequence[Primitive]:
    rooms = (REGISTRY.primitive(name) for name in REGISTRY.primitive_names)
    return [room for room in rooms if room is not None]


def _unknown(primitive: Any) -> ArgumentError:
    names, hint = planned_names(), did_you_mean(primitive, planned_names())
    others = f" and {len(names) - _SHOWN} others, which the guide on plans lists"
    return ArgumentError(f"plan: a function among {', '.join(names[:_SHOWN])}{others}; got {quoted(primitive)}{hint}")


def planned_names() -> list[str]:
    """Return the names of all functions that :func:`plan` takes."""
    rooms = _rooms()
    own = [room.name for room in rooms if room.bind]
    return own + [name for room in rooms for name in room.plans if name not in own]


def _planner(name: Any) -> Planner | None:
    """Return how the primitive of a function plans it, if its ``bind`` does not."""
    if not isinstance(name, str):
        return None
    room = REGISTRY.primitive(name)
    for one in _rooms() if room is None else [room]:
        if name in one.plans:
            return one.planner(name)
    return None


def binder(label: str, request: type[Any]) -> Callable[..., tuple[Operands, Any, Out | None, str | Variant | None]]:
    """Return the ``bind`` of a primitive whose keywords, beside the usual three, are the fields of its request."""

    def bind(
        arrays: tuple[Any, ...],
        *,
        out: Any = None,
        device: str | Device | None = None,
        variant: str | Variant | None = None,
        **keywords: Any,
    ) -> tuple[Operands, Any, Out | None, str | Variant | None]:
        operands = as_operands(label, arrays, device)
        return operands, request(**keywords), as_out(operands, out), asked_by_name(label, variant)

    own = [Parameter(name, Parameter.KEYWORD_ONLY) for name in keywords_of(request)]
    shown = [one for one in signature(bind).parameters.values() if one.kind is not one.VAR_KEYWORD]
    bind.__signature__ = Signature([*shown, *own])  # type: ignore[attr-defined]  # functions have it

    return bind


def run(primitive: str, *arrays: Any, **keywords: Any) -> Any:
    """Run a call, as the primitive's function does."""
    _, operands, out, launch_plan = bind_call(primitive, arrays, keywords)
    return launch_plan.run(operands, out)


def plan(primitive: str, *arrays: Any, **keywords: Any) -> Plan:
    """Prepare a call, so that calls on similar arrays cost little more than the launch.

    A call of a plan costs the launch, and about 2 us to recognise the arrays and to allocate the result.

    Parameters
    ----------
    primitive : str
        The name of a function that computes arrays from arrays, of this library or of an installed package. The error
        for any other name lists them.
    *arrays : array_like
        The arguments of the call, function included; the plan is for arrays of the same dtype, shape, strides and
        device.
    **keywords
        As of the function, and ``determinism=``; see :func:`gpuprims.use_determinism`. Calls of the plan take the
        arrays alone, and ``out=`` where the function does.

    Returns
    -------
    Plan
        ``plan(*arrays, out=None)`` runs it, and ``plan.item(*arrays)`` gives the result as a Python number.

    Raises
    ------
    ArgumentError
        For an unknown function, and as the function itself.

    Notes
    -----
    A plan keeps what the function looks up, checks or copies in each call, except for the arrays: also bins and their
    range, offsets, ranks, and what ``isin`` looks among. Results are those of the function; without the edges of bins.

    Calls that wait for the length of their results, such as those of ``unique``, wait in plans too. They return new
    arrays, or views of the beginnings of ``out=``.

    Plans can be captured in a CUDA graph, by ``begin_capture`` of CuPy's streams. Call each plan once in that stream
    first. The plan keeps the kernels, the arrays and the memory of its captured calls, so keep the plans as long as
    the graph. Calls that wait for the GPU or copy from the host raise :class:`~gpuprims.errors.CaptureError`, such as
    those whose results have a length that depends on the elements.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.arange(5, dtype=np.float32)
    >>> total = gpuprims.plan("reduce", x, op="sum", device="reference")
    >>> total
    <gpuprims.Plan reduce/numpy of float32[5] on reference:0>
    >>> [total.item(x * k) for k in range(3)]
    [0.0, 10.0, 20.0]
    >>> rows = gpuprims.plan("reduce", x, segments=[0, 2, 5], device="reference")
    >>> rows(x + 1)
    array([ 3., 12.], dtype=float32)
    """
    if "determinism" in keywords:
        return at_level(f"plan of {primitive}", keywords.pop("determinism"), plan, primitive, *arrays, **keywords)
    if (found := _planner(primitive)) is None:
        return Plan(planned_call(primitive, arrays, keywords))
    for name, reason in found.refused.items():
        if name in keywords:
            raise ArgumentError(f"plan of {primitive}: no {name}=, because {reason}; got one")
    _check(primitive, arrays, keywords, [*keywords_of(found.bind)[1:], *found.more])
    return Plan(found.plan(arrays, keywords))
