"""The calls of merge that ``gpuprims.testing`` checks."""

from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase
from gpuprims.primitives.merge import merge
from gpuprims.primitives.rows import beside


def _sorted(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    return np.sort(rng.integers(0, 100, size).astype(dtype))


def _other(x: Any) -> np.ndarray:
    return _sorted(np.random.default_rng(x.size), x.dtype, x.size // 2 + 3)


CASE = TuningCase(
    "merge",
    _sorted,
    merge,
    lambda x: beside(x, _other(x)),
    lambda x: np.sort(np.concatenate([x, _other(x)])),
    into=False,
)
