"""Shared by tests of selections: top_k in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.primitives.ordering import orders_of


def top_k_numpy(x: np.ndarray, k: int, axis: int | None = None, *, largest: bool = True) -> tuple[Any, Any]:
    """Return values and places by a stable sort; among equal elements the first comes first."""
    rows, along = (x.reshape(-1), 0) if axis is None else (x, axis)
    orders = orders_of(rows)
    if largest:
        orders = ~orders
    places = np.take(np.argsort(orders, axis=along, kind="stable"), range(k), axis=along)
    return np.take_along_axis(rows, places, along), places
