"""The call of reduce that ``gpuprims tune`` measures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.reduce import reduce


def exact(x: np.ndarray, add: Callable[..., np.ndarray]) -> np.ndarray:
    """Apply a sum of NumPy, to floats in float64; the result has the dtype that NumPy gives."""
    if x.dtype.kind != "f":
        return np.asarray(add(x))
    return np.asarray(add(x, dtype=np.float64).astype(x.dtype))


CASE = TuningCase("reduce", small_integers, reduce, lambda x: (x,), lambda x: exact(x, np.sum), into=False)
