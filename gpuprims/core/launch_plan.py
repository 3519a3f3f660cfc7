"""LaunchPlan: everything about a call except its memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Compute, noticed
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.layout import Form, is_contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, check_out, each_result, host_results, written_forms
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Explanation, Variant


class Sample(NamedTuple):
    """A call as ``explain`` describes it; see :func:`gpuprims.explain` for the fields."""

    device: Device
    dtype: np.dtype[Any]
    size: int
    outputs: int
    side_by_side: bool
    op: Any
    bins: int


@dataclass(slots=True, eq=False)
class LaunchPlan:
    """Everything about a call except its memory; the kernel is compiled when it is first needed.

    Parameters
    ----------
    device, primitive, traits
        The call whose variant is chosen.
    results : sequence of Form
        The results in new memory, all in C order or all in Fortran order.
    compiling : callable
        Takes the chosen variant and returns the launch, which takes the memory of each operand. It returns
        :func:`nothing` if there is nothing to compute.
    asked : str, Variant or None
        The variant that the caller asks for.
    inputs, outputs : sequence of int
        For each of the kernel's operands, the number of its array or result. By default ``outputs`` are all results.
    single : bool, optional
        True to return the result itself rather than a tuple. The default is True for one result.
    otherwise : LaunchPlan, optional
        The plan to use if no variant of ``primitive`` can run the call, or if the call names another primitive's.
    by_numpy : ByNumPy, optional
        How NumPy computes small host arrays, if it gives the same bits as the kernels.
    """

    checks_out: ClassVar[bool] = False  # True if run() compares arrays of ``out=`` with results itself
    as_bytes: ClassVar[bool] = True  # False if run_in_place() takes host arrays with gaps as they are
    device: Device
    primitive: str
    traits: CallTraits
    results: Sequence[Form]
    compiling: Callable[[Variant], Launch]
    _: KW_ONLY
    asked: str | Variant | None
    inputs: Sequence[int]
    outputs: Sequence[int] = ()
    single: bool | None = None
    otherwise: LaunchPlan | None = None
    by_numpy: ByNumPy | None = None
    _variant: Variant | None = field(default=None, init=False)
    _launch: Launch | None = field(default=None, init=False)
    _turned: bool = field(default=False, init=False)
    _in_order: int = field(default=-1, init=False)  # number of inputs if the kernel takes all in order, else -1

    def __post_init__(self) -> None:
        self.outputs = self.outputs or range(len(self.results))
        self.single = len(self.results) == 1 if self.single is None else self.single
        self._turned = any(not is_contiguous(form) for form in self.results)
        read, written = len(self.inputs), len(self.results)
        same = [*self.inputs, *self.outputs] == [*range(read), *range(written)]
        self._in_order = len(self.inputs) if same else -1

    @property
    def variant(self) -> Variant:
        """The variant that runs; raises as :meth:`gpuprims.core.device.Device.select` does."""
        if self._variant is None:
            plan = self.chosen
            self._variant = plan.device.select(plan.primitive, plan.traits, plan.asked)
        return self._variant

    @property
    def chosen(self) -> LaunchPlan:
        """The plan to use: itself or an alternative."""
        if self.otherwise is None:
            return self
        if self.asked is None:
            able = self.device.explain(self.primitive, self.traits).chosen is not None
        else:
            able = asks_for(self.primitive, self.device.backend, self.asked)
        return self if able else self.otherwise.chosen

    @property
    def explanation(self) -> Explanation:
        """Each variant's answer to the call, followed by those of ``otherwise``."""
        own, by = self.device.explain(self.primitive, self.traits), self.by_numpy
        if by is not None and self.device.driver.shares_host_memory and own.chosen and by.follows(own.chosen):
            own = replace(own, by_numpy=by.few.most(self.device.driver))
        if self.otherwise is None:
            return own
        more = self.otherwise.explanation
        tuned = more.tuned if own.ranked is None else own.tuned
        return replace(own, refusals=(*own.refusals, *more.refusals), tuned=tuned, levels={**own.levels, **more.levels})

    def compiled(self) -> Launch:
        """Return the launch, which takes the memory of the kernel's inputs and then of its outputs."""
        if self._launch is None:
            self._launch = self.chosen.compiling(self.variant)
        return self._launch

    def fresh(self) -> LaunchPlan:
        """Return a copy of the plan whose launch shares no memory with this one's."""
        plan = copy(self)
        plan._launch = None
        return plan

    def after(self, first: Launch) -> LaunchPlan:
        """Return a plan that starts another launch, on the same memory, before its own."""
        own, plan = self.compiled(), copy(self)  # keeps the variant: to choose again takes hundreds of microseconds
        plan._launch = first if own is nothing else in_turn([first, own])
        return plan

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Compute the call and return its results."""
        if out is None and (compute := self.numpys(operands)) is not None:
            found = compute(*operands.natives)
            if found is not NotImplemented:
                return each_result(operands.as_caller_wants, found)
        if out is not None:
            check_out(operands.label, self.results, out.natives)
            if operands.in_place or not operands.on_host:
                self.start(operands, out.natives)
                if operands.in_place:
                    operands.driver.wait()
                return out.given
        if operands.plain and out is None:
            return self.run_there((operands.placed or operands.place())[1])
        launch, driver = self._launch or self.compiled(), operands.driver  # raises before memory is allocated
        results = self._memory(np.empty if operands.in_place else driver.empty)
        if launch is not nothing:  # empty arrays have no memory
            self.launch(operands, [driver.memory(one) for one in results] if operands.in_place else results)
        results = [result.T for result in results] if self._turned else results
        if out is not None:
            return host_results(operands, list(map(driver.to_host, results)), out, single=bool(self.single))
        results = [operands.to_caller(result) for result in results]
        return results[0] if self.single else tuple(results)

    def numpys(self, operands: Operands) -> Compute | None:
        """Return the function with which NumPy computes this call, or None; raise if no kernel can run it."""
        by, results = self.by_numpy, self.results
        if by is None or self.asked is not None or not operands.in_place:
            return None
        if not by.takes(operands.driver, operands.natives, [form.shape for form in results]):
            return None
        follows = by.follows(self.variant, operands.natives)  # raises where kernels refuse
        return noticed(operands.driver, self.primitive, by.compute) if follows else None

    def runner(self) -> Callable[[Sequence[Any]], Any]:
        """Return :meth:`run_there`, or for most plans a function that takes less host time."""
        launch, own = self.compiled(), type(self).run_there is not LaunchPlan.run_there
        if own or launch is nothing or self._in_order < 0 or not self.single:
            return self.run_there
        device, (form,) = self.device, self.results
        if hasattr(device.driver, "runner"):
            quick: Callable[[Sequence[Any]], Any] = device.driver.runner(device, launch, form, turned=self._turned)
            return quick
        if self._turned:
            return self.run_there
        shape, dtype = form.shape, form.dtype

        def run(arrays: Sequence[Any]) -> Any:
            result = device.driver.empty(shape, dtype)  # read in each call: after a fork, another driver refuses
            launch((*arrays, result))
            return result

        return run

    def runner_in_place(self, slow: Callable[[Sequence[Any]], Any], nbytes: int) -> Callable[[Sequence[Any]], Any]:
        """Return ``slow``, which runs the plan on up to ``nbytes`` bytes of host arrays, or a faster function."""
        launch, own = self.compiled(), type(self).run_in_place is not LaunchPlan.run_in_place
        plain = not own and launch is not nothing and self._in_order >= 0 and self.single
        if not plain or not hasattr(self.device.driver, "runner_in_place"):
            return slow
        quick: Callable[[Sequence[Any]], Any] = self.device.driver.runner_in_place(
            self.device, launch, self.results[0], slow, turned=self._turned, nbytes=nbytes
        )
        return quick

    def writer(self, inputs: int, *, in_place: bool) -> Callable[[Sequence[Any]], None]:
        """Return :meth:`run_into` for ``inputs`` arrays followed by the results, or a faster function."""
        if not in_place and type(self).run_into is LaunchPlan.run_into and self._in_order == inputs:
            return self.compiled()
        return lambda given: self.run_into(given[:inputs], given[inputs:], in_place=in_place)

    def writer_of(self, operands: Operands, out: Out) -> Callable[[Sequence[Any]], Any] | None:
        """Return a function for later calls with ``out``, if the plan checks ``out`` itself; else None."""
        return None

    def run_in_place(self, arrays: Sequence[np.ndarray]) -> Any:
        """Launch on contiguous host arrays, whose memory the device shares, and return new ones."""
        launch, driver = self._launch or self.compiled(), self.device.driver
        results = self._memory(np.empty)
        if launch is not nothing:
            memory = driver.memory
            try:
                self._start(launch, [memory(array) for array in arrays], [memory(result) for result in results])
            finally:
                driver.wait()  # also before an error frees the memory
        results = [result.T if self._turned else result[()] for result in results]
        return results[0] if self.single else tuple(results)

    def run_there(self, arrays: Sequence[Any]) -> Any:
        """Launch on device arrays, and return new device arrays."""
        launch = self._launch or self.compiled()  # raises before memory is allocated
        results = self._memory(self.device.driver.empty)
        if launch is not nothing:
            self._start(launch, arrays, results)
        results = [result.T for result in results] if self._turned else results
        return results[0] if self.single else tuple(results)

    def run_into(self, arrays: Sequence[Any], results: Sequence[Any], *, in_place: bool) -> None:
        """Launch as :meth:`run_there` or :meth:`run_in_place` does, into results that overlap no other array."""
        if (launch := self._launch or self.compiled()) is nothing:
            return
        if not in_place:
            self._start(launch, arrays, results)
            return
        driver = self.device.driver
        try:
            self._start(launch, list(map(driver.memory, arrays)), list(map(driver.memory, results)))
        finally:
            driver.wait()

    def _memory(self, empty: Callable[..., Any]) -> list[Any]:
        """Allocate the results."""
        return [empty(form.shape[::-1] if self._turned else form.shape, form.dtype) for form in self.results]

    def start(self, operands: Operands, results: Sequence[Any]) -> None:
        """Launch into device arrays, or into host arrays if the device shares their memory."""
        if (self._launch or self.compiled()) is not nothing:
            self.launch(operands, [operands.memory(one) for one in results] if operands.in_place else results)

    def launch(self, operands: Operands, written: Sequence[Any]) -> None:
        """Launch into memory as kernels take it."""
        self._start(self.compiled(), (operands.placed or operands.place())[1], written)

    def _start(self, launch: Launch, read: Sequence[Any], written: Sequence[Any]) -> None:
        if len(read) != self._in_order:
            read, written = [read[k] for k in self.inputs], [written[k] for k in self.outputs]
        launch([*read, *written])


def nothing(memories: Sequence[Any]) -> None:
    """Do nothing: the launch of a call with nothing to compute."""


def in_turn(launches: Sequence[Launch]) -> Launch:
    """Return one launch for several, in order."""
    if len(launches) == 1:
        return launches[0]

    def start(memories: Sequence[Any]) -> None:
        for launch in launches:
            launch(memories)

    return start


def with_statuses(device: Device, launch: Launch, entries: int) -> Launch:
    """Add tile statuses after the operands of a launch; groups exchange values through them."""
    return lambda memories: launch([*memories, device.driver.tile_statuses(entries)])


def asks_for(primitive: str, backend: str, asked: str | Variant) -> bool:
    """Return True if ``asked``, a variant or its name, belongs to a primitive."""
    if isinstance(asked, Variant):
        return asked.primitive == primitive
    return asked in {known.name for known in REGISTRY.variants(primitive, backend)}


def find_plan(
    plan_call: Callable[..., LaunchPlan], operands: Operands, request: Any, out: Out | None, variant: Any
) -> LaunchPlan:
    """Look up the launch plan of a call like this one."""
    written = None if out is None else written_forms(operands, out)
    forms, _ = operands.placed or operands.place()
    return plan_call(request, forms, written, operands.alignment, operands.device, variant, REGISTRY.generation)
