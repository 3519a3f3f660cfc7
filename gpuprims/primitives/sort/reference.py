"""sort in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gpuprims.expressions import TypedExpr
from gpuprims.primitives.sort.keys import compared
from gpuprims.primitives.sort.spec import SortSpec

# Tells which elements go before others.
Before = Callable[[np.ndarray, np.ndarray], np.ndarray]


def sort_numpy(
    spec: SortSpec,
    memories: Sequence[np.ndarray],
    layout: np.ndarray,
    rows: int,
    n: int,
    *begins: int,
) -> None:
    """Sort the rows' keys as unsigned integers, by NumPy's stable sort; or merge runs of them by a comparison."""

    def rows_of(k: int, dtype: np.dtype[Any]) -> np.ndarray:
        memory, end = memories[k], begins[k] + rows * n
        if memory.itemsize == dtype.itemsize:  # rows lie side by side, whatever the order of the array's axes
            memory = as_strided(memory, (end,), (dtype.itemsize,))
        return memory.view(dtype)[begins[k] : end].reshape(rows, n)

    keys = rows_of(0, spec.keys.word)
    if spec.keys.less is None:
        order = np.argsort(spec.keys.of(keys), axis=1, kind="stable")
    else:
        order = _merged(keys.view(spec.keys.dtype), _before(spec.keys.less, descending=spec.keys.descending))
    if spec.keeps_keys:
        rows_of(2, spec.keys.word)[...] = np.take_along_axis(keys, order, 1)
    if spec.carried is not None and spec.kept is not None:
        kept = order if spec.indices else np.take_along_axis(rows_of(1, spec.carried), order, 1)
        rows_of(3, spec.kept)[...] = kept


def _merged(elements: np.ndarray, before: Before) -> np.ndarray:
    """Return the indices that sort rows: merge runs of one element, of two, of four, all pairs at once."""
    rows, n = elements.shape
    places = np.arange(n)
    order, run = np.tile(places, (rows, 1)), 1
    while run < n:
        begins = places // (2 * run) * (2 * run)
        middles, ends = np.minimum(begins + run, n), np.minimum(begins + 2 * run, n)
        own, in_left = np.take_along_axis(elements, order, 1), places < middles

        def goes_after(others: np.ndarray, own: np.ndarray = own, in_left: np.ndarray = in_left) -> np.ndarray:
            return np.where(in_left, before(others, own), ~before(own, others))

        begin, end = np.where(in_left, middles, begins), np.where(in_left, ends, middles)
        merged = order.copy()  # keeps indices in the row if no order is
        np.put_along_axis(merged, places - middles + _search(own, begin, end, goes_after), order, 1)
        order, run = merged, 2 * run
    return order


def _search(
    elements: np.ndarray, begin: np.ndarray, end: np.ndarray, goes_after: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """For each place, return the first one from ``begin`` to ``end`` whose element does not go before its own."""
    low, high = (np.tile(bound, (elements.shape[0], 1)) for bound in (begin, end))
    while (searching := low < high).any():
        middle = np.minimum((low + high) // 2, elements.shape[1] - 1)
        after = goes_after(np.take_along_axis(elements, middle, 1))
        low = np.where(searching & after, middle + 1, low)
        high = np.where(searching & ~after, middle, high)
    return low


def _before(less: TypedExpr, *, descending: bool) -> Before:
    """Return what tells which elements go before others."""
    return lambda first, second: compared(less, second, first) if descending else compared(less, first, second)
