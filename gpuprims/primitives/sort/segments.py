"""Sort each segment separately: each in the local memory of a group, or all by two stable sorts.

The first is by elements, the second by the numbers of their segments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import as_out
from gpuprims.core.warm_calls import WarmCalls, computing
from gpuprims.errors import AxisError
from gpuprims.expressions import trace
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.scan import scan
from gpuprims.primitives.segments.along import Lines
from gpuprims.primitives.segments.offsets import Segments
from gpuprims.primitives.sort.by_numpy import Wanted, segments_by_numpy
from gpuprims.primitives.sort.calls import in_order
from gpuprims.primitives.sort.segments_in_groups import in_groups
from gpuprims.primitives.sort.several import in_whole
from gpuprims.primitives.take import take

# Sorts arrays: see :func:`in_order`.
Sort = Callable[..., Any]
_WARM = WarmCalls()
_AS_INT64 = trace(lambda place: place.astype(np.int64), 1)


def sort_segments(x: Any, offsets: Any, device: str | Device | None = None, **others: Any) -> Any:
    """Return the elements of each segment in order; see :func:`gpuprims.sort` for the other keywords."""
    return _sorted("sort", x, offsets, device, **others)


def argsort_segments(x: Any, offsets: Any, device: str | Device | None = None, **others: Any) -> Any:
    """Return the indices, along the whole array, that would put each segment in order."""
    return _sorted("argsort", x, offsets, device, **others)


def _sorted(
    label: str, x: Any, offsets: Any, device: str | Device | None, *, axis: Any, descending: Any, out: Any, variant: Any
) -> Any:
    if out is not None or variant is not None or type(axis) is not int or type(descending) is not bool:
        return _by_kernels(label, x, offsets, device, axis=axis, descending=descending, out=out, variant=variant)
    key, given, run = _WARM.find_into((label, axis, descending), (x, offsets), None, device)
    if run is not None:
        return run(given)
    operands = as_operands(label, (x,), device)
    compute, own = segments_by_numpy(operands, label == "argsort", descending), operands.device
    by_kernels = partial(_by_kernels, axis=axis, descending=descending, out=None, variant=None)
    if compute is None:
        return by_kernels(label, x, offsets, device)
    if operands.as_given:
        _WARM.keep_run(key, computing(own, compute, lambda arrays: by_kernels(label, arrays[0], arrays[1], own)))
    found = compute(operands.natives[0], offsets)
    return by_kernels(label, x, offsets, device) if found is NotImplemented else operands.to_caller(found)


def _by_kernels(
    label: str, x: Any, offsets: Any, device: str | Device | None, *, axis: Any, descending: Any, out: Any, variant: Any
) -> Any:
    if axis is None:
        raise AxisError(f"{label}: one axis with segments=; got axis=None (sort x.reshape(-1), with offsets in that)")
    operands = as_operands(label, (x,), device)
    written, shape = as_out(operands, out), tuple(operands.natives[0].shape)
    if len(shape) > 1 or axis not in (-1, 0):
        lines = Lines.of(operands, shape, axis)
        own = Segments(offsets, operands, lines.n)
        own.check()
        found = _in_one_row(label, lines.flat(operands.natives[0]), lines.offsets(own), operands, descending, variant)
        shaped = lines.shaped(found, lines.n, places=label == "argsort")
        return to_out(operands, (shaped,), written, (None,))[0]
    segments = Segments(offsets, operands)
    segments.check()
    elements = flat(operands, operands.natives[0])
    found = _in_segments(label, elements, segments, operands, descending, variant)
    return to_out(operands, (found,), written, (None,))[0]


def _in_one_row(label: str, elements: Any, offsets: Any, operands: Operands, descending: Any, variant: Any) -> Any:
    """Sort the segments of an array that the call has made."""
    if not elements.size:
        return elements if label == "sort" else operands.empty((0,), np.dtype(np.int64))
    own = as_operands(label, (elements,), operands.device)
    return _in_segments(label, elements, Segments(offsets, own), own, descending, variant)


def _in_segments(
    label: str, elements: Any, segments: Segments, operands: Operands, descending: Any, variant: Any
) -> Any:
    """Return the elements of each segment of one row in order, or their indices."""
    run = partial(in_order, label, device=operands.device, variant=variant)
    wanted: Wanted = "indices" if label == "argsort" else "keys"
    length = segments.common_length
    if segments.count < 2 or not segments.size:
        result = run(wanted, (elements,), descending=descending)
    elif length is not None:
        rows = operands.cut(elements, 0, (segments.count, length, 1))
        found = run(wanted, (rows,), axis=1, descending=descending)
        result = operands.cut(found if wanted == "keys" else in_whole(found, operands.device), 0, (segments.size,))
    elif (found := in_groups(operands.instead(elements), segments, wanted, descending, variant)) is not None:
        result = found
    else:
        ranks = _ranks(operands, segments)
        two_sorts = _elements if wanted == "keys" else _indices
        result = two_sorts(run, elements, ranks, descending, operands.device)
    return result


def _ranks(operands: Operands, segments: Segments) -> Any:
    """Return the number of each element's segment, from 1 and without empty segments, in the narrowest dtype.

    A sort by these takes a pass for each byte.
    """
    dtype, heads = np.min_scalar_type(segments.count), segments.heads()
    if operands.in_place:  # NumPy, which may compute the scan, does not wait for the kernel that writes them
        operands.driver.wait()
    return scan(heads, dtype=dtype, device=operands.device)


def _elements(run: Sort, elements: Any, ranks: Any, descending: Any, device: Device) -> Any:
    """Sort elements with the numbers of their segments beside them, and then by these."""
    ordered, beside = run("pairs", (elements, ranks), descending=descending)
    _, result = run("pairs", (beside, ordered))
    return result


def _indices(run: Sort, elements: Any, ranks: Any, descending: Any, device: Device) -> Any:
    """Sort as :func:`_elements`, with the elements' indices beside them."""
    places = numbers(int(elements.shape[0]), elements, device)
    _, order = run("pairs", (elements, places), descending=descending)
    beside = take(ranks, order, mode="clip", device=device)
    _, result = run("pairs", (beside, order))
    return map_arrays(_AS_INT64, result, device=device)
