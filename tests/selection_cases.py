"""Shared by tests of selections: arrays that mislead a sample or have many ties, and top_k in NumPy."""

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


def tricky(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Return arrays by what is hard about them."""
    ramp = np.arange(n, dtype=np.float32)
    planted = rng.random(n, dtype=np.float32)
    planted[::64] = 5  # a sample at a stride finds these, or the others, alone
    hidden = rng.random(n, dtype=np.float32)
    hidden[n // 3 : n // 3 + 1 + n // 200] = 7
    many_nan = rng.standard_normal(n).astype(np.float32)
    many_nan[rng.random(n) < 0.7] = np.nan
    zeros = np.where(rng.random(n) < 0.5, np.float32(0.0), np.float32(-0.0))
    return {
        "sorted": ramp,
        "reversed": ramp[::-1].copy(),
        "equal": np.full(n, 3, np.float32),
        "two values": (rng.random(n) < 0.5).astype(np.float32),
        "organ pipe": np.minimum(ramp, ramp[::-1]),
        "NaN": many_nan,
        "zeros": zeros,
        "denormals": (rng.integers(-9, 9, n) * np.float32(1e-45)).astype(np.float32),
        "infinities": rng.choice(np.array([np.inf, -np.inf, 1, -1], np.float32), n),
        "planted": planted,
        "hidden": hidden,
    }
