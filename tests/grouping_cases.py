"""Elements with many that are equal, for tests of grouping."""

from __future__ import annotations

import numpy as np

DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
)
SIZES = (0, 1, 2, 3, 255, 1000, 40_003)


def repeated(rng: np.random.Generator, size: int, dtype: str, most: int = 40) -> np.ndarray:
    """Return elements among a few, with NaN and zeros of both signs among floats."""
    kind = np.dtype(dtype).kind
    low = 0 if kind in "bu" else -most
    elements = rng.integers(low, 2 if kind == "b" else most, size).astype(dtype)
    if kind == "f":
        elements[::7] = np.nan
        elements[1::5] = -0.0
    return elements
