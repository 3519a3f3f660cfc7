"""The calls of searchsorted that ``gpuprims.testing`` checks."""

import numpy as np

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.rows import beside
from gpuprims.primitives.searchsorted import searchsorted


def _sorted(keys: np.ndarray) -> np.ndarray:
    """Return a sorted array beside keys; some keys are in it, some several times."""
    found = np.random.default_rng(keys.size).integers(0, 100, 2 * keys.size + 3)
    return np.sort(found.astype(keys.dtype))


def _beside(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keys, elements = beside(keys, _sorted(keys))
    return elements, keys


CASE = TuningCase(
    "searchsorted",
    small_integers,
    searchsorted,
    _beside,
    lambda keys: np.searchsorted(_sorted(keys), keys),
    into=False,
)
