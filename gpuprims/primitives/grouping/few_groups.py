"""Grouping of small NumPy arrays of keys, in C or by NumPy: the order of elements, and where each group begins."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.by_numpy import Compute, Few, noticed
from gpuprims.core.device import Device
from gpuprims.core.layout import contiguous
from gpuprims.core.operands import Operands
from gpuprims.primitives.few_orders import orders_in_c
from gpuprims.primitives.grouping.by_numpy import begins_of
from gpuprims.primitives.sort.by_numpy import sorts_by_numpy

_FEW = Few(near=2**12, woken=2**12)  # rows: few-keys


def takes_few_keys(operands: Operands, size: int) -> bool:
    """Return True if this many keys are grouped without a kernel."""
    return operands.in_place and 0 < size <= _FEW.most(operands.driver)


def few_groups(operands: Operands, keys: np.ndarray) -> Compute | None:
    """Return the C function that groups few keys; None if kernels do it."""
    if not takes_few_keys(operands, keys.size) or (calls := orders_in_c(operands.device, keys.dtype)) is None:
        return None
    return noticed(operands.driver, "groups", calls.groups)


def grouping(device: Device, dtype: np.dtype[Any], size: int) -> Compute | None:
    """Return a function, in C or by NumPy, that maps keys to their sorted order and to the offsets of groups.

    The function returns NotImplemented where kernels have to find them. It is None for keys that NumPy does not sort.
    """
    if (calls := orders_in_c(device, dtype)) is not None:
        in_c: Compute = calls.groups
        return in_c
    sorts = sorts_by_numpy(device, "indices", -1, False, (contiguous(dtype, (size,), 1),))
    return None if sorts is None else partial(_groups, sorts.compute)


def _groups(order_of: Compute, keys: np.ndarray) -> Any:
    """Return the sorted order of keys and the offsets of groups, by NumPy; NotImplemented with NaN."""
    order = order_of(keys)
    if order is NotImplemented:
        return order
    ordered = keys.take(order)
    if ordered[-1] != ordered[-1]:
        return NotImplemented
    return order, np.append(begins_of(ordered).nonzero()[0], len(ordered))
