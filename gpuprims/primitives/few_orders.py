"""Orders of few elements of the host in C: indices of stable sorts, and partitions that keep the order of elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.core.c_modules import CModule
from gpuprims.core.device import Device

ORDERS, PACKS, TRENDS = (CModule(Path(__file__).with_name(name)) for name in ("orders.c", "packs.c", "trends.c"))
_PACKED = 4  # bytes of the least keys that are packed with their indices; narrower ones have few digits
MOST_PIVOTS = 16  # as in orders.c
_DTYPES = frozenset(map(np.dtype, ("?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "f", "d")))


def orders_in_c(device: Device, dtype: np.dtype[Any]) -> Any:
    """Return the module for few elements of a device's calls; None if it has no such dtype, or is not there yet."""
    return ORDERS.serves(device.driver) if dtype in _DTYPES else None


def packs_in_c(device: Device, dtype: np.dtype[Any]) -> bool:
    """Return True if the indices of a device's rows are found by sorts of integers of a key and its index."""
    if orders_in_c(device, dtype) is None or dtype.itemsize < _PACKED:
        return False
    return PACKS.serves(device.driver) is not None


# From rows, and True for descending order, to the indices of their stable sort; NotImplemented for rows of other kinds.
Indices = Callable[[np.ndarray, bool], Any]


def indices_in_c(device: Device, dtype: np.dtype[Any]) -> Indices | None:
    """Return what finds the indices of stable sorts of any rows; None without C."""
    orders = orders_in_c(device, dtype)
    if orders is None:
        return None
    sorted_already = indices_of_trends(device, dtype)
    packed = PACKS.calls.indices if packs_in_c(device, dtype) else None
    return partial(_by_the_first, [way for way in (sorted_already, packed, orders.indices) if way is not None])


def indices_of_trends(device: Device, dtype: np.dtype[Any]) -> Indices | None:
    """Return what finds the indices of rows that rise or fall, and leaves others after few elements; None without C."""
    calls = TRENDS.serves(device.driver) if dtype in _DTYPES else None
    return None if calls is None else calls.indices


def _by_the_first(ways: list[Indices], rows: np.ndarray, descending: bool) -> Any:
    """Return the indices by the first of some ways that takes the rows, as the last one does."""
    found: Any = NotImplemented
    for way in ways:
        found = way(rows, descending)
        if found is not NotImplemented:
            return found
    return found


def rows_last(x: np.ndarray, axis: int | None) -> np.ndarray:
    """Return rows along an axis, or all elements in C order, that lie together."""
    if axis is None:
        return x.ravel()
    return np.ascontiguousarray(x if axis in (-1, x.ndim - 1) else np.moveaxis(x, axis, -1))


def rows_back(rows: np.ndarray, axis: int | None) -> np.ndarray:
    """Return rows as they lay before :func:`rows_last`."""
    if axis is None or axis in (-1, rows.ndim - 1):
        return rows
    return np.ascontiguousarray(np.moveaxis(rows, -1, axis))
