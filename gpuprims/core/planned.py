"""Plan: a call prepared except for its memory, for a loop of such calls."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from gpuprims.core.arrays import unchanged
from gpuprims.core.call_keys import Key
from gpuprims.core.capture import Captured
from gpuprims.core.determinism import CHOSEN, Asked, asked_level
from gpuprims.core.device import DEFAULT, Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out, check_out, fits, result_forms, written_forms
from gpuprims.core.pickling import OfThisProcess
from gpuprims.core.program_cache import Prepared, forgets_calls
from gpuprims.core.scalars import scalars_on
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.errors import ArgumentError, CaptureError, UnknownKeywordError


class Planned(NamedTuple):
    """A call that was described: its operands, ``out=``, and its launch plan.

    The last ``beside`` operands are the plan's own; calls of the plan do not name them. With ``in_place``, an array of
    ``out=`` may have the elements of an input.
    """

    name: str
    operands: Operands
    out: Out | None
    launch_plan: LaunchPlan
    in_place: bool = False
    beside: int = 0


class Plan(OfThisProcess):
    """A prepared call, for arrays like those that :func:`gpuprims.plan` got.

    Its kernel is compiled, unless NumPy computes such a call.

    Attributes
    ----------
    primitive : str
    device : Device
    variant : Variant
        The kernel that runs.
    """

    def __init__(self, planned: Planned) -> None:
        self.primitive, operands, out, launch_plan, self._in_place, beside = planned
        self.device: Device = operands.device
        self.variant = launch_plan.variant
        if out is not None or launch_plan.numpys(operands) is None:
            launch_plan.compiled()
        self._launch_plan, self._prepared = launch_plan, Prepared.times
        given = len(operands.natives) - beside
        self._forms, self._beside = operands.forms[:given], operands.natives[given:]
        new = launch_plan.results
        self._written = result_forms(self.primitive, new, written_forms(operands, out))
        self._needs_out = not _alike(new, self._written)
        self._scalars = scalars_on(self.device, tuple(result.dtype for result in new))
        self._calls = WarmCalls(owned=True)
        # Keys of host arrays contain the default device, or the device that is named, which takes longer to find.
        self._named = self.device if operands.on_host and DEFAULT.known is not self.device else None
        self._level = asked_level()  # calls look up and compile plans of their own at it
        self._captured: list[Any] = []  # launches and memory that graphs use
        self._is_capturing = getattr(self.device.driver, "is_capturing", None)
        _PLANS.add(self)

    def __call__(self, *arrays: Any, out: Any = None, **unknown: Any) -> Any:
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
            Arrays with another layout than planned; no ``out=``, if the plan was made with a strided one; a keyword of
            the function, which the plan keeps.
        CaptureError
            A CUDA graph is being captured, and the call waits for the device or copies from the host.
        """
        if unknown:
            self._refuse_keywords(unknown)
        # Inlined, as in warm_calls.py.
        leveled = Asked.ever and (self._level or CHOSEN.here.get() or CHOSEN.choices)
        if leveled and asked_level() != self._level:
            return CHOSEN.during(self._level, self, *arrays, out=out)
        if self._is_capturing is not None and self._is_capturing():
            return self._capture(arrays, out)
        given = (*arrays, *self._beside) if self._beside else arrays
        key, given, run = self._calls.find_into(None, given, out, self._named)
        return self._checked(arrays, out, key) if run is None else run(given)

    def _checked(self, arrays: tuple[Any, ...], out: Any, key: Key | None) -> Any:
        """Run on arrays unlike those of earlier calls, and keep the way for later ones."""
        operands, given = self._bound(arrays, out)
        if given is not None and self._launch_plan.checks_out:
            if (run := self._launch_plan.writer_of(operands, given)) is not None:
                self._calls.keep_run(key, run)
        elif not self._needs_out or given is not None:
            self._calls.keep(key, self._launch_plan, operands, out=given)
        return self._launch_plan.run(operands, given)

    def _capture(self, arrays: tuple[Any, ...], out: Any) -> Any:
        """Launch while a graph is captured: by a launch and in memory that no other call has."""
        plan, memory = self._launch_plan.fresh(), Captured()
        self._captured.append((plan, memory))
        memory.extend((arrays, out))
        with memory:
            try:
                return plan.run(*self._bound(arrays, out))
            finally:
                self.device.driver.stream_memory.forget(memory)  # type: ignore[attr-defined] # as drivers that capture

    def _bound(self, arrays: tuple[Any, ...], out: Any) -> tuple[Operands, Out | None]:
        """Return the operands and ``out=`` of a call, checked."""
        operands = self._operands(arrays)
        given = as_out(operands, out, in_place=self._in_place)
        if given is None and self._needs_out:
            self._refuse("out=", self._written, "none")
        if given is not None and not self._launch_plan.checks_out:
            check_out(self.primitive, self._launch_plan.results, given.natives)
            forms = written_forms(operands, given)
            if forms is not None and not _alike(forms, self._written):
                self._refuse("out=", self._written, _said(forms))
        return operands.beside(*self._beside) if self._beside else operands, given

    def _refuse(self, what: str, planned: Sequence[Form], got: str) -> NoReturn:
        raise ArgumentError(f"plan of {self.primitive}: {what} laid out as planned, {_said(planned)}; got {got}")

    def _refuse_keywords(self, unknown: Mapping[str, Any]) -> NoReturn:
        raise UnknownKeywordError(
            f"plan of {self.primitive}: out= alone, as the plan keeps other keywords; got {', '.join(unknown)}"
            f" (make another plan: gpuprims.plan({self.primitive!r}, ..., {next(iter(unknown))}=...))"
        )

    @property
    def _unpickled(self) -> tuple[str, str]:
        return f"plan of {self.primitive}", f"call gpuprims.plan({self.primitive!r}, ...) in each process"

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
        CaptureError
            A CUDA graph is being captured.
        """
        if Asked.ever and asked_level() != self._level:
            return CHOSEN.during(self._level, self.item, *arrays)
        plan = self._launch_plan
        if self._is_capturing is not None and self._is_capturing():
            raise CaptureError(f"plan of {self.primitive}: item() outside of the capture of a graph; got a call in one")
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


_PLANS: weakref.WeakSet[Plan] = weakref.WeakSet()


@forgets_calls
def _forget() -> None:
    """Let plans find again what runs their calls; each keeps its launches unless they are prepared in another way."""
    for plan in list(_PLANS):
        plan._calls.clear()
        if plan._prepared != Prepared.times:
            plan._launch_plan, plan._prepared = plan._launch_plan.fresh(), Prepared.times


def _alike(given: Sequence[Form], planned: Sequence[Form]) -> bool:
    """Return True if a launch for ``planned`` forms can run on ``given`` ones: the same, aligned as well or better."""
    return len(given) == len(planned) and all(map(fits, given, planned))


def _said(forms: Sequence[Form]) -> str:
    return " and ".join(
        f"{form.dtype}{list(form.shape)} with strides {form.strides}"
        + (f" and an address divisible by {form.divides_address}" if form.divides_address > 1 else "")
        for form in forms
    )
