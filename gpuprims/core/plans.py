"""plan: decide everything about a call but its memory once, for a loop of such calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from typing import Any, NoReturn

from gpuprims.core.arrays import unchanged
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, refuse_keywords
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, check_out, result_forms, written_forms
from gpuprims.core.primitive import Primitive
from gpuprims.core.registry import REGISTRY
from gpuprims.core.scalars import scalars_on
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, GpuprimsError, did_you_mean, quoted


class Plan:
    """A call whose kernel is compiled, for arrays like those of :func:`gpuprims.plan`, which makes it.

    Attributes
    ----------
    primitive : str
    device : Device
    variant : Variant
        The kernel that runs.
    """

    def __init__(self, room: Primitive, operands: Operands, out: Out | None, launch_plan: LaunchPlan) -> None:
        self.primitive = room.name
        self._in_place = room.in_place
        self.device: Device = operands.device
        self.variant = launch_plan.variant
        launch_plan.compiled()
        self._launch_plan = launch_plan
        self._forms = operands.forms
        new = launch_plan.results
        self._written = result_forms(room.name, new, written_forms(operands, out))
        self._needs_out = not _alike(new, self._written)
        self._scalars = scalars_on(self.device, tuple(result.dtype for result in new))

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run on arrays of the planned dtypes, shapes, strides and alignment.

        Parameters
        ----------
        *arrays : array_like
            In the order of the kernel's parameters.
        out : array or tuple of arrays, optional
            Where to write; by default new arrays.

        Raises
        ------
        ArgumentError
            Arrays with another layout than planned; no ``out=``, if the plan was made with a strided one.
        """
        operands = self._operands(arrays)
        given = as_out(operands, out, in_place=self._in_place)
        if given is None and self._needs_out:
            self._refuse("out=", self._written, "none")
        if given is not None:
            check_out(self.primitive, self._launch_plan.results, given.natives)
            forms = written_forms(operands, given)
            if forms is not None and not _alike(forms, self._written):
                self._refuse("out=", self._written, _said(forms))
        return self._launch_plan.run(operands, given)

    def _refuse(self, what: str, planned: Sequence[Form], got: str) -> NoReturn:
        raise ArgumentError(f"plan of {self.primitive}: {what} laid out as planned, {_said(planned)}; got {got}")

    def _operands(self, arrays: tuple[Any, ...]) -> Operands:
        if not arrays:
            self._refuse("arrays", self._forms, "none")
        operands = as_operands(self.primitive, arrays, self.device)
        if operands.forms != self._forms and not _alike(operands.forms, self._forms):
            self._refuse("arrays", self._forms, f"{_said(operands.forms)} (make a plan for these)")
        return operands

    def item(self, *arrays: Any) -> int | float | bool | complex:
        """Run, wait, and return the result as a Python number by the fastest way to the host.

        An operator with several results, such as :class:`Op` of several components, gives a tuple of numbers.

        Raises
        ------
        ArgumentError
            As for calls of the plan, and for results that are not scalars.
        """
        plan = self._launch_plan
        if any(shapes := [result.shape for result in plan.results]):
            raise ArgumentError(f"plan of {self.primitive}: results of shape () for item(); got {shapes}")
        if self._needs_out:
            self._refuse("out=", self._written, "none")
        operands = self._operands(arrays)
        if operands.on_host:
            operands.convert = unchanged
            results = plan.run(operands, None)
            numbers: Any = results.item() if plan.single else tuple(result.item() for result in results)
            return numbers  # type: ignore[no-any-return]  # a tuple of several
        written, read = self._scalars.take()
        plan.start(operands, written)
        items: Any = read()
        return items[0] if plan.single else items  # type: ignore[no-any-return]  # a tuple of several

    def __repr__(self) -> str:
        arrays = ", ".join(f"{form.dtype}{list(form.shape)}" for form in self._forms)
        return f"<gpuprims.Plan {self.primitive}/{self.variant.name} of {arrays} on {self.device.spec}>"


def _alike(given: Sequence[Form], planned: Sequence[Form]) -> bool:
    """Return True if a launch for ``planned`` forms can run on ``given`` ones: the same, aligned as well or better."""
    return len(given) == len(planned) and all(map(_fits, given, planned))


def _fits(given: Form, planned: Form) -> bool:
    if 0 in planned.shape:  # no memory, so strides do not matter
        return given[:2] == planned[:2]
    as_well = given.alignment >= planned.alignment and given.phase == planned.phase
    better = given.divides_address >= planned.divides_address and min(planned.strides, default=0) >= 0
    return given[:4] == planned[:4] and (as_well or better)


def _said(forms: Sequence[Form]) -> str:
    return " and ".join(
        f"{form.dtype}{list(form.shape)} with strides {form.strides} at a multiple of {form.divides_address} bytes"
        for form in forms
    )


def bind_call(
    primitive: str, arrays: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Primitive, Operands, Out | None, LaunchPlan]:
    """Return the primitive, the operands, ``out=`` and the launch plan of a call; nothing is compiled."""
    room = REGISTRY.primitive(primitive)
    if room is None or room.bind is None:
        rooms = (REGISTRY.primitive(name) for name in REGISTRY.primitive_names)
        names = ", ".join(one.name for one in rooms if one is not None and one.bind)
        hint = did_you_mean(primitive, names.split(", "))
        raise ArgumentError(f"plan: a primitive among {names}; got {quoted(primitive)}{hint}")
    if not arrays:
        raise ArgumentError(f"plan of {primitive}: at least one array; got none")
    try:
        operands, request, out, variant = room.bind(arrays, **keywords)
    except GpuprimsError:
        raise
    except TypeError:
        known = keywords_of(room.bind)[1:]
        if unknown := [name for name in keywords if name not in known]:
            refuse_keywords(f"plan of {primitive}", known, dict.fromkeys(unknown))
        raise
    return room, operands, out, find_plan(room.plan_call, operands, request, out, variant)


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
    """Decide everything about a call but the memory.

    Every call looks its launch plan up by its arguments, which costs a few microseconds; a loop
    that makes the same call on many arrays keeps the plan instead.

    Parameters
    ----------
    primitive : str
        The name of a primitive; the error for any other name lists them.
    *arrays : array_like
        The arguments of the call, function included; the arrays stand for those of the same dtype, shape, strides and
        device.
    **keywords
        As of the primitive.

    Returns
    -------
    Plan
        ``plan(*arrays, out=None)`` runs it, and ``plan.item(*arrays)`` gives the result as a Python number.

    Raises
    ------
    ArgumentError
        For an unknown primitive, and as the primitive itself.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.arange(5, dtype=np.float32)
    >>> total = gpuprims.plan("reduce", x, op="sum", device="reference")
    >>> total
    <gpuprims.Plan reduce/numpy of float32[5] on reference:0>
    >>> [total.item(x * k) for k in range(3)]
    [0.0, 10.0, 20.0]
    """
    return Plan(*bind_call(primitive, arrays, keywords))
