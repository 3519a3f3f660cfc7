"""Quantiles and partitions of small arrays by NumPy, with the same bits as the kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Compute, Few
from gpuprims.core.device import Device
from gpuprims.core.layout import Form
from gpuprims.primitives.few_orders import MOST_PIVOTS, orders_in_c, rows_back, rows_last
from gpuprims.primitives.floats_by_numpy import has_nan
from gpuprims.primitives.halves import HALF, WORD, halves_of, has_others, words_of
from gpuprims.primitives.parts_in_c import parted, parts_in_c

# A quantile is the mean of two elements, an element, or an interpolation between two.
Way = Literal["mean", "element", "between"]
_NARROWEST = 4  # bytes of an element that NumPy selects by vectors
_FEW, _FEW_INTEGERS = Few(near=2**13, woken=2**14), Few(near=2**14, woken=2**14)  # rows: by_numpy, by_numpy-integers
# Elements that are partitioned by several ranks: by NumPy's masks, and in C; most that NumPy selects at once.
_FEW_PARTED, _AT_ONCE = Few(near=2**16, woken=2**16), 2**10  # rows: by_numpy-parts, parts-several
# Elements of a row up to which NumPy's masks partition by one rank faster than a kernel, and C all rows.
_MASKED, _IN_C = Few(near=2**22, woken=2**22), Few(near=2**25, woken=2**25)  # rows: by_numpy-masks, parts-in-c
_FEW_NARROW = Few(near=2**22, woken=2**22)  # rows: by_numpy-rows
# Most ranks to select one after the other, and elements up to which NumPy then is faster than a kernel.
_MOST_ALONE, _ALONE = 16, Few(near=2**22, woken=2**22)  # rows: by_numpy-alone
_SORTED = 2**9  # most elements of a row that is sorted for several ranks; rows: parts-sorted


def select(rows: np.ndarray, ranks: np.ndarray) -> None:
    """Partition along the last axis, in place.

    Short rows are sorted for several ranks. Others are selected one at a time: only then does NumPy use vector
    instructions.
    """
    if len(ranks) > 1 and rows.shape[-1] <= _SORTED:
        rows.sort()
        return
    if rows.ndim == 1 and rows.size <= _AT_ONCE:
        rows.partition(ranks)
        return
    apart = sorted(set(ranks.tolist()))
    if len(apart) > _MOST_ALONE:
        rows.partition(apart)
        return
    begin = 0
    for rank in apart:
        rows[..., begin:].partition(rank - begin)
        begin = rank + 1


def quantiles_by_numpy(
    form: Form, axes: tuple[int, ...], way: Way, number: int, shape: tuple[int, ...], function: Callable[..., Any]
) -> ByNumPy | None:
    """Return how NumPy finds ``number`` quantiles along axes; None if it does not.

    ``function`` takes what the ``way`` needs: the lower elements, the higher ones, and the fractions between them. It
    takes numbers instead of arrays if the result has no axes.
    """
    if not axes or not number or (form.dtype.kind == "f" and form.dtype.itemsize < HALF.itemsize):
        return None
    ends = 1 if way == "element" else 2
    compute = partial(_quantiles, axes=axes, number=number, ends=ends, shape=shape, function=function)
    if form.dtype.itemsize < _NARROWEST:
        return ByNumPy(compute, _FEW_NARROW) if ends * number <= _MOST_ALONE else None
    if ends * number <= _MOST_ALONE:
        return ByNumPy(compute, _ALONE)
    return ByNumPy(compute, _FEW if form.dtype.kind == "f" else _FEW_INTEGERS)


def _quantiles(
    x: np.ndarray,
    ranks: np.ndarray,
    *parts: np.ndarray,
    axes: tuple[int, ...],
    number: int,
    ends: int,
    shape: tuple[int, ...],
    function: Callable[..., Any],
) -> Any:
    """Return quantiles; NotImplemented with NaN, or if one may be a zero of either sign."""
    halves = x.dtype == HALF
    elements = words_of(x) if halves else x
    if halves and has_others(x, elements):
        return NotImplemented
    whole = len(axes) == x.ndim and x.itemsize >= _NARROWEST
    rows = elements.flatten() if whole else _rows_along(elements, axes)
    select(rows, ranks)
    found = rows.take(ranks, -1)
    if rows.ndim > 1:
        found = np.ascontiguousarray(np.moveaxis(found, -1, 0))
    if halves:
        found = halves_of(found.astype(WORD))
    elif x.dtype.kind == "f":
        zeros = not np.logical_and.reduce(found, None)
        if has_nan(rows[..., ranks.min() :]) or (zeros and np.signbit(x[x == 0]).any()):
            return NotImplemented
    elif rows.dtype != x.dtype:
        found = found.astype(x.dtype)
    given: Any = (found[0], found[-1])[:ends] if not shape else [found[:number], found[-number:]][:ends]
    with np.errstate(all="ignore"):  # such as the difference of infinities
        if not shape:
            return function(*given, *[part[()] for part in parts])
        return function(*[end.reshape(shape) for end in given], *parts)


def _rows_along(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return a copy whose last axis has the elements along axes, as int32 if they are narrow."""
    dtype = x.dtype if x.itemsize >= _NARROWEST else np.dtype(np.int32)
    moved = np.moveaxis(x, axes, range(-len(axes), 0))
    return moved.astype(dtype, order="C").reshape(*moved.shape[: -len(axes)], -1)


