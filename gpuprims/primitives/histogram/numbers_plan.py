"""Plans of bincount."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out
from gpuprims.core.planned import Planned
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import DtypeError, ShapeError
from gpuprims.primitives.axes import as_axis, axes_of
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.histogram.binning import direct
from gpuprims.primitives.histogram.calls import as_weighing, weighed
from gpuprims.primitives.histogram.numbers import Numbers, numbers_of
from gpuprims.primitives.histogram.plan import with_table
from gpuprims.primitives.histogram.request import Weighing


class NumbersPlan(LaunchPlan):
    """The plan of a call that finds the largest number first; the launch plan is that of the least length."""

    __slots__ = ("numbers",)
    checks_out: ClassVar[bool] = True
    as_bytes: ClassVar[bool] = False
    numbers: Numbers

    def run(self, operands: Operands, out: Out | None) -> Any:
        """Count, and return the counts to the caller."""
        sums = self.numbers.count(operands)
        return to_out(operands, (sums,), out, (sums.ndim - 1,))[0]

    def run_there(self, arrays: Sequence[Any]) -> Any:
        """See :meth:`LaunchPlan.run_there`."""
        return self.numbers.run(tuple(arrays), on_host=False)

    def run_in_place(self, arrays: Sequence[np.ndarray]) -> Any:
        """See :meth:`LaunchPlan.run_in_place`."""
        return self.numbers.run(tuple(arrays), on_host=True)


def bind_numbers(
    arrays: tuple[Any, ...],
    weights: Any = None,
    minlength: Any = 0,
    axis: Any = None,
    deterministic: Any = True,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, tuple[int, ...], Any, Weighing, str | Variant | None]:
    """Find the device of a call, and check its arguments; takes the keywords of ``bincount``."""
    x, weights = arrays if len(arrays) == 2 else (*arrays, weights)
    operands = weighed("bincount", x, weights, device)
    array = operands.natives[0]
    if array.dtype.kind not in "iub":
        hint = "" if array.dtype.kind == "c" else " (pass x.astype(np.int64), or call histogram)"
        raise DtypeError(f"bincount: integers; got dtype {array.dtype}{hint}")
    if axis is None and array.ndim != 1:
        raise ShapeError(
            f"bincount: an array of one dimension, or axis=; got shape {array.shape} (pass x.ravel(), or axis=)"
        )
    axes = axes_of(as_axis(axis), array.ndim)
    weighing = as_weighing(operands, deterministic, as_floats=True)
    return operands, axes, minlength, weighing, asked_by_name("bincount", variant)


def plan_numbers(arrays: tuple[Any, ...], keywords: dict[str, Any]) -> Planned:
    """Describe a call for :func:`gpuprims.plan`."""
    operands, *how = bind_numbers(arrays, **keywords)
    numbers = numbers_of(operands, *how)
    length, dtype = numbers.least
    sums = numbers.plan(length, dtype, operands.alignment, outside=False, reports=False)
    if numbers.bounded:
        alone = with_table(sums, direct(length), alone=True)
        alone.longer = len(sums.results[0].shape) - 1
        return Planned("bincount", operands, None, alone)
    described = sums.device, sums.primitive, sums.traits, sums.results, sums.compiling
    plan = NumbersPlan(*described, asked=sums.asked, inputs=())
    plan.numbers = numbers
    return Planned("bincount", operands, None, plan)
