"""top_k of NumPy arrays for large k: by a sort of all elements, or of the elements of one row beyond a pivot."""

from __future__ import annotations

from functools import partial

import numpy as np

from gpuprims.core.by_numpy import ANY_SIZE, ByNumPy, Few
from gpuprims.core.device import Device
from gpuprims.primitives.parts_in_c import firsts, parts_in_c, select
from gpuprims.primitives.sort import argsort

_ALL = Few(near=ANY_SIZE, woken=ANY_SIZE)
# Largest n / k for a sort: for several rows, for one row, and for one row if k is at least _MANY.
_PART, _PART_OF_ONE, _PART_OF_MANY, _MANY = 8, 256, 1024, 384  # rows: by_order, by_order-pivot, by_order-many
_FEWEST = 2**13  # fewest elements of a row for which a pivot pays (row by_order-pivot)

Firsts = tuple[np.ndarray, np.ndarray]


def firsts_by_order(
    device: Device, shape: tuple[int, ...], n: int, k: int, axis: int | None, *, largest: bool
) -> ByNumPy | None:
    """Return how to find the first ``k`` of ``n`` elements of each row by a sort; None if ``k`` is small."""
    part = _PART
    if (axis is None or len(shape) == 1) and n >= _FEWEST:
        part = _PART_OF_MANY if k >= _MANY else _PART_OF_ONE
    if not k or k * part < n:
        return None
    return ByNumPy(partial(_firsts, device=device, k=k, axis=axis, largest=largest), _ALL)


def _firsts(x: np.ndarray, *, device: Device, k: int, axis: int | None, largest: bool) -> Firsts:
    """Return elements and indices. The sort is stable, so equal elements have the order that top_k promises."""
    if axis is None:
        x, axis = x.ravel(), 0
    if x.ndim == 1 and x.size >= _FEWEST and 2 * k < x.size:
        found = _beyond_pivot(np.ascontiguousarray(x), device, k, largest=largest)
        if found is not None:
            return x.take(found), found
    order = argsort(x, axis=axis, descending=largest, device=device)
    found = order[(slice(None),) * (axis % x.ndim) + (slice(k),)].copy()
    return x.take(found) if x.ndim == 1 else np.take_along_axis(x, found, axis), found


def _beyond_pivot(x: np.ndarray, device: Device, k: int, *, largest: bool) -> np.ndarray | None:
    """Return the indices of the first ``k`` elements of a row: those beyond a pivot, sorted, then those equal to it.

    Return None if one of them may be NaN.
    """
    parts = parts_in_c(device, x.dtype)
    found = _places(x, k, largest=largest) if parts is None else firsts(parts, x, k, largest=largest)
    if found is None:
        return None
    places, count = found
    beyond = places[:count]
    beyond[:] = beyond.take(argsort(x.take(beyond), descending=largest, device=device))
    return places


def _places(x: np.ndarray, k: int, *, largest: bool) -> tuple[np.ndarray, int] | None:
    """Do as :func:`firsts` by NumPy's masks."""
    rank = x.size - k if largest else k - 1
    ordered, pivots = select(x, rank)
    pivot = pivots[0]
    if x.dtype.kind == "f" and np.isnan(ordered[rank:] if largest else pivot).any():
        return None
    (beyond,) = (x > pivot if largest else x < pivot).nonzero()
    return np.concatenate([beyond, (x == pivot).nonzero()[0][: k - beyond.size]]), beyond.size
