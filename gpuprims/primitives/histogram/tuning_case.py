"""The call of histogram that ``gpuprims tune`` measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase
from gpuprims.primitives.histogram import histogram

_BINS, _MANY_BINS = 256, 2**17


def _elements(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    if dtype.kind == "f":
        return rng.random(size, np.float32).astype(dtype)
    return rng.integers(0, 127, size, np.uint8, endpoint=True).astype(dtype)


def _range(x: Any) -> tuple[int, int]:
    return (0, 1) if x.dtype.kind == "f" else (0, _BINS)


def _case(call: Callable[[Any], tuple[Any, ...]], further: Mapping[str, TuningCase]) -> TuningCase:
    return TuningCase(
        "histogram", _elements, histogram, call, lambda x: np.histogram(*call(x))[0], into=False, further=further
    )


CASE = _case(lambda x: (x, _BINS, _range(x)), {"many bins": _case(lambda x: (x, _MANY_BINS, (0, 1)), {})})
