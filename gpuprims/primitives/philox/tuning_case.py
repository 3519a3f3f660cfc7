"""The call of random numbers that ``gpuprims.testing`` checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.philox import random
from gpuprims.primitives.philox.reference import philox
from gpuprims.primitives.rows import beside

_KEY, _STREAM = 11, 5


def _arguments(x: Any) -> tuple[Any, ...]:
    return beside(x, np.array([_KEY, _STREAM], np.uint64))[1], x.shape, "bits"


def _words(x: np.ndarray) -> np.ndarray:
    """Return two words of 32 bits for each element of an array."""
    blocks = np.arange(-(-x.size // 2))
    return philox((blocks, 0, _STREAM, 0), (_KEY, 0)).reshape(-1).view(np.uint64)[: x.size].reshape(x.shape)


CASE = TuningCase("philox", small_integers, random, _arguments, _words, into=False, dtypes=("uint32",))
