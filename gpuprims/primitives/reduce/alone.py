"""Folds along axes of length 1: maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import LaunchPlan
from gpuprims.core.layout import Form
from gpuprims.expressions import trace
from gpuprims.operators import Folding
from gpuprims.primitives.map import plan as map_plan


def plan_alone(
    folding: Folding,
    forms: Sequence[Form],
    written: tuple[Form, ...] | None,
    dimensions: int,
    axes: tuple[int, ...],
    alignment: int,
    device: Device,
    generation: int,
) -> LaunchPlan:
    """Return the launch plan of a fold along ``axes`` of length 1, which the results lack.

    A map visits the results in their own order, and turns arrays that lie in another order by tiles.
    """
    one = folding.finish.nodes[len(folding.values)].dtype.type(1)  # as many elements as a result is made from

    def finished(*elements: Any) -> Any:
        value = folding.op(*folding.identity, *folding.map(*elements, np.int64(0)))
        results = folding.finish(*value, one)
        typed = [_as(dtype, result) for result, dtype in zip(results, folding.outputs, strict=True)]
        return tuple(typed) if len(typed) > 1 else typed[0]

    request = map_plan.MapRequest(trace(finished, len(forms)), in_c_order=True)
    inputs = tuple(_without(form, [axis - dimensions + len(form.shape) for axis in axes]) for form in forms)
    plan = map_plan.plan_call(request, inputs, written, alignment, device, None, generation)
    return replace(plan, by_numpy=None) if axes else plan  # NumPy would get arrays that have the axes


def _as(dtype: np.dtype[Any], result: Any) -> Any:
    """Convert an expression, or a constant."""
    return result.astype(dtype) if hasattr(result, "astype") else dtype.type(result)


def _without(form: Form, axes: Sequence[int]) -> Form:
    """Return a form without axes of length 1; negative ones are axes that it does not have."""
    left = [axis for axis in range(len(form.shape)) if axis not in axes]
    return form._replace(
        shape=tuple([form.shape[axis] for axis in left]), strides=tuple([form.strides[axis] for axis in left])
    )
