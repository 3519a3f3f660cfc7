"""The calls of merge that ``gpuprims.testing`` checks."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase
from gpuprims.primitives.merge import merge
from gpuprims.primitives.rows import beside


def _sorted(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    return np.sort(rng.integers(0, 100, size).astype(dtype))


def _other(x: Any) -> np.ndarray:
    return _sorted(np.random.default_rng(x.size), x.dtype, x.size // 2 + 3)


_MERGE = TuningCase(
    "merge",
    _sorted,
    merge,
    lambda x: beside(x, _other(x)),
    lambda x: np.sort(np.concatenate([x, _other(x)])),
    into=False,
)
_FALLING = replace(
    _MERGE,
    elements=lambda rng, dtype, size: _sorted(rng, dtype, size)[::-1],
    function=partial(merge, descending=True),
    arguments=lambda x: beside(x, _other(x)[::-1]),
    expected=lambda x: np.sort(np.concatenate([x, _other(x)]))[::-1],
)
CASE = replace(_MERGE, further={"descending": _FALLING})
