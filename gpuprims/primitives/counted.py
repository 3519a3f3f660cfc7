"""Calls whose results are as long as a number that a kernel finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuprims.core.launch_plan import LaunchPlan, nothing
from gpuprims.core.memory import cut_array
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.errors import ArgumentError


@dataclass(slots=True, eq=False)
class CountedPlan(LaunchPlan):
    """A call whose last result is a number, which decides how many elements the others have; a call waits for it.

    Parameters
    ----------
    lengths : callable, optional
        From the number to the length of each other result, by default the number itself.
    """

    lengths: Callable[[int], Sequence[int]] | None = None

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Launch, and return the parts of the results that have elements."""
        if out is not None:
            rule = "no out=, because the length of the result is not known before the call"
            raise ArgumentError(f"{operands.label}: {rule}; got one")
        if (compute := self.numpys(operands)) is not None:
            found = compute(*operands.natives)
            if found is not NotImplemented:
                return each_result(operands.as_caller_wants, found)
        _, memories = operands.placed or operands.place()
        if operands.in_place:
            return each_result(operands.as_caller_wants, self._on_memories(memories))
        return each_result(operands.to_caller, self.run_there(memories))

    def run_in_place(self, arrays: Sequence[np.ndarray]) -> Any:
        """See :meth:`LaunchPlan.run_in_place`."""
        return self._on_memories(list(map(self.device.driver.memory, arrays)))

    def run_there(self, arrays: Sequence[Any]) -> Any:
        """See :meth:`LaunchPlan.run_there`."""
        launch, driver = self.compiled(), self.device.driver
        found, count = [driver.empty(form.shape, form.dtype) for form in self.results[:-1]], 0
        if launch is not nothing:
            total = driver.report()
            self._start(launch, arrays, [*found, total.memory])
            count = total.read()
        return self._cut(driver.cut, found, count)

    def _on_memories(self, memories: Sequence[Any]) -> Any:
        launch, driver = self.compiled(), self.device.driver
        *found, total = self._memory(np.empty)
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


def each_result(function: Callable[[Any], Any], results: Any) -> Any:
    """Apply a function to the one result, or to each of several."""
    return tuple(map(function, results)) if isinstance(results, tuple) else function(results)
