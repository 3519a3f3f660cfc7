"""Calls that are made of several primitives: the launch plans of all, as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, nothing
from gpuprims.core.layout import Form, contiguous, is_contiguous
from gpuprims.core.together import together
from gpuprims.core.variant import Variant
from gpuprims.expressions import expression
from gpuprims.primitives.map.plan import MapRequest
from gpuprims.primitives.map.plan import plan_call as plan_map

_COPY = MapRequest(expression("x"), in_c_order=True)
# Describes calls like those of a primitive: see ``Primitive.plan_call``.
PlanCall = Callable[..., LaunchPlan]


class Operand(NamedTuple):
    """An array of a chain: the number of its memory, and where its elements lie there."""

    memory: int
    form: Form

    def row(self, number: int) -> Operand:
        """Return the elements of one index of the first axis."""
        part = self.part(number, number + 1)
        return part._replace(form=part.form._replace(shape=part.form.shape[1:], strides=part.form.strides[1:]))

    def reshaped(self, shape: tuple[int, ...]) -> Operand:
        """Return a contiguous array in another shape."""
        return self._replace(form=reshaped(self.form, shape))

    def lifted(self) -> Operand:
        """Return the array with a first axis of one element."""
        form = self.form
        return self._replace(form=form._replace(shape=(1, *form.shape), strides=(0, *form.strides)))

    def part(self, start: int, stop: int) -> Operand:
        """Return elements along the first axis."""
        form, first = self.form, self.form.offset + start * self.form.strides[0]
        return self._replace(form=form._replace(shape=(stop - start, *form.shape[1:]), offset=first))


def reshaped(form: Form, shape: tuple[int, ...]) -> Form:
    """Return the form of a contiguous array in another shape."""
    return contiguous(form.dtype, shape, form.alignment)._replace(offset=form.offset, phase=form.phase)


class _Link(NamedTuple):
    plan: LaunchPlan
    read: tuple[int, ...]  # numbers of memories, in the order of the kernel's parameters
    written: tuple[int, ...]


class Chain:
    """Launches on the arrays of a call and on arrays between them, which live from one launch to the last that reads.

    Parameters
    ----------
    device : Device
    forms : sequence of Form
        The arrays of the call.
    generation : int
        The registry's.

    Attributes
    ----------
    given : tuple of Operand
        The arrays of the call.
    """

    def __init__(self, device: Device, forms: Sequence[Form], generation: int) -> None:
        self.given = tuple(Operand(k, form) for k, form in enumerate(forms))
        self._device, self._generation = device, generation
        self._links: list[_Link] = []
        self._bytes: dict[int, int] = {}  # of the arrays between, by the numbers of their memories
        self._results: dict[int, int] = {}  # numbers of memories, by the numbers of results
        self._count = len(forms)

    def add(
        self,
        plan_call: PlanCall,
        request: Any,
        *arrays: Operand,
        into: Sequence[tuple[int, Form] | None] = (),
        onto: Sequence[Operand] = (),
        variant: str | Variant | None = None,
    ) -> tuple[Operand, ...]:
        """Add a call of a primitive, and return its results.

        ``into`` has for each result None or the number of the chain's result that it is, with its form; ``onto`` has
        arrays to write all results to.
        """
        read = tuple(array.form for array in arrays)
        places: list[Operand] = []
        shared = request, read
        where = 16, self._device, variant, self._generation
        if onto:
            return self._linked(plan_call(*shared, tuple(place.form for place in onto), *where), arrays, onto)
        plan = plan_call(*shared, None, *where)
        for k, form in enumerate(plan.results):
            result = into[k] if into else None
            places.append(Operand(self._count, form if result is None else result[1]))
            if result is None:
                self._bytes[self._count] = math.prod(form.shape) * form.item
            else:
                self._results[result[0]] = self._count
            self._count += 1
        if any(into):
            plan = plan_call(*shared, tuple(place.form for place in places), *where)
        return self._linked(plan, arrays, places)

    def _linked(self, plan: LaunchPlan, arrays: Sequence[Operand], places: Sequence[Operand]) -> tuple[Operand, ...]:
        inputs = tuple(arrays[k].memory for k in plan.inputs)
        self._links.append(_Link(plan, inputs, tuple(places[k].memory for k in plan.outputs)))
        return tuple(places)

    def result(self, number: int, form: Form) -> Operand:
        """Return a result of the chain, which several calls write to."""
        self._results[number] = self._count
        self._count += 1
        return Operand(self._count - 1, form)

    def flat(self, array: Operand) -> Operand:
        """Return an array along one axis, in C order."""
        if not is_contiguous(array.form):
            (array,) = self.add(plan_map, _COPY, array)
        return array.reshaped((math.prod(array.form.shape),))

    def plan(
        self,
        results: Sequence[Form],
        variant: str | Variant | None,
        first: int = 0,
        kind: Callable[..., LaunchPlan] = LaunchPlan,
    ) -> LaunchPlan:
        """Return the launch plan of the chain, of a ``kind``. Link ``first`` has the variant that may be asked for."""
        chief = self._links[first].plan

        def compiling(_: Variant) -> Launch:
            return nothing if not any(math.prod(form.shape) for form in results) else self._compiled()

        inputs = range(len(self.given))
        return kind(self._device, chief.primitive, chief.traits, results, compiling, asked=variant, inputs=inputs)

    def _compiled(self) -> Launch:
        """Return the launch on the memories of the call's arrays, and then of its results."""
        device, given = self._device, len(self.given)
        launches = together(device, *[link.plan.fresh().compiled for link in self._links])
        places = [(*link.read, *link.written) for link in self._links]
        last = {memory: k for k, link in enumerate(places) for memory in link}
        new = [[memory for memory in link.written if memory in self._bytes] for link in self._links]
        old = [[memory for memory in self._bytes if last.get(memory) == k] for k in range(len(places))]
        steps = [step for step in zip(launches, places, new, old, strict=True) if step[0] is not nothing]
        nbytes, results = self._bytes, [self._results[k] for k in sorted(self._results)]

        def start(memories: Sequence[Any]) -> None:
            scratch = device.driver.scratch
            held = dict(enumerate(memories[:given]))
            held.update(zip(results, memories[given:], strict=True))
            for launch, taken, made, done in steps:
                for number in made:
                    held[number] = scratch(nbytes[number])
                launch([held[number] for number in taken])
                for number in done:
                    del held[number]

        return start
