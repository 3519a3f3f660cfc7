"""The call of histogram that ``gpuprims tune`` measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase
from gpuprims.primitives.histogram import histogram

_BINS = 256


def _elements(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    if dtype.kind == "f":
        return rng.random(size, np.float32).astype(dtype)
    return rng.integers(0, 127, size, np.uint8, endpoint=True).astype(dtype)


def _range(x: Any) -> tuple[int, int]:
    return (0, 1) if x.dtype.kind == "f" else (0, _BINS)


CASE = TuningCase(
    "histogram",
    _elements,
    histogram,
    lambda x: (x, _BINS, _range(x)),
    lambda x: np.histogram(x, _BINS, _range(x))[0],
    into=False,
)
