"""Plans of calls that wait between their launches, because what follows is as long as a number that was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.arrays import unchanged
from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out
from gpuprims.core.plans import OUT_OF_CALLS, planner
from gpuprims.core.primitive import Planner
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError

# From the request, the operands and ``out=`` of a call to its results.
Steps = Callable[[Any, Operands, Out | None], Any]
# From the request and the forms of a call, alignment, device and the registry's generation to its first launch.
First = Callable[[Any, tuple[Form, ...], int, Device, int], LaunchPlan]
Alone = Callable[[Any, tuple[Form, ...], int, Device, int], LaunchPlan | None]


class StepsPlan(LaunchPlan):
    """A call whose arguments are checked; each of its steps looks up a launch plan of its own.

    It is described by the plan of its first launch, which is compiled with the plan.
    """

    __slots__ = ("label", "steps")
    checks_out: ClassVar[bool] = True
    as_bytes: ClassVar[bool] = False
    label: str
    steps: Callable[[Operands, Out | None], Any]

    @classmethod
    def of(cls, label: str, first: LaunchPlan, steps: Callable[[Operands, Out | None], Any]) -> StepsPlan:
        """Return the plan of a call by the plan of its first launch."""
        chosen = first.chosen
        described = chosen.device, chosen.primitive, chosen.traits, chosen.results, chosen.compiling
        plan = cls(*described, asked=chosen.asked, inputs=())
        plan.label, plan.steps = label, steps
        return plan

    def run(self, operands: Operands, out: Out | None) -> Any:
        """See :meth:`LaunchPlan.run`."""
        return self.steps(operands, out)

    def run_there(self, arrays: Sequence[Any]) -> Any:
        """See :meth:`LaunchPlan.run_there`."""
        return self.steps(as_operands(self.label, tuple(arrays), self.device), None)

    def run_in_place(self, arrays: Sequence[np.ndarray]) -> Any:
        """See :meth:`LaunchPlan.run_in_place`."""
        return self.steps(Operands(self.label, self.device, tuple(arrays), True, unchanged), None)


def steps_planner(
    name: str,
    request: Callable[..., Any],
    first: First,
    steps: Steps,
    *,
    arrays: int | None = 1,
    positional: Sequence[str] = (),
    what: str = "one array",
    alone: Alone | None = None,
) -> Planner:
    """Return how a function is planned whose keywords, but ``device`` and ``out``, are those of ``request``.

    It takes so many arrays, or any number of them; an error describes them as ``what``. ``alone`` returns the launch
    plan of a call that needs no steps, or None.
    """

    def bind(given: tuple[Any, ...], *, device: str | Device | None = None, **keywords: Any) -> Any:
        if arrays is not None and len(given) != arrays:
            raise ArgumentError(f"{name}: {what}; got {len(given)}")
        return as_operands(name, given, device), request(**keywords), None, None

    shown = [one for one in signature(bind).parameters.values() if one.kind is not one.VAR_KEYWORD]
    own = [Parameter(one, Parameter.KEYWORD_ONLY) for one in keywords_of(request)]
    bind.__signature__ = Signature([*shown, *own])  # type: ignore[attr-defined]  # functions have it

    def plan_call(
        request: Any,
        forms: tuple[Form, ...],
        written: tuple[Form, ...] | None,
        alignment: int,
        device: Device,
        variant: str | Variant | None,
        generation: int,
    ) -> LaunchPlan:
        if alone is not None and (whole := alone(request, forms, alignment, device, generation)) is not None:
            return whole
        return StepsPlan.of(name, first(request, forms, alignment, device, generation), partial(steps, request))

    taken = 1 if arrays is None else arrays
    return planner(name, bind, plan_call, taken=taken, positional=positional, refused={"out": OUT_OF_CALLS})
