"""top_k of NumPy arrays for large k: by a sort of all elements, or of the elements of one row beyond a pivot."""

from __future__ import annotations

from functools import partial

import numpy as np

from gpuprims.core.by_numpy import ANY_SIZE, ByNumPy, Few
from gpuprims.core.device import Device
from gpuprims.primitives.sort import argsort

_ALL = Few(near=ANY_SIZE, woken=ANY_SIZE)
# Largest n / k for a sort: for several rows, and for one row.
_PART, _PART_OF_ONE = 8, 256  # rows: by_order, by_order-pivot
_FEWEST = 2**13  # fewest elements of a row for which a pivot pays (row by_order-pivot)

Firsts = tuple[np.ndarray, np.ndarray]


def firsts_by_order(
    device: Device, shape: tuple[int, ...], n: int, k: int, axis: int | None, *, largest: bool
) -> ByNumPy | None:
    """Return how to find the first ``k`` of ``n`` elements of each row by a sort; None if ``k`` is small."""
    one = axis is None or len(shape) == 1
    if not k or k * (_PART_OF_ONE if one and n >= _FEWEST else _PART) < n:
        return None
    return ByNumPy(partial(_firsts, device=device, k=k, axis=axis, largest=largest), _ALL)


def _firsts(x: np.ndarray, *, device: Device, k: int, axis: int | None, largest: bool) -> Firsts:
    """Return elements and indices. The sort is stable, so equal elements have the order that top_k promises."""
    if axis is None:
        x, axis = x.ravel(), 0
    if x.ndim == 1 and x.size >= _FEWEST and 2 * k < x.size:
        found = _beyond_pivot(x, device, k, largest=largest)
        if found is not None:
            return x.take(found), found
    order = argsort(x, axis=axis, descending=largest, device=device)
    found = order[(slice(None),) * (axis % x.ndim) + (slice(k),)].copy()
    return x.take(found) if x.ndim == 1 else np.take_along_axis(x, found, axis), found


def _beyond_pivot(x: np.ndarray, device: Device, k: int, *, largest: bool) -> np.ndarray | None:
    """Return the indices of the first ``k`` elements of a row: those beyond a pivot, sorted, then those equal to it.

    Return None if one of them may be NaN.
    """
    ordered, rank = x.copy(), x.size - k if largest else k - 1
    ordered.partition(rank)
    pivot, ends = ordered[rank], ordered[rank:]
    if x.dtype.kind == "f" and (np.isnan(ends).any() if largest else np.isnan(pivot)):
        return None
    (beyond,) = (x > pivot if largest else x < pivot).nonzero()
    beyond = beyond.take(argsort(x.take(beyond), descending=largest, device=device))
    return np.concatenate([beyond, (x == pivot).nonzero()[0][: k - beyond.size]])
