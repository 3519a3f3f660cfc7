"""Scans of large host arrays, slab by slab: each slab goes on from the value of all elements before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from gpuprims.core.arrays import copy_on
from gpuprims.core.determinism import refuse_levels
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import Operands
from gpuprims.core.outputs import Out, check_out, host_results
from gpuprims.core.shapes import broadcast_shapes
from gpuprims.core.variant import Variant
from gpuprims.operators.portable import rounds
from gpuprims.primitives.axes import axes_of
from gpuprims.primitives.levels import IN_SLABS
from gpuprims.primitives.pipeline import Box, Slab, boxes, compute_slabs, most_elements, whole_box
from gpuprims.primitives.scan.plan import ScanRequest, carrying, plan_call, plan_totals

_INT64 = np.dtype(np.int64)


def run_in_slabs(request: ScanRequest, operands: Operands, out: Out | None, variant: str | Variant | None) -> Any:
    """Scan large host arrays.

    An exclusive scan is the inclusive scan of all elements but the last, one place later, after the operator's value of
    nothing.
    """
    natives = operands.natives
    shape = broadcast_shapes("scan", [native.shape for native in natives]) or (1,)
    (axis,) = axes_of(request.axis, len(shape)) if request.axis is not None else (None,)
    turn = partial(np.flip, axis=axis) if request.reverse else np.asarray
    arrays = [turn(np.broadcast_to(native, shape)) for native in natives]
    if request.reverse:
        last = (math.prod(shape) if axis is None else shape[axis]) - 1
        request = request._replace(reverse=False, last=last)
    folding = carrying(request, tuple([native.dtype for native in natives]))
    if rounds(folding):
        refuse_levels("scan", "scans of arrays larger than the device's memory", instead=IN_SLABS)
    if axis is None and (not request.inclusive or all(array.flags.c_contiguous for array in arrays)):
        arrays = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
    kept = (math.prod(shape),) if axis is None else shape
    results = [np.empty(kept, dtype) for dtype in folding.outputs]
    given = None
    if out is not None:
        check_out("scan", results, out.natives)
        # The first slab's results of an exclusive scan lie on elements of the second.
        meets = any(np.may_share_memory(array, one) for array in arrays for one in out.natives)
        if not operands.in_place and (request.inclusive or not meets):
            given, results = out, list(out.natives)
    targets, lengths, along = list(map(turn, results)), list(arrays[0].shape), axis or 0
    if not request.inclusive:
        before = (slice(None),) * along
        with np.errstate(all="ignore"):
            nothing = folding.finish(*folding.identity, folding.finish.nodes[len(folding.values)].dtype.type(0))
        for target, value in zip(targets, nothing, strict=True):
            target[*before, :1] = value
        targets = [target[*before, 1:] for target in targets]
        lengths[along] -= 1

    most = most_elements(operands.device, *(array.dtype for array in arrays), *folding.outputs)
    slabs = _flat_slabs if axis is None else _slabs_along(axis)
    compute_slabs("scan", operands.device, slabs(arrays, targets, lengths, most), _Chain(request, variant), new=not out)
    return host_results(operands, results, out, single=len(results) == 1) if given is None else given.given


class _Chain:
    """Computes slabs in order, and keeps the value of a chain's elements so far."""

    def __init__(self, request: ScanRequest, variant: str | Variant | None) -> None:
        self._request, self._variant = request._replace(inclusive=True), variant
        self._start, self._before = 0, tuple[Any, ...]()

    def __call__(self, slab: Slab, operands: Operands, memory: Callable[[], Out]) -> Sequence[Any]:
        """Scan a slab."""
        shape = slab.arrays[0].shape
        if slab.begins:
            self._start, self._before = 0, ()
        else:
            first: Any = np.full((1,) * len(shape), self._start, _INT64)
            if not operands.in_place:
                first = copy_on(operands.device, first)
            operands = operands.with_device_arrays(first, *self._before)
        request, places = self._request._replace(carried=len(operands.natives) - len(slab.arrays)), memory()
        find_plan(plan_call, operands, request, places, self._variant).run(operands, places)
        if not slab.ends:
            before = find_plan(plan_totals, operands, request, None, None).run(operands, None)
            self._before = before if isinstance(before, tuple) else (before,)
            self._start += math.prod(shape[axis] for axis in axes_of(request.axis, len(shape)))
        return places.natives


def _flat_slabs(
    arrays: Sequence[np.ndarray], targets: Sequence[np.ndarray], lengths: Sequence[int], most: int
) -> Iterator[Slab]:
    """Yield slabs of all elements in C order, with flat targets."""
    at = 0
    end = math.prod(lengths)
    for box in boxes(whole_box(lengths), range(len(lengths)), most):
        parts = [array[box] for array in arrays]
        after = at + parts[0].size
        yield Slab(parts, [target[at:after] for target in targets], begins=at == 0, ends=after == end)
        at = after


def _slabs_along(axis: int) -> Callable[..., Iterator[Slab]]:
    """Return a function that yields slabs of scans along an axis, each chain in order."""

    def slabs(
        arrays: Sequence[np.ndarray], targets: Sequence[np.ndarray], lengths: Sequence[int], most: int
    ) -> Iterator[Slab]:
        for outer in boxes(whole_box(lengths), range(axis), most):
            for box, begins, ends in _chain(outer, axis, most):
                yield Slab([array[box] for array in arrays], [target[box] for target in targets], begins, ends)

    return slabs


def _chain(outer: Box, axis: int, most: int) -> Iterator[tuple[Box, bool, bool]]:
    """Cut a box across the axes after ``axis`` until one row fits, then along ``axis``."""
    whole = outer[axis]
    sizes = [one.stop - one.start for one in outer]
    if math.prod(sizes) <= most:
        yield outer, True, True
        return
    row = (*outer[:axis], slice(0, 1), *outer[axis + 1 :])
    for inner in boxes(row, range(axis + 1, len(outer)), most):
        step = max(most // math.prod(one.stop - one.start for one in inner), 1)
        for first, end in pairwise([*range(whole.start, whole.stop, step), whole.stop]):
            box = (*inner[:axis], slice(first, end), *inner[axis + 1 :])
            yield box, first == whole.start, end == whole.stop
