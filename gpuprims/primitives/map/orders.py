"""Maps of arrays whose axes lie in memory in another order than C's: results lie as they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.arrays import unchanged
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.layout import Form
from gpuprims.core.operands import Operands
from gpuprims.core.registry import REGISTRY
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.core.variant import Variant
from gpuprims.primitives.map.plan import MapRequest, plan_call


def axes_in_memory(operands: Operands, request: MapRequest) -> tuple[int, ...] | None:
    """Return the axes of a call's arrays in the order in which those that are not broadcast lie, the last one fastest.

    None if that is C order, if arrays differ, or if the caller's library has no such arrays.
    """
    if request.vector_axis is not None or request.indices is not None or operands.convert is not unchanged:
        return None
    natives = operands.natives
    if operands.in_place:
        if all(array.ndim < 3 or array.flags.forc for array in natives):  # plans know C and Fortran order
            return None
    elif operands.on_host or all(array.ndim < 2 or array.flags.c_contiguous for array in natives if array.shape):
        return None
    shape = broadcast_shapes("map", [array.shape for array in natives])
    if 0 in shape:
        return None
    whole = [array for array in natives if array.shape == shape]
    orders = {_order(shape, array.strides) for array in whole}
    order, plain = orders.pop() if len(orders) == 1 else None, tuple(range(len(shape)))
    if order is None or order == plain:
        return None
    if order == plain[::-1]:
        return None if operands.in_place else order
    # Libraries that exchange arrays through DLPack read arrays in any order. pyopencl reads C and Fortran order.
    return order if operands.in_place or all(hasattr(array, "__dlpack__") for array in whole) else None


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
    """Map arrays with their axes in another order, and return views of the results.

    ``keep`` gets the plan, and what makes views and results of its own arrays and results.
    """
    back = tuple(np.argsort(axes).tolist())

    def views(arrays: Sequence[Any]) -> list[Any]:
        return [
            array[(None,) * (len(axes) - array.ndim)].transpose(axes) if np.ndim(array) else array for array in arrays
        ]

    reversed_axes = back == tuple(range(len(axes)))[::-1]

    def turned(result: Any) -> Any:
        return result.T if reversed_axes else result.transpose(back)  # T takes less time of the host

    def placed(result: Any) -> Any:
        return tuple(map(turned, result)) if isinstance(result, tuple) else turned(result)

    if operands.in_place:
        inside = operands.instead(*views(operands.natives))
        plan = find_plan(plan_call, inside, request, None, variant)
        if keep is not None:
            keep(plan, inside, views, back=placed)
        return placed(plan.run(inside, None))
    # Views of a device's arrays have the memory of the arrays, so kernels need their forms alone.
    forms, _ = operands.place()
    in_order = tuple([_turned(form, axes) for form in forms])
    generation = REGISTRY.generation
    plan = plan_call(request, in_order, None, operands.alignment, operands.device, variant, generation)
    if keep is not None:
        keep(plan, operands, back=placed)
    return placed(plan.run(operands, None))


def _turned(form: Form, axes: tuple[int, ...]) -> Form:
    """Return the form of an array with its axes in another order, and with all axes of the results."""
    missing = len(axes) - len(form.shape)
    shape, strides = (1,) * missing + form.shape, (0,) * missing + form.strides
    return form._replace(shape=tuple([shape[axis] for axis in axes]), strides=tuple([strides[axis] for axis in axes]))
