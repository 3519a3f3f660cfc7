"""Orders of few elements of the host in C: indices of stable sorts, and partitions that keep the order of elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpuprims.core.c_modules import CModule
from gpuprims.core.device import Device

ORDERS = CModule(Path(__file__).with_name("orders.c"))
MOST_PIVOTS = 16  # as in orders.c
_DTYPES = frozenset(map(np.dtype, ("?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "f", "d")))


def orders_in_c(device: Device, dtype: np.dtype[Any]) -> Any:
    """Return the module for few elements of a device's calls; None if it has no such dtype, or is not there yet."""
    return ORDERS.serves(device.driver) if dtype in _DTYPES else None


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
