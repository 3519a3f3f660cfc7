"""Oracles and arrays for tests of scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from kernel_cases import random_values

NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "sum": np.cumsum,
    "prod": np.cumprod,
    "min": np.minimum.accumulate,
    "max": np.maximum.accumulate,
}

# Enough columns for each variant that scans columns, with few elements each.
COLUMNS = (37, 2500)


def numpys(op: str, x: np.ndarray, axis: int | None = None, **keywords: Any) -> np.ndarray:
    """Scan by NumPy; ``axis=None`` scans all elements in C order."""
    if axis is None:
        x, axis = np.ravel(x), 0
    return NUMPY[op](x, axis=axis, **keywords)


def exclusively(inclusive: np.ndarray, identity: Any, axis: int = 0) -> np.ndarray:
    """Turn an inclusive scan into an exclusive one, which begins with the identity."""
    first = np.full_like(np.take(inclusive, [0], axis), identity)
    return np.concatenate([first, np.delete(inclusive, -1, axis)], axis)


def places(x: np.ndarray, better: Callable[[Any, Any], Any] = np.greater) -> np.ndarray:
    """Return a running argmax along the last axis, or argmin if ``better`` is ``np.less``."""
    best = (np.maximum if better is np.greater else np.minimum).accumulate(x, axis=-1)
    new = np.ones(x.shape, bool)
    new[..., 1:] = better(x[..., 1:], best[..., :-1]) | (np.isnan(x[..., 1:]) & ~np.isnan(best[..., :-1]))
    return np.maximum.accumulate(np.where(new, np.arange(x.shape[-1]), 0), axis=-1)


def affine_pair(rng: np.random.Generator, shape: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return slopes and offsets of affine maps. Odd slopes have inverses, so each map shows in the result."""
    return random_values(rng, np.int64, shape) | 1, random_values(rng, np.int64, shape)
