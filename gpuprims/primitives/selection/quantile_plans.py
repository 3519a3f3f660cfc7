"""The launch plan of medians and quantiles: a selection of elements, and a map that interpolates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.outputs import result_forms
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.variant import Variant
from gpuprims.expressions import trace
from gpuprims.expressions.narrow import register
from gpuprims.primitives.chain import Chain
from gpuprims.primitives.map.plan import MapRequest
from gpuprims.primitives.map.plan import plan_call as plan_map
from gpuprims.primitives.reduce.plan import ReduceRequest
from gpuprims.primitives.reduce.plan import plan_call as plan_reduce
from gpuprims.primitives.selection.by_numpy import Way, quantiles_by_numpy
from gpuprims.primitives.selection.plan import SelectionRequest
from gpuprims.primitives.selection.plan import plan_call as plan_selection

Dtype = np.dtype[Any]


class QuantileRequest(NamedTuple):
    """The way to compute quantiles, the axes to fold, and the dtype and the shape of the results.

    The first axes of ``shape`` hold the ``number`` of quantiles; the others are the axes of each.
    """

    way: Way
    axes: tuple[int, ...]
    dtype: Dtype
    number: int
    shape: tuple[int, ...]


@keeps_calls()
def plan_call(
    request: QuantileRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Plan quantiles.

    The second array has the ranks of the elements below the quantiles, and then, for two ways, those above. For the way
    ``"between"``, a third array has the fractions of the distance.
    """
    chain, count = Chain(device, forms, generation), request.number
    x, ranks, *parts = chain.given
    own, ends = x.form.dtype, 1 if request.way == "element" else 2
    results = (contiguous(request.dtype, request.shape, alignment),)
    (target,) = result_forms("quantile", results, written)
    if any(x.form.shape[axis] == 0 for axis in request.axes):  # the mean of no elements is NaN
        of_nothing = ReduceRequest("mean", axis=request.axes, keepdims=len(request.shape) == len(x.form.shape))
        chain.add(plan_reduce, of_nothing, x, into=[(0, target)])
        return chain.plan(results, None)
    selecting = SelectionRequest(request.axes, ends, nan_wins=True)
    (found,) = chain.add(plan_selection, selecting, x, ranks, variant=variant)
    arrays = [found.part(0, count).reshaped(request.shape)]
    if ends == 2:
        arrays += [found.part(count, 2 * count).reshaped(request.shape), *parts]
    function = {"mean": _mean, "element": _element, "between": _between}[request.way](own, request.dtype)
    chain.add(plan_map, MapRequest(trace(function, len(arrays)), in_c_order=True), *arrays, into=[(0, target)])
    plan = chain.plan(results, variant)
    if not request.shape and request.way != "element":
        numbers = {"mean": _mean_of_numbers, "between": _between_numbers}
        function = numbers[request.way](own, request.dtype)
    plan.by_numpy = quantiles_by_numpy(forms[0], request.axes, request.way, count, request.shape, function)
    return plan


def _mean(own: Dtype, dtype: Dtype) -> Callable[..., Any]:
    wide = register(dtype)

    def mean(low: Any, high: Any) -> Any:
        middle = (low.astype(wide) + high.astype(wide)) / wide.type(2)
        return middle.astype(dtype)

    return mean


def _element(own: Dtype, dtype: Dtype) -> Callable[..., Any]:
    return lambda element: element.astype(dtype)


def _between(own: Dtype, dtype: Dtype) -> Callable[..., Any]:
    def between(low: Any, high: Any, part: Any) -> Any:
        a, b = low.astype(dtype), high.astype(dtype)
        step = (high - low).astype(dtype) if own.kind == "f" else b - a  # rounded as NumPy does
        return np.where(part >= dtype.type(0.5), b - step * (dtype.type(1) - part), a + step * part)

    return between


def _mean_of_numbers(own: Dtype, dtype: Dtype) -> Callable[..., Any]:
    """Return :func:`_mean` for NumPy scalars, which ``astype`` converts slowly."""
    kind, wide = dtype.type, register(dtype).type
    return lambda low, high: kind((wide(low) + wide(high)) / wide(2))


def _between_numbers(own: Dtype, dtype: Dtype) -> Callable[..., Any]:
    """Return :func:`_between` for NumPy scalars."""
    kind, subtracts = dtype.type, own.kind == "f"
    half, one = kind(0.5), kind(1)

    def between(low: Any, high: Any, part: Any) -> Any:
        step = kind(high - low) if subtracts else kind(high) - kind(low)
        return kind(high) - step * (one - part) if part >= half else kind(low) + step * part

    return between
