"""Exact sums in parts: the limbs of each part's sum, which add up as integers and are rounded once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.determinism import at_level
from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan, find_plan
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import as_operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.core.variant import Variant
from gpuprims.errors import NoVariantError
from gpuprims.expressions import trace, typed
from gpuprims.operators import Folding, Op, as_map, make_folding
from gpuprims.operators.dtypes import INT64
from gpuprims.operators.portable import adds
from gpuprims.primitives.axes import as_axis, folded_axes
from gpuprims.primitives.exact_sums import words_of
from gpuprims.primitives.fold import plan_fold
from gpuprims.primitives.reduce.plan import ReduceRequest


def sum_limbs(
    *arrays: Any,
    op: Op,
    axis: Any = None,
    keepdims: bool = False,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return the words of the exact sums that :func:`gpuprims.reduce` would round, along one more axis, the last one.

    ``add_limbs`` joins those of several parts, and ``round_limbs`` rounds them.
    """
    operands = as_operands("reduce", arrays, device, stored=True)
    request = ReduceRequest(op, axis=as_axis(axis), keepdims=keepdims)

    def run() -> Any:
        return find_plan(plan_limbs, operands, request, None, variant).run(operands, None)

    return at_level("reduce", "order", run)


@keeps_calls()
def plan_limbs(
    request: ReduceRequest,
    forms: tuple[Form, ...],
    written: tuple[Form, ...] | None,
    alignment: int,
    device: Device,
    variant: str | Variant | None,
    generation: int,
) -> LaunchPlan:
    """Return the launch plan of exact sums that are not rounded. Kernels write the words after the place of a sum."""
    shape = broadcast_shapes("reduce", [form.shape for form in forms])
    axes = folded_axes(request.axis, len(shape))
    arrays = tuple(form.dtype for form in forms)
    folding = make_folding(request.operator, as_map("reduce", None, len(forms)), arrays, None)
    if not adds(folding):
        rule = "reduce: a fold that adds float32 or float64, to join exact sums of parts"
        raise NoVariantError(f"{rule}; got {request.operator.name} of {', '.join(map(str, arrays))}")
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape) if request.keepdims or k not in axes)
    whole = contiguous(INT64, (*kept, words_of(folding.values[0])), alignment)
    target = whole._replace(shape=kept, strides=whole.strides[:-1])
    plan = plan_fold(
        device, forms, [target], _unrounded(folding), shape, axes, variant, commutative=True, limbs_left=True
    )
    plan.results = [whole]
    return plan


def _unrounded(folding: Folding) -> Folding:
    """Return a folding whose result is a word; a kernel stores others than its finish makes."""
    count = folding.finish.nodes[len(folding.values)].dtype
    finish = typed(trace(lambda value, number: np.where(value > value, 1, 0), 2), (*folding.values, count), (INT64,))
    return replace(folding, outputs=(INT64,), finish=finish)
