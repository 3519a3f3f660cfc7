"""Calls whose results are as long as a number that a kernel finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.launch_plan import LaunchPlan, nothing
from gpuprims.core.memory import cut_array
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, each_result, fits
from gpuprims.primitives.beginnings import beginning, beginnings, to_out


@dataclass(slots=True, eq=False)
class CountedPlan(LaunchPlan):
    """A call whose last result is a number, which decides how many elements the others have; a call waits for it.

    Parameters
    ----------
    lengths : callable, optional
        From the number to the length of each other result, by default the number itself.
    """

    checks_out: ClassVar[bool] = True

    lengths: Callable[[int], Sequence[int]] | None = None

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Launch, and return the parts of the results that have elements."""
        if out is not None:
            return self._into(operands, out)
        if (compute := self.numpys(operands)) is not None:
            found = compute(*operands.natives)
            if found is not NotImplemented:
                return each_result(operands.as_caller_wants, found)
        return each_result(operands.to_caller, self._found(operands, None))

    def _into(self, operands: Operands, out: Out) -> Any:
        """Launch, to write to the caller's arrays, or copy results to these if kernels cannot write there."""
        axes, there = [0] * (len(self.results) - 1), self._memories(operands, out)
        found = self._found(operands, there)
        results = found if isinstance(found, tuple) else (found,)
        given = to_out(operands, results, out, axes) if there is None else beginnings(out, results, axes)
        return given if out.several else given[0]

    def _found(self, operands: Operands, there: Sequence[Any] | None) -> Any:
        """Launch, to write to arrays of :meth:`_memories` or to new ones, and return what has elements."""
        _, memories = operands.placed or operands.place()
        return self._on_memories(memories, there) if operands.in_place else self._launched(memories, there)

    def _memories(self, operands: Operands, out: Out) -> Sequence[Any] | None:
        """Return the beginnings of the caller's arrays that kernels can write to as to new results; None for none."""
        forms, found = self.results[:-1], list[Any]()
        if len(out.natives) != len(forms) or (operands.on_host and not operands.in_place):
            return None
        for native, form in zip(out.natives, forms, strict=True):
            (most,) = form.shape
            if native.ndim != 1 or native.size < most or native.strides != (native.dtype.itemsize,):
                return None
            found.append(operands.cut(native, 0, (most,)))
        return found if all(map(fits, map(operands.form, found), forms)) else None

    def writer_of(self, operands: Operands, out: Out) -> Callable[[Sequence[Any]], Any] | None:
        """See :meth:`LaunchPlan.writer_of`: of one result in an array of the device that kernels can write to."""
        plain = operands.plain and out.is_bare and not out.several and len(self.results) == 2
        if not plain or self._memories(operands, out) is None:
            return None
        (most,), cut = self.results[0].shape, self.device.driver.cut

        def run(given: Sequence[Any]) -> Any:
            *arrays, whole = given
            found = self._launched(arrays, [cut(whole, 0, (most,))])
            return beginning(whole, 0, found.shape)

        return run

    def run_in_place(self, arrays: Sequence[np.ndarray]) -> Any:
        """See :meth:`LaunchPlan.run_in_place`."""
        return self._on_memories(list(map(self.device.driver.memory, arrays)), None)

    def run_there(self, arrays: Sequence[Any]) -> Any:
        """See :meth:`LaunchPlan.run_there`."""
        return self._launched(arrays, None)

    def runner(self) -> Callable[[Sequence[Any]], Any]:
        """See :meth:`LaunchPlan.runner`."""
        launch, device, lengths = self.compiled(), self.device, self.lengths
        if launch is nothing or self._in_order < 0:
            return self.run_there
        made = [(form.shape, form.dtype) for form in self.results[:-1]]
        if len(made) > 1 or lengths is not None:

            def run(arrays: Sequence[Any]) -> Any:
                driver = device.driver
                found, total = [driver.empty(*one) for one in made], driver.report()
                launch((*arrays, *found, total.memory))
                return self._cut(driver.cut, found, total.read())

            return run
        shape, dtype = made[0]

        def run_alone(arrays: Sequence[Any]) -> Any:
            driver = device.driver  # read in each call: after a fork, another driver refuses
            found, total = driver.empty(shape, dtype), driver.report()
            launch((*arrays, found, total.memory))
            return driver.cut(found, 0, (total.read(),))

        return run_alone

    def _launched(self, arrays: Sequence[Any], there: Sequence[Any] | None) -> Any:
        launch, driver = self.compiled(), self.device.driver
        found = there or [driver.empty(form.shape, form.dtype) for form in self.results[:-1]]
        count = 0
        if launch is not nothing:
            total = driver.report()
            self._start(launch, arrays, [*found, total.memory])
            count = total.read()
        return self._cut(driver.cut, found, count)

    def _on_memories(self, memories: Sequence[Any], there: Sequence[Any] | None) -> Any:
        launch, driver = self.compiled(), self.device.driver
        *found, total = [*there, np.empty((), self.results[-1].dtype)] if there else self._memory(np.empty)
        total[()] = 0
        if launch is not nothing:
            try:
                self._start(launch, memories, list(map(driver.memory, (*found, total))))
            finally:
                driver.wait()  # also before an error frees the memory
        return self._cut(cut_array, found, total.item())

    def _cut(self, cut: Callable[..., Any], found: Sequence[Any], count: int) -> Any:
        """Return the parts of results that have elements: one bare, several as a tuple."""
        if self.lengths is None and len(found) == 1:
            return cut(found[0], 0, (count,))
        lengths = [count] * len(found) if self.lengths is None else self.lengths(count)
        parts = tuple([cut(one, 0, (length,)) for one, length in zip(found, lengths, strict=True)])
        return parts[0] if len(parts) == 1 else parts
