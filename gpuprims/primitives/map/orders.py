"""Maps of NumPy arrays whose axes lie in memory in another order than C's and Fortran's: results lie as they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.arrays import unchanged
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.core.variant import Variant
from gpuprims.primitives.map.plan import MapRequest, plan_call


def axes_in_memory(operands: Operands, request: MapRequest) -> tuple[int, ...] | None:
    """Return the axes of a call's arrays in the order in which those that are not broadcast lie, the last one fastest.

    None if results can lie in C or Fortran order, if arrays differ, or if results are not NumPy's in the host's memory.
    """
    if not operands.in_place or operands.convert is not unchanged or request.vector_axis is not None:
        return None
    natives = operands.natives
    if all(array.ndim < 3 or array.flags.forc for array in natives):  # no other order than C's and Fortran's
        return None
    shape = broadcast_shapes("map", [array.shape for array in natives])
    if 0 in shape:
        return None
    orders = {_order(shape, array.strides) for array in natives if array.shape == shape}
    order, plain = orders.pop() if len(orders) == 1 else None, tuple(range(len(shape)))
    return None if order in (plain, plain[::-1]) else order


def _order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """Return the axes by falling strides; None if some have the same."""
    sizes = [abs(stride) for stride in strides]
    if 1 in shape or 0 in sizes or len(set(sizes)) < len(sizes):
        return None
    return tuple(sorted(range(len(sizes)), key=lambda axis: -sizes[axis]))


def run_in_order(
    operands: Operands,
    request: MapRequest,
    axes: tuple[int, ...],
    variant: str | Variant | None,
    keep: Callable[..., None] | None,
) -> Any:
    """Map views of the arrays with their axes in another order, and return views of the results.

    ``keep`` gets the plan of the views, and what makes views and results of them.
    """
    back = tuple(np.argsort(axes).tolist())

    def views(arrays: Sequence[Any]) -> list[Any]:
        return [
            array[(None,) * (len(axes) - array.ndim)].transpose(axes) if np.ndim(array) else array for array in arrays
        ]

    def placed(result: Any) -> Any:
        return tuple([one.transpose(back) for one in result]) if isinstance(result, tuple) else result.transpose(back)

    inside = operands.instead(*views(operands.natives))
    plan = find_plan(plan_call, inside, request, None, variant)
    if keep is not None:
        keep(plan, inside, views, back=placed)
    return placed(plan.run(inside, None))
