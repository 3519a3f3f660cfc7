"""Maps of large host arrays, slab by slab."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, check_out, host_results
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError
from gpuprims.primitives.map.plan import MapRequest, plan_call
from gpuprims.primitives.pipeline import Slab, boxes, compute_slabs, most_elements, whole_box


def run_in_slabs(request: MapRequest, operands: Operands, out: Out | None, variant: str | Variant | None) -> Any:
    """Map large host arrays, a slab at a time."""
    if request.indices is not None:  # the index of a slab's elements would begin at 0
        if operands.exceed_room:
            raise ArgumentError("map: index= with arrays that the device has room for; got larger ones of the host")
        return find_plan(plan_call, operands, request, out, variant).run(operands, out)
    arrays, vector_axis = operands.natives, request.vector_axis
    if vector_axis is not None:  # the vectors last, so that slabs are cut along the axes before
        arrays = tuple(np.moveaxis(a, vector_axis, -1) if a.shape else a for a in arrays)
        request = request._replace(vector_axis=-1)
    lanes = [a.shape[-1:] if vector_axis is not None and a.shape else () for a in arrays]
    shape = broadcast_shapes("map", [a.shape[: a.ndim - len(own)] for a, own in zip(arrays, lanes, strict=True)])
    whole = [np.broadcast_to(a, (*shape, *own)) for a, own in zip(arrays, lanes, strict=True)]
    arguments = tuple(a.dtype for a, own in zip(arrays, lanes, strict=True) for _ in range(*own or (1,)))
    forms = request.results(request.typed(arguments).dtypes, shape)
    results = [np.empty(form.shape, form.dtype) for form in forms]
    axis = vector_axis if request.result_axis is not None else None
    wanted = [_move(result, -1, axis) for result in results]
    given = None if out is None or operands.in_place else out
    if given is not None:
        check_out("map", wanted, given.natives)
        results = [_move(array, axis, -1) for array in given.natives]

    def slabs() -> Iterator[Slab]:
        vectors = [(a, math.prod(a.shape[len(shape) :])) for a in (*whole, *results)]
        most = most_elements(operands.device, *(a.dtype for a, lanes in vectors for _ in range(lanes)))
        for box in boxes(whole_box(shape), range(len(shape)), most):
            yield Slab([a[box] for a in whole], [result[box] for result in results])

    def compute(slab: Slab, there: Operands, memory: Callable[[], Out]) -> Sequence[Any]:
        places = memory()
        find_plan(plan_call, there, request, places, variant).run(there, places)
        return places.natives

    compute_slabs("map", operands.device, slabs(), compute, new=out is None)
    return host_results(operands, wanted, out, single=request.single) if given is None else given.given


def _move(array: np.ndarray, axis: int | None, to: int | None) -> np.ndarray:
    return array if axis is None or to is None else np.moveaxis(array, axis, to)
