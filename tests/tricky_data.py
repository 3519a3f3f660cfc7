"""Elements that are hard to sort, select, group or search; each of them named by what is hard."""

from __future__ import annotations

from typing import Any

import numpy as np


def tricky(rng: np.random.Generator, n: int, dtype: Any = "float32") -> dict[str, np.ndarray]:
    """Return arrays of ``n`` elements: in order, nearly all equal, skewed, made to mislead samples, special numbers."""
    dtype = np.dtype(dtype)
    greatest = int(np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max)
    ramp = np.linspace(0, min(n - 1, greatest), n)
    noise = rng.random(n) if dtype.kind == "f" else rng.integers(0, greatest // 2, n)
    planted, hidden = noise.copy(), noise.copy()
    planted[::64] = greatest  # a sample at a stride finds these, or the others, alone
    hidden[n // 3 : n // 3 + 1 + n // 200] = greatest
    made = {
        "sorted": ramp,
        "reversed": ramp[::-1],
        "equal": np.full(n, 3),
        "two values": rng.integers(0, 2, n) * min(greatest, 1_000_000),
        "organ pipe": np.minimum(ramp, ramp[::-1]),
        "plateaus": np.minimum(ramp, ramp[::-1]) // 4,
        "often one": np.where(rng.random(n) < 0.6, noise[n // 2 : n // 2 + 1], noise),
        "skewed": np.floor(rng.exponential(1, n) ** 4).clip(0, min(greatest, 2**53)),
        "planted": planted,
        "hidden": hidden,
    }
    special = _floats(rng, n, dtype) if dtype.kind == "f" else _integers(rng, n, dtype)
    return {name: array.astype(dtype) for name, array in (made | special).items()}


def _floats(rng: np.random.Generator, n: int, dtype: np.dtype[Any]) -> dict[str, np.ndarray]:
    tiny = np.finfo(dtype).smallest_subnormal
    return {
        "NaN": np.where(rng.random(n) < 0.7, np.nan, rng.standard_normal(n)),
        "often zero": np.where(rng.random(n) < 0.9, 0, rng.standard_normal(n)),
        "nothing but NaN": np.full(n, np.nan),
        "zeros": np.where(rng.random(n) < 0.5, 0.0, -0.0),
        "denormals": rng.integers(-9, 9, n).astype(dtype) * tiny,
        "infinities": rng.choice([np.inf, -np.inf, 1, -1], n),
    }


def _integers(rng: np.random.Generator, n: int, dtype: np.dtype[Any]) -> dict[str, np.ndarray]:
    info, shift = np.iinfo(dtype), 8 * (dtype.itemsize - 1)
    extremes = np.array([info.min, info.max, info.min + 1, info.max - 1, 0], dtype)
    return {"extremes": rng.choice(extremes, n), "one digit": rng.integers(0, 128, n).astype(dtype) << shift}


def tricky_rows(rng: np.random.Generator, n: int, dtype: Any = "float32") -> np.ndarray:
    """Return rows of ``n`` elements, each of which is hard in another way."""
    return np.stack([*tricky(rng, n, dtype).values()])
