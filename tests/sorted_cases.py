"""Numbers whose order matters, for tests of searches and merges."""

from __future__ import annotations

from typing import Any

import numpy as np


def numbers(rng: np.random.Generator, dtype: Any, shape: int | tuple[int, ...]) -> np.ndarray:
    """Return numbers of which some are equal, NaN, infinite or -0.0."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -100, 100, shape).astype(dtype)
    found: np.ndarray = np.round(rng.standard_normal(shape) * 300) / 4
    if dtype.kind == "c":
        found = np.round(found / 30) + 1j * np.where(rng.random(shape) < 0.1, np.nan, np.round(found / 9))
    for special, share in ((np.nan, 0.1), (np.inf, 0.03), (-0.0, 0.03)):
        found = np.where(rng.random(shape) < share, special, found)
    return found.astype(dtype)


def in_order(rng: np.random.Generator, dtype: Any, size: int) -> np.ndarray:
    return np.sort(numbers(rng, dtype, size), kind="stable")  # another sort of NumPy 2.4 leaves float16 out of order
