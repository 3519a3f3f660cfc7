"""Sorts by several keys, and of complex ones, of few elements, by NumPy or in C, with the bits of the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Compute
from gpuprims.core.device import Device
from gpuprims.core.layout import Form
from gpuprims.primitives.few_orders import orders_in_c
from gpuprims.primitives.halves import HALF, WORD, words_of
from gpuprims.primitives.sort.by_numpy import (
    INDEX_BITS,
    INDICES_IN_C,
    NARROW,
    STABLE_INDICES,
    Indices,
    Wanted,
    indices_by_numpy,
    is_ordered,
)


def lexsorts_by_numpy(device: Device, rows: bool, forms: tuple[Form, ...]) -> ByNumPy | None:
    """Return how NumPy sorts by several keys, the last one first, if it does; ``rows`` if an array has them."""
    if HALF in (halves := [form.dtype for form in forms]):
        words = [form._replace(dtype=WORD) if form.dtype == HALF else form for form in forms]
        found = lexsorts_by_numpy(device, rows, tuple(words))
        return found and found._replace(compute=partial(_of_words, found.compute, [one == HALF for one in halves]))
    if not all(is_ordered(form) and form.shape[-1] <= 1 << INDEX_BITS for form in forms):
        return None
    each = [indices_by_numpy(device, form.dtype, -1, descending=False) for form in forms]
    in_c = all(orders_in_c(device, form.dtype) is not None for form in forms)
    narrow = all(form.dtype.kind in "iub" and form.dtype.itemsize <= NARROW for form in forms)

    def compute(*arrays: np.ndarray) -> Any:
        keys = [*arrays[0]] if rows else arrays
        if narrow:  # NumPy sorts them by digits, and keeps the order from key to key
            return np.lexsort(keys)
        return _by_several(keys, each * len(keys) if rows else each)

    return ByNumPy(compute, INDICES_IN_C if in_c else STABLE_INDICES)


def _of_words(compute: Compute, halves: Sequence[bool], *arrays: np.ndarray) -> Any:
    """Sort by the words of float16."""
    return compute(*[words_of(one) if half else one for one, half in zip(arrays, halves, strict=True)])


def _by_several(keys: Sequence[np.ndarray], each: Sequence[Indices]) -> Any:
    """Return the indices of a sort by several keys, the last one first; ``each`` sorts by one."""
    order: Any = None
    for key, indices in zip(keys, each, strict=True):
        found = indices(key if order is None else key.take(order))
        if found is NotImplemented:
            return found
        order = found if order is None else order.take(found)
    return order


def complex_by_numpy(wanted: Wanted, axis: int | None, descending: bool, forms: tuple[Form, ...]) -> ByNumPy | None:
    """Return how NumPy sorts complex keys in ascending order, if it does."""
    if descending or wanted == "pairs" or not forms[0].shape:
        return None
    return ByNumPy(partial(_sorted_complex, axis=axis, places=wanted == "indices"), STABLE_INDICES)


def _sorted_complex(x: np.ndarray, *, axis: int | None, places: bool) -> np.ndarray:
    """Return sorted elements, or their indices, by NumPy's stable sort, which moves whole elements."""
    given, along = (x.ravel(), -1) if axis is None else (x, axis)
    if places:
        return np.ascontiguousarray(given.argsort(along, "stable"))
    ordered = given.copy()
    ordered.sort(along, "stable")
    return ordered
