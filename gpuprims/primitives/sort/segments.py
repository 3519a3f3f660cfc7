"""Sort each segment separately: each in the local memory of a group, or all by two stable sorts.

The first is by elements, the second by the numbers of their segments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.call_keys import Key
from gpuprims.core.device import Device
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import as_out
from gpuprims.core.warm_calls import Run, WarmCalls, computing
from gpuprims.errors import AxisError
from gpuprims.expressions import trace
from gpuprims.primitives.beginnings import to_out
from gpuprims.primitives.grouping.flat import flat
from gpuprims.primitives.grouping.indices import numbers
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.scan import scan
from gpuprims.primitives.segments.along import Lines
from gpuprims.primitives.segments.contents import ByContents, is_usual, keeps_contents, kept_if_small, keyed_with
from gpuprims.primitives.segments.offsets import Segments
from gpuprims.primitives.sort.by_numpy import Wanted, segments_by_numpy
from gpuprims.primitives.sort.calls import in_order
from gpuprims.primitives.sort.segments_in_groups import sorter_in_groups
from gpuprims.primitives.sort.several import in_whole
from gpuprims.primitives.take import take

# Sorts arrays: see :func:`in_order`.
Sort = Callable[..., Any]
# Sorts the segments of an array.
Sorter = Callable[[Any], Any]
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
    keyed = keyed_with(x, offsets)
    key, _, run = _WARM.find_into((label, axis, descending, len(keyed)), keyed, None, device)
    if run is not None:
        return run((x, offsets))
    operands = as_operands(label, (x,), device)
    if operands.natives[0].shape and keeps_contents(key, operands, offsets):
        return _kept(label, operands, offsets, axis, descending, key)
    compute, own = segments_by_numpy(operands, label == "argsort", descending), operands.device
    by_kernels = partial(_by_kernels, axis=axis, descending=descending, out=None, variant=None)
    if compute is None:
        return by_kernels(label, x, offsets, device)
    if operands.as_given:
        _WARM.keep_run(key, computing(own, compute, lambda arrays: by_kernels(label, arrays[0], arrays[1], own)))
    found = compute(operands.natives[0], offsets)
    return by_kernels(label, x, offsets, device) if found is NotImplemented else operands.to_caller(found)


def _kept(label: str, operands: Operands, offsets: Any, axis: int, descending: bool, key: Key | None) -> Any:
    """Sort an array of a device, and keep how for later calls."""
    (x,), bare, shape = operands.natives, operands.instead(), tuple(operands.natives[0].shape)
    form, device = operands.forms[0], operands.device

    def prepare(offsets: np.ndarray) -> Run:
        sort = _sorter(label, bare, form, shape, offsets, axis, descending, None)
        return lambda arrays: sort(arrays[0])

    run = ByContents(device, prepare).run
    result = run((x, offsets if is_usual(offsets) else as_operands(label, (offsets,), device).natives[0]))
    _WARM.keep_run(key, run)
    return operands.to_caller(result)


def _by_kernels(
    label: str, x: Any, offsets: Any, device: str | Device | None, *, axis: Any, descending: Any, out: Any, variant: Any
) -> Any:
    if axis is None:
        raise AxisError(f"{label}: one axis with segments=; got axis=None (sort x.reshape(-1), with offsets in that)")
    operands = as_operands(label, (x,), device)
    written, (own,) = as_out(operands, out), operands.natives
    sort = _sorter(label, operands, operands.forms[0], tuple(own.shape), offsets, axis, descending, variant)
    return to_out(operands, (sort(own),), written, (None,))[0]


def _sorter(
    label: str,
    operands: Operands,
    form: Form,
    shape: tuple[int, ...],
    offsets: Any,
    axis: Any,
    descending: Any,
    variant: Any,
) -> Sorter:
    """Return a function that sorts the segments of arrays of a shape like one of a call."""
    if len(shape) <= 1 and axis in (-1, 0):
        segments = Segments(offsets, operands, *shape) if shape else Segments(offsets, operands)
        segments.check()
        in_row = _in_segments(label, operands, form, segments, descending, variant)
        return lambda x: in_row(flat(operands, x))
    lines = Lines.of(operands.instead(), shape, axis)
    one = Segments(offsets, operands, lines.n)
    one.check()
    size = lines.rows * lines.n
    in_rows: Sorter = partial(_nothing, label, operands)
    if size:
        every = Segments(lines.offsets(one), operands, size)
        in_rows = _in_segments(label, operands, contiguous(form.dtype, (size,), 1), every, descending, variant)
    places = label == "argsort"
    return lambda x: lines.shaped(in_rows(lines.flat(x)), lines.n, places=places)


def _nothing(label: str, operands: Operands, elements: Any) -> Any:
    """Return the order of no elements."""
    return elements if label == "sort" else operands.empty((0,), np.dtype(np.int64))


def _in_segments(
    label: str, operands: Operands, form: Form, segments: Segments, descending: Any, variant: Any
) -> Sorter:
    """Return a function from the elements of one row to those of each segment in order, or to their indices."""
    device, count, size = operands.device, segments.count, segments.size
    run = partial(in_order, label, device=device, variant=variant)
    wanted: Wanted = "indices" if label == "argsort" else "keys"
    length = segments.common_length
    if count < 2 or not size:
        return lambda elements: run(wanted, (elements,), descending=descending)
    if length is not None:

        def by_rows(elements: Any) -> Any:
            found = run(wanted, (operands.cut(elements, 0, (count, length, 1)),), axis=1, descending=descending)
            return operands.cut(found if wanted == "keys" else in_whole(found, device), 0, (size,))

        return by_rows
    if (in_groups := sorter_in_groups(operands.instead(), form, segments, wanted, descending, variant)) is not None:
        return in_groups
    two_sorts, ranks = (
        _elements if wanted == "keys" else _indices,
        kept_if_small(device, lambda: _ranks(operands, segments)),
    )
    return lambda elements: two_sorts(run, elements, ranks(), descending, device)


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
