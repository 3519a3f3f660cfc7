"""The first of few sorted elements by NumPy or in C, with the bits of the kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import ByNumPy, Few
from gpuprims.core.device import Device
from gpuprims.core.layout import Form
from gpuprims.primitives.few_orders import orders_in_c
from gpuprims.primitives.sort.by_numpy import INDEX_BITS, Indices, indices_by_numpy, is_ordered, packed_indices

_FEW_FIRSTS, _FEW_STABLE_FIRSTS = Few(near=0, woken=2**13), Few(near=0, woken=2**10)  # rows: by_numpy-firsts
_FIRSTS_IN_C = Few(near=2**10, woken=2**12)  # rows: by_numpy-orders


def firsts_by_numpy(device: Device, form: Form, most: int, *, descending: bool) -> ByNumPy | None:
    """Return how NumPy finds the ``most`` first of sorted elements along one axis, and their indices, if it does."""
    if len(form.shape) != 1 or form.shape[0] > 1 << INDEX_BITS or not most or not is_ordered(form):
        return None
    in_c = orders_in_c(device, form.dtype) is not None and form.shape[0] <= _FIRSTS_IN_C.woken
    if in_c:
        indices = indices_by_numpy(device, form.dtype, -1, descending=descending)
        return ByNumPy(partial(_firsts_of_all, indices, most), _FIRSTS_IN_C)
    indices = packed_indices(form.dtype, descending=descending, most=most)
    stable = form.dtype.itemsize <= 2 or form.dtype == np.float64
    return ByNumPy(partial(_firsts, indices), _FEW_STABLE_FIRSTS if stable else _FEW_FIRSTS)


def _firsts_of_all(indices: Indices, most: int, keys: np.ndarray) -> Any:
    """Return elements and their indices; NotImplemented with NaN, which comes first or last."""
    order = indices(keys)
    first, last = keys[order[0]], keys[order[-1]]
    if first != first or last != last:
        return NotImplemented
    found = order[:most].copy()
    return keys.take(found), found


def _firsts(indices: Indices, keys: np.ndarray) -> Any:
    """Return elements and their indices; NotImplemented with NaN."""
    order = indices(keys)
    if order is NotImplemented:
        return NotImplemented
    if keys.dtype == np.float64 and (largest := np.maximum.reduce(keys)) != largest:
        return NotImplemented
    return keys.take(order), order