def parts_by_numpy(device: Device, form: Form, axis: int | None, number: int, *, places: bool) -> ByNumPy | None:
    """Return how NumPy partitions along one axis by ``number`` ranks, or finds ``places``; None if it does not."""
    if not form.shape:
        return None
    if form.dtype == HALF:  # rows: by_numpy-halves
        found = parts_by_numpy(device, form._replace(dtype=WORD), axis, number, places=places)
        return found and found._replace(compute=partial(_parts_of_halves, found.compute, places=places))
    if axis is not None and form.shape[axis] == 1:
        return ByNumPy(partial(_alone, places=places), _IN_C)
    orders = orders_in_c(device, form.dtype) if number <= MOST_PIVOTS else None
    parts = parts_in_c(device, form.dtype) if number == 1 else None
    one = number == 1 and (axis is None or len(form.shape) == 1)
    if orders is not None:
        few = _MASKED if one and parts is None else _IN_C
        by_one = None if parts is None else partial(parted, parts, places=places)
        return ByNumPy(partial(_parts_in_c, orders.parts, by_one, axis=axis, places=places), few)
    if axis is not None and len(form.shape) != 1:
        return None
    return ByNumPy(partial(_parts, places=places), _MASKED if one else _FEW_PARTED)


def _parts_of_halves(parts: Compute, x: np.ndarray, ranks: np.ndarray, *, places: bool) -> Any:
    """Return the partition of float16; NotImplemented with NaN, and for elements with negative zeros."""
    words = words_of(x)
    if has_others(x, words) or (found := parts(words, ranks)) is NotImplemented:
        return NotImplemented
    return found if places else halves_of(found)


def _alone(x: np.ndarray, ranks: np.ndarray, *, places: bool) -> np.ndarray:
    """Return the partition of rows of one element."""
    return np.zeros(x.shape, np.int64) if places else x.copy()


def _parts_in_c(
    parts: Callable[..., np.ndarray],
    by_one: Callable[..., Any] | None,
    x: np.ndarray,
    ranks: np.ndarray,
    *,
    axis: int | None,
    places: bool,
) -> Any:
    """Return the partition: NumPy selects the pivots, and a function in C orders the elements."""
    rows = rows_last(x, axis)
    if by_one is not None and (found := by_one(rows, int(ranks[0]))) is not NotImplemented:
        return found if rows.ndim == 1 else rows_back(found, axis)
    ordered = rows.copy()
    select(ordered, ranks)
    order = parts(rows, ordered.take(ranks, -1))
    if not places:
        if rows.ndim > 1:  # places in all rows
            order += np.arange(0, rows.size, rows.shape[-1]).reshape(*rows.shape[:-1], 1)
        order = rows.ravel().take(order)
    return rows_back(order, axis)


def _parts(x: np.ndarray, ranks: np.ndarray, *, places: bool) -> Any:
    """Return the partition; NotImplemented with NaN.

    For each rank, the elements below the pivot come first, then those equal to it, then those above.
    """
    elements = x.ravel()
    if len(ranks) == 1:
        return _parted(elements, int(ranks[0]), places=places)
    ordered = x.flatten()
    order: Any = None
    select(ordered, ranks)
    for pivot in ordered[ranks]:
        among = elements if order is None else elements.take(order)
        classes = (among < pivot).nonzero()[0], (among == pivot).nonzero()[0], (among > pivot).nonzero()[0]
        found = np.concatenate(classes)
        if len(found) < len(elements):  # NaN is in no class
            return NotImplemented
        order = found if order is None else order.take(found)
    return order if places else elements.take(order)


def _parted(elements: np.ndarray, rank: int, *, places: bool) -> Any:
    """Return the partition by one rank, with a mask for each class; NotImplemented with NaN."""
    result = elements.copy()
    result.partition(rank)
    pivot = result[rank]
    if places:
        result = np.empty(len(elements), np.int64)
    begin = 0
    for compare in (np.less, np.equal, np.greater):
        (found,) = compare(elements, pivot).nonzero()
        part = result[begin : begin + len(found)]
        if places:
            part[:] = found
        else:
            elements.take(found, out=part, mode="clip")
        begin += len(found)
    return result if begin == len(elements) else NotImplemented  # NaN is in no class
