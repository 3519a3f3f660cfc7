"""Plans of exact sums in a guessed window: a sample of the elements suggests it, and the sums tell if it holds.

To look at all elements first takes half the time of a scan at the speed of memory. In a guessed window an element that
lies outside becomes NaN, and so does the sum of all elements. Where that is a result of the call, this one number tells
whether all results are right. If not, the call looks at all elements after all, and its plan guesses no more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.arrays import meet, span_of
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, check_out
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.operators import Folding
from gpuprims.operators.exact_foldings import extent_of
from gpuprims.operators.exact_windows import guess_of, unpacked_exponents
from gpuprims.primitives.windowed import WindowedPlan, plan_extent

# Elements of a sample, and the fewest of a call that guesses: of fewer, a second answer to wait for takes as long as a
# second reading.
_SAMPLED, _LEAST = 1 << 16, 1 << 25


class GuessedPlan(WindowedPlan):
    """A call with one result for each element; the result at ``last`` is the sum of all elements."""

    __slots__ = ("guesses", "last", "sample", "sampled")
    sample: LaunchPlan  # finds the exponents of some elements
    sampled: int
    last: int
    guesses: bool

    @classmethod
    def guessing(cls, sure: WindowedPlan, sample: LaunchPlan, sampled: int, last: int) -> GuessedPlan:
        """Return a plan that guesses before it does as ``sure`` does."""
        plan = cls.of(sure.whole, sure.extent, sure.inside, sure.count, sure.dtype)
        plan.sample, plan.sampled, plan.last, plan.guesses = sample, sampled, last, True
        return plan

    def _guessed(self, arrays: Sequence[Any]) -> LaunchPlan | None:
        """Return the plan for a window that holds a sample of the elements with some room; None if there is none."""
        if not self.guesses or self._is_captured():
            return None
        exponents = unpacked_exponents(int(self.device.driver.to_host(self.sample.run_there(arrays))))
        guess = guess_of(*exponents, self.sampled, self.count, self.dtype)
        self.guesses = guess is not None
        return None if guess is None else self.inside(guess)

    def _holds(self, result: Any) -> bool:
        """Return True if the guess holds, by a result that is the sum of all elements."""
        driver = self.device.driver
        self.guesses = not np.isnan(driver.to_host(driver.cut(result, self.last, (1,)))[0])
        return self.guesses

    def _lie_apart(self, arrays: Sequence[Any], result: Any) -> bool:
        """Return True if a result can be computed twice, and read: flat, and in memory of its own."""
        spans = [span_of(self.device.driver, one) for one in (result, *arrays)]
        flat = result.ndim == 1 and result.flags.c_contiguous
        return flat and not any(meet(spans[0], one) for one in spans[1:])

    def run(self, operands: Operands, out: Out | None) -> Any:
        """See :meth:`LaunchPlan.run`."""
        if operands.on_host:
            return super().run(operands, out)
        if out is None:
            return operands.to_caller(self.run_there((operands.placed or operands.place())[1]))
        check_out(operands.label, self.results, out.natives)
        self.run_into((operands.placed or operands.place())[1], out.natives, in_place=False)
        return out.given

    def run_there(self, arrays: Sequence[Any]) -> Any:
        """See :meth:`LaunchPlan.run_there`."""
        if (plan := self._guessed(arrays)) is not None:
            result = plan.run_there(arrays)
            if self._holds(result):
                return result
        return super().run_there(arrays)

    def run_into(self, arrays: Sequence[Any], results: Sequence[Any], *, in_place: bool) -> None:
        """See :meth:`LaunchPlan.run_into`."""
        if not in_place and self._lie_apart(arrays, results[0]) and (plan := self._guessed(arrays)) is not None:
            plan.run_into(arrays, results, in_place=False)
            if self._holds(results[0]):
                return
        super().run_into(arrays, results, in_place=in_place)


def guessing(
    sure: LaunchPlan, plain: Folding, forms: Sequence[Form], axes: Sequence[int], *, reverse: bool
) -> LaunchPlan:
    """Return a plan that guesses the window that ``sure`` would look for, if that may take less time; else ``sure``.

    For that all elements of ``forms`` are one scan along ``axes``, whose results are sums of ``plain``.
    """
    shape, results = broadcast_shapes(sure.primitive, [form.shape for form in forms]), sure.results
    kept = all(plain.finish.nodes[one].name == "argument" for one in plain.finish.results)
    flat = len(axes) == len(shape) and len(results) == 1 and results[0].shape == (math.prod(shape),)
    if not (isinstance(sure, WindowedPlan) and kept and flat and results[0].dtype.kind == "f" and sure.count >= _LEAST):
        return sure
    if (found := extent_of(plain)) is None:
        return sure
    some, fewer = _every(forms, shape, -(-sure.count // _SAMPLED))
    return GuessedPlan.guessing(
        sure, plan_extent(sure, found[0], some, fewer), math.prod(fewer), 0 if reverse else sure.count - 1
    )


def _every(forms: Sequence[Form], shape: tuple[int, ...], step: int) -> tuple[list[Form], tuple[int, ...]]:
    """Return the forms of every ``step``-th index of the longest axis, and the shape they broadcast to."""
    axis = int(np.argmax(shape))
    some = list[Form]()
    for form in forms:
        own = axis - len(shape) + len(form.shape)
        if own < 0 or form.shape[own] == 1:
            some.append(form)
            continue
        lengths, strides = list(form.shape), list(form.strides)
        lengths[own], strides[own] = -(-lengths[own] // step), strides[own] * step
        some.append(form._replace(shape=tuple(lengths), strides=tuple(strides)))
    fewer = (*shape[:axis], -(-shape[axis] // step), *shape[axis + 1 :])
    return some, fewer
