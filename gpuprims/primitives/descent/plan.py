"""The launch plan of batch gradient descent."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import Compiled, LaunchPlan, Sample
from gpuprims.core.layout import Form, contiguous, starts_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, Result
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.descent.spec import DescentSpec
from gpuprims.primitives.logistic.labelled import check_samples, typed_loss
from gpuprims.primitives.logistic.variants import LogisticVariant
from gpuprims.primitives.rows import sample_forms, side_by_side

# Work-items of the smallest group, which has the least to fold; and bytes of a vector of rows on CPUs.
_FEWEST, _CPU_VECTOR = 128, 64


class DescentRequest(NamedTuple):
    """How many steps to take."""

    steps: int


def bind(
    arrays: tuple[Any, ...],
    rate: float,
    steps: int,
    decay: float = 0.0,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, DescentRequest, Out | None, str | Variant | None]:
    """Check samples, labels, weights and perhaps sample weights, and bring ``decay`` and ``rate`` to them."""
    operands = as_operands("descent", arrays, device)
    check_samples("descent", operands.natives)
    rates = np.array([decay, rate], operands.natives[0].dtype)
    operands = side_by_side(operands)
    operands = operands.beside(rates if operands.on_host else operands.device.asarray(rates))
    return operands, as_request(steps), None, None if variant is None else asked_by_name("descent", variant)


def as_request(steps: int) -> DescentRequest:
    """Check the number of steps."""
    if steps < 1:
        raise ArgumentError(f"descent: steps, one or more; got {quoted(steps)}")
    return DescentRequest(operator.index(steps))


@keeps_calls()
def plan_call(
    request: DescentRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Decide everything about a descent but its memory; the last array has ``decay`` and ``rate``."""
    dtype, (n, k) = forms[0].dtype, forms[0].shape
    result = Result(forms[2].shape, dtype)

    def compiling(variant: Variant) -> Compiled:
        chosen = LogisticVariant.of(variant)
        layout = starts_of((*forms, contiguous(dtype, result.shape, alignment)))
        accesses = layout.accesses
        spec = DescentSpec(
            accesses[:-1],
            accesses[-1:],
            (dtype,),
            typed_loss(dtype),
            features=k,
            intercept=result.shape[0] != k,
            weighted=len(forms) == 5,
        )
        fitted, spec = _held(chosen, spec, n)
        launch = device.kernel(fitted, spec).prepare(1, layout.pack(0), n, request.steps)
        vectors = -(-n // spec.vector_rows)
        copied = vectors * spec.vector_rows * (spec.columns + spec.weighted) * dtype.itemsize
        return Compiled(launch, scratch=copied if chosen.scratch == "rows" else 0)

    traits = CallTraits((dtype,), n, result.shape[0], value_bytes=dtype.itemsize)
    return LaunchPlan(device, "descent", traits, (result,), compiling, asked=variant, inputs=range(len(forms)))


def sample(call: Sample) -> LaunchPlan:
    """Return the plan of a descent by so many samples of so many features."""
    forms = (*sample_forms(call), contiguous(call.dtype, (2,), 16))
    return plan_call(DescentRequest(1), forms, None, 16, call.device, None, 0)


def _held(variant: LogisticVariant, spec: DescentSpec, n: int) -> tuple[LogisticVariant, DescentSpec]:
    """Fix how rows are held: so many for each work-item of a group, or so many side by side."""
    if not variant.word_items:
        return variant, replace(spec, vector_rows=_CPU_VECTOR // spec.values[0].itemsize)
    block = min(_FEWEST, variant.block)
    while -(-n // block) * spec.columns * value_words(spec.values) > variant.items:
        block *= 2
    return variant.resized(block=block), replace(spec, rows=-(-n // block))
