"""Functions whose results have a data-dependent length: by NumPy for small arrays, else by kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuprims.core.by_numpy import Compute, Few
from gpuprims.core.call_keys import Key
from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, as_out
from gpuprims.core.warm_calls import Run, WarmCalls, reads_as_given
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.grouping.by_numpy import FEW, computed_by_numpy, takes_few


class FewCalls:
    """A function that NumPy computes by ``compute``, and devices by ``kernels``, given operands and ``out=``.

    ``known`` is the place of the result whose shape is known beforehand. ``few`` returns up to how many elements NumPy
    computes the function. ``planned`` returns the launch plan of a call that needs only one, or None; ``later`` what
    runs later calls on a device's arrays in other ways, or None.
    """

    def __init__(
        self,
        label: str,
        compute: Compute,
        kernels: Callable[[Operands, Out | None], Any],
        known: int | None = None,
        few: Callable[[Operands], Few] = lambda _: FEW,
        planned: Callable[[Operands], LaunchPlan | None] = lambda _: None,
        later: Callable[[Operands], Run | None] = lambda _: None,
    ) -> None:
        self._label, self._compute, self._kernels, self._known, self._few = label, compute, kernels, known, few
        self._planned, self._later = planned, later
        self._warm = WarmCalls()

    def run(self, arrays: tuple[Any, ...], out: Any, device: str | Device | None) -> Any:
        """Return the results for the caller's arrays, and keep the function for later calls."""
        key = None
        if out is None:
            key, given, run = self._warm.find_into(self._label, arrays, None, device)
            if run is not None:
                return run(given)
        operands = as_operands(self._label, arrays, device)
        return self.steps(operands, as_out(operands, out), key)

    def steps(self, operands: Operands, out: Out | None, key: Key | None = None) -> Any:
        """Return the results for operands, and keep the function for later calls with the key."""
        if takes_few(operands, self._few(operands)):
            found = computed_by_numpy(operands, self._compute, self._by_kernels, self._warm, key)
            if found is not NotImplemented:
                several = found if type(found) is tuple else (found,)
                axes = [None if place == self._known else 0 for place in range(len(several))]
                results = to_out(operands, several, out, axes)
                return results if type(found) is tuple else results[0]
        if (plan := self._planned(operands)) is not None:
            if out is None:
                self._warm.keep(key, plan, operands)
            return plan.run(operands, out)
        keeps = key is not None and not operands.on_host and reads_as_given(key, operands)
        if keeps and (run := self._later(operands)) is not None:
            self._warm.keep_run(key, run)
        return self._kernels(operands, out)

    def _by_kernels(self, operands: Operands) -> Any:
        return self._kernels(operands, None)
