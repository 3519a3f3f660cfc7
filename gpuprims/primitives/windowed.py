"""Plans of exact sums in a window: a launch finds the window of the elements' bits, and the host chooses the numbers.

Most data lie in a narrow window, where two float64 or a few integers hold exact sums; other data are added by all
words. All give the same bits. A captured graph cannot wait for the host, so its calls take all words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from gpuprims.core.capture import captured_now
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.operators import Folding
from gpuprims.operators.dtypes import Dtype
from gpuprims.operators.exact_foldings import extent_of
from gpuprims.operators.exact_windows import Window, unpacked_exponents, window_of
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.levels import adds_words

_UINT64 = np.dtype(np.uint64)
# The fewest elements for which a launch that finds their window pays (decision 0041), of float32 and of float64: on
# CPUs, on GPUs, and on GPUs for a call with one output.
_LEAST_ON_CPUS, _LEAST, _LEAST_OF_ONE = ((1 << bits[0], 1 << bits[1]) for bits in ((10, 8), (11, 6), (15, 6)))


class WindowedPlan(LaunchPlan):
    """A call that is run by one of several plans, when the window of its elements is known.

    It is described by the plan for any elements.
    """

    __slots__ = ("count", "dtype", "extent", "inside", "whole")
    extent: LaunchPlan  # finds the exponents of the elements
    inside: Callable[[Window], LaunchPlan]  # the plan for elements in a window
    whole: LaunchPlan  # the plan for any elements
    count: int
    dtype: Dtype

    @classmethod
    def of(
        cls, whole: LaunchPlan, extent: LaunchPlan, inside: Callable[[Window], LaunchPlan], count: int, dtype: Dtype
    ) -> Self:
        """Return the plan of a call on ``count`` elements."""
        described = whole.device, whole.primitive, whole.traits, whole.results, whole.compiling
        how: dict[str, Any] = {"asked": whole.asked, "inputs": whole.inputs, "outputs": whole.outputs}
        plan = cls(*described, **how, single=whole.single, otherwise=whole.otherwise)
        plan.whole, plan.extent, plan.inside, plan.count, plan.dtype = whole, extent, inside, count, dtype
        return plan

    def _plan_for(self, find: Callable[[], Any]) -> LaunchPlan:
        """Return the plan for elements whose extent ``find`` returns."""
        if self._is_captured():
            return self.whole
        window = window_of(*unpacked_exponents(int(find())), self.count, self.dtype)
        return self.whole if window is None else self.inside(window)

    def _is_captured(self) -> bool:
        """Return True if a graph captures the call, so that nothing can be waited for."""
        capturing = getattr(self.device.driver, "is_capturing", None)
        return captured_now() is not None or (capturing is not None and capturing())

    def _for_operands(self, operands: Operands) -> LaunchPlan:
        def find() -> Any:
            result = operands.empty((), _UINT64)
            self.extent.start(operands, [result])
            if operands.in_place:
                operands.driver.wait()
            return operands.to_host(result)

        return self._plan_for(find)

    def _for_arrays(self, arrays: Sequence[Any], *, in_place: bool) -> LaunchPlan:
        run = self.extent.run_in_place if in_place else self.extent.run_there
        return self._plan_for(lambda: run(arrays) if in_place else self.device.driver.to_host(run(arrays)))

    def compiled(self) -> Launch:
        """Return the launch for any elements, which waits for nothing."""
        return self.whole.compiled()

    def fresh(self) -> LaunchPlan:
        """See :meth:`LaunchPlan.fresh`."""
        return WindowedPlan.of(self.whole.fresh(), self.extent.fresh(), self.inside, self.count, self.dtype)

    def after(self, first: Launch) -> LaunchPlan:
        """See :meth:`LaunchPlan.after`."""
        inside = self.inside
        return WindowedPlan.of(
            self.whole.after(first), self.extent, lambda window: inside(window).after(first), self.count, self.dtype
        )

    def run(self, operands: Operands, out: Out | None) -> Any:
        """See :meth:`LaunchPlan.run`."""
        return self._for_operands(operands).run(operands, out)

    def start(self, operands: Operands, results: Sequence[Any]) -> None:
        """See :meth:`LaunchPlan.start`."""
        self._for_operands(operands).start(operands, results)

    def launch(self, operands: Operands, written: Sequence[Any]) -> None:
        """See :meth:`LaunchPlan.launch`."""
        self._for_operands(operands).launch(operands, written)

    def run_there(self, arrays: Sequence[Any]) -> Any:
        """See :meth:`LaunchPlan.run_there`."""
        return self._for_arrays(arrays, in_place=False).run_there(arrays)

    def run_in_place(self, arrays: Sequence[np.ndarray]) -> Any:
        """See :meth:`LaunchPlan.run_in_place`."""
        return self._for_arrays(arrays, in_place=True).run_in_place(arrays)

    def run_into(self, arrays: Sequence[Any], results: Sequence[Any], *, in_place: bool) -> None:
        """See :meth:`LaunchPlan.run_into`."""
        self._for_arrays(arrays, in_place=in_place).run_into(arrays, results, in_place=in_place)

    def runner(self) -> Callable[[Sequence[Any]], Any]:
        """See :meth:`LaunchPlan.runner`."""
        return self.run_there

    def runner_in_place(self, slow: Callable[[Sequence[Any]], Any], nbytes: int) -> Callable[[Sequence[Any]], Any]:
        """See :meth:`LaunchPlan.runner_in_place`."""
        return slow


def in_window(
    whole: LaunchPlan,
    plain: Folding,
    forms: Sequence[Form],
    plan_call: Callable[..., LaunchPlan],
    request: Any,
    *how: Any,
    axes: Sequence[int] | None = None,
) -> LaunchPlan:
    """Return a plan that asks for the window of the elements of a call, if it may be narrow; else ``whole``.

    ``plain`` is the call's folding before exact sums take its place, and ``forms`` are its own arrays, whose elements
    add up along ``axes``, or all. ``plan_call`` returns the plan of a request with a window, and ``how`` are its
    other arguments.
    """
    device, shape = whole.device, broadcast_shapes(whole.primitive, [form.shape for form in forms])
    if request.window is not None or not adds_words() or not device.capabilities.fp64 or plain.map.takes(len(forms)):
        return whole
    size, count = math.prod(shape), math.prod(shape if axes is None else [shape[axis] for axis in axes])
    found = extent_of(plain)
    if found is None or size < _least(device, found[1], alone=size == count):
        return whole
    extent, dtype = found

    def inside(window: Window) -> LaunchPlan:
        return plan_call(request._replace(window=window), *how)

    return WindowedPlan.of(whole, plan_extent(whole, extent, forms, shape), inside, count, dtype)


def _least(device: Device, dtype: Dtype, *, alone: bool) -> int:
    """Return the elements from which a call looks for their window; it has one output if ``alone``."""
    on_gpus = _LEAST_OF_ONE if alone else _LEAST
    return (_LEAST_ON_CPUS if device.capabilities.kind == "cpu" else on_gpus)[dtype.itemsize == 8]


def plan_extent(whole: LaunchPlan, extent: Folding, forms: Sequence[Form], shape: tuple[int, ...]) -> LaunchPlan:
    """Return the plan of the folding of :func:`extent_of`, which finds the window of elements of these forms."""
    target = contiguous(_UINT64, (), whole.results[0].divides_address)
    axes = tuple(range(len(shape)))
    return plan_fold(whole.device, forms, [target], extent, shape, axes, commutative=True)
