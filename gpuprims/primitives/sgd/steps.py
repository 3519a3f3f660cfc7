"""Steps by single samples: their arrays, checked, and their launch plans."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import LaunchPlan, Sample, find_plan
from gpuprims.core.layout import Form, Layout, contiguous, starts_of
from gpuprims.core.operands import as_operands
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, quoted
from gpuprims.expressions import TypedExpr, as_portable, trace, typed
from gpuprims.expressions.masks import refuse_masked
from gpuprims.primitives.logistic.labelled import check_samples, sigmoid
from gpuprims.primitives.logistic.spec import SamplesSpec
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.rows import sample_forms, side_by_side

_ORDER = np.dtype(np.int32)
# Most work-items of a group.
MOST_BLOCK = 1024


class SgdSpec(SamplesSpec):
    """Macros for steps by single samples; ``map`` is the sigmoid of a score."""

    own_headers: ClassVar[tuple[Path, ...]] = (Path(__file__).parent / "kernels" / "single.h",)


class Steps(NamedTuple):
    """The layout of a call's operands, its numbers of samples, features and steps, and the steps at each rate."""

    layout: Layout
    samples: int
    features: int
    total: int
    stretch: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of every array but the order."""
        return self.layout.forms[0].dtype

    def spec(self, kind: type[SgdSpec] = SgdSpec, **fields: int) -> SgdSpec:
        """Return the spec of a kernel; the order and the rates are beside the samples."""
        function = typed_sigmoid(self.dtype, portable=not kind.contracted)
        return kind.of(self.layout, len(self.layout.forms) - 1, function, others=2, **fields)


@lru_cache(maxsize=4)
def typed_sigmoid(dtype: np.dtype[Any], *, portable: bool) -> TypedExpr:
    """Return the sigmoid of scores of a dtype, with the same bits on each device if ``portable``."""
    found = typed(trace(sigmoid, 1), (dtype,), (dtype,))
    return as_portable(found) if portable else found


def plan_steps(
    label: str,
    compiling: Callable[[Variant, Steps], Launch],
    forms: tuple[Form, ...],
    alignment: int,
    device: Device,
    variant: str | Variant | None,
) -> LaunchPlan:
    """Return the launch plan of steps, for samples, labels, weights, any sample weights, the order and the rates."""
    (samples, features), (total,), (stretches, _) = forms[0].shape, forms[-2].shape, forms[-1].shape
    result = contiguous(forms[0].dtype, forms[2].shape, alignment)
    layout = starts_of((*forms, result))
    steps = Steps(layout, samples, features, total, total // stretches)
    item, portable = result.dtype.itemsize, asks_for_device()
    traits = CallTraits((result.dtype,), total, features, value_bytes=item, side_by_side=True, portable=portable)
    inputs = range(len(forms))
    return LaunchPlan(
        device, label, traits, (result,), lambda chosen: compiling(chosen, steps), asked=variant, inputs=inputs
    )


def run_steps(
    label: str,
    plan_call: Callable[..., LaunchPlan],
    request: Any,
    arrays: tuple[Any, ...],
    order: Any,
    rate: Any,
    keep: Any,
    device: str | Device | None,
    variant: str | None,
) -> Any:
    """Check samples, labels, weights, sample weights or None, and take the steps; without steps, copy the weights."""
    operands = as_operands(label, (*(arrays[:3] if arrays[3] is None else arrays), order), device)
    *samples, numbers = operands.natives
    check_samples(label, samples)
    _check_order(label, numbers, samples[0].shape[0], on_host=operands.on_host)
    rates = _rates(label, rate, keep, numbers.shape[0]).astype(samples[0].dtype)
    operands = side_by_side(operands)
    if not numbers.shape[0]:
        return map_arrays("x", arrays[2], device=operands.device)
    operands = operands.beside(rates if operands.on_host else operands.device.asarray(rates))
    return find_plan(plan_call, operands, request, None, asked_by_name(label, variant)).run(operands, None)


def sample_steps(call: Sample) -> tuple[Form, ...]:
    """Return arrays for ``explain``: a step for each element, a feature for each output."""
    samples, *others = sample_forms(call._replace(size=1))
    return samples, *others, contiguous(_ORDER, (call.size,), 16), contiguous(call.dtype, (1, 2), 16)


def _check_order(label: str, order: Any, n: int, *, on_host: bool) -> None:
    if order.dtype != _ORDER:
        raise DtypeError(f"{label}: order of int32; got dtype {order.dtype} (convert it)")
    if n > np.iinfo(_ORDER).max:
        raise ShapeError(f"{label}: X of fewer than 2^31 samples, which order counts in int32; got {n}")
    if len(order.shape) != 1 or order.shape[0] > np.iinfo(_ORDER).max:
        raise ShapeError(f"{label}: order of one dimension and fewer than 2^31 numbers; got shape {order.shape}")
    if on_host and order.size and not 0 <= order.min() <= order.max() < n:
        raise ArgumentError(f"{label}: order of numbers from 0 to {n - 1}; got {order.min()} to {order.max()}")


def _rates(label: str, rate: Any, keep: Any, steps: int) -> np.ndarray:
    """Return the rate and the factor ``keep`` of each stretch of the order."""
    refuse_masked(f"{label}: rate= and keep=", rate, keep)
    try:
        given = [np.atleast_1d(np.asarray(one, np.float64)) for one in (rate, keep)]
        rates, keeps = np.broadcast_arrays(*given)
    except (TypeError, ValueError) as error:
        rule = "rate= and keep= numbers, or one for each stretch of order"
        raise ArgumentError(f"{label}: {rule}; got {quoted(rate)} and {quoted(keep)}") from error
    if rates.ndim != 1 or not rates.size or steps % rates.size:
        rule = "rate= and keep= numbers, or one for each stretch of order, all of equal length"
        raise ShapeError(f"{label}: {rule}; got shape {rates.shape} for {steps} steps")
    return np.stack([rates, keeps], axis=1)


def whole(number: Any) -> bool:
    """Return True for a positive integer."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool) and int(number) > 0


def power(label: str, name: str, number: int | None, most: int) -> int | None:
    """Check an optional power of two."""
    if number is None:
        return None
    if not whole(number) or number > most or number & (number - 1):
        raise ArgumentError(f"{label}: {name}= a power of two up to {most}; got {quoted(number)}")
    return int(number)


def up_to(label: str, name: str, number: int | None, most: int) -> int | None:
    """Check an optional whole number."""
    if number is None:
        return None
    if not whole(number) or number > most:
        raise ArgumentError(f"{label}: {name}= a whole number from 1 to {most}; got {quoted(number)}")
    return int(number)


def takes_none(label: str, variant: Variant, **given: Any) -> None:
    """Raise for arguments that a variant cannot obey."""
    names = [f"{name}=" for name, value in given.items() if value is not None]
    if names:
        rule = f"{', '.join(names)} only for kernels whose work-items share samples"
        raise ArgumentError(f"{label}: {rule}; got {label}/{variant.name} (choose another by variant=)")
