"""A map of host arrays that the device has no room for, a slab at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuprims.core.launch_plan import find_plan
from gpuprims.core.layout import broadcast_shapes
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out, host_results
from gpuprims.core.variant import Variant
from gpuprims.primitives.map.plan import MapRequest, map_results, plan_call, typed_map
from gpuprims.primitives.slabs import map_in_slabs, slab_bytes


def run_in_slabs(request: MapRequest, operands: Operands, out: Out | None, variant: str | Variant | None) -> Any:
    """Map host arrays that the device has no room for."""
    expr, vector_axis = request
    arrays, axis = operands.natives, None
    if vector_axis is not None:  # the vectors last, so that slabs are cut along the axes before
        arrays, axis = tuple(np.moveaxis(a, vector_axis, -1) if a.shape else a for a in arrays), -1
    lanes = [a.shape[-1:] if axis and a.shape else () for a in arrays]
    shape = broadcast_shapes("map", [a.shape[: a.ndim - len(own)] for a, own in zip(arrays, lanes, strict=True)])
    whole = [np.broadcast_to(a, (*shape, *own)) for a, own in zip(arrays, lanes, strict=True)]
    arguments = tuple(a.dtype for a, own in zip(arrays, lanes, strict=True) for _ in range(*own or (1,)))
    dtypes = typed_map(expr, arguments, alike=request.gives_vectors)[0].dtypes
    forms = map_results(dtypes, shape, axis if request.gives_vectors else None)
    results = [np.empty(form.shape, form.dtype) for form in forms]
    of_slab = request._replace(vector_axis=axis)

    def run(parts: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        slab, places = as_operands("map", tuple(parts), operands.device), Out(tuple(outs), None)
        find_plan(plan_call, slab, of_slab, places, variant).run(slab, places)

    map_in_slabs(whole, results, shape, slab_bytes(operands.device), run)
    if vector_axis is not None and request.gives_vectors:
        results = [np.moveaxis(result, -1, vector_axis) for result in results]
    return host_results(operands, results, out, single=expr.single or request.gives_vectors)
