"""The calls of searchsorted that ``gpuprims.testing`` checks."""

from dataclasses import replace
from functools import partial

import numpy as np

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.rows import beside
from gpuprims.primitives.searchsorted import searchsorted
from gpuprims.primitives.searchsorted.isin import isin


def _sorted(keys: np.ndarray) -> np.ndarray:
    """Return a sorted array beside keys; some keys are in it, some several times."""
    found = np.random.default_rng(keys.size).integers(0, 100, 2 * keys.size + 3)
    return np.sort(found.astype(keys.dtype))


def _beside(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keys, elements = beside(keys, _sorted(keys))
    return elements, keys


_LEFT = TuningCase(
    "searchsorted",
    small_integers,
    searchsorted,
    _beside,
    lambda keys: np.searchsorted(_sorted(keys), keys),
    into=False,
)
_RIGHT = replace(
    _LEFT,
    function=partial(searchsorted, side="right"),
    expected=lambda keys: np.searchsorted(_sorted(keys), keys, "right"),
)


def _among(x: np.ndarray) -> np.ndarray:
    return np.random.default_rng(x.size).integers(0, 100, 1 + x.size // 4).astype(x.dtype)


_MEMBERS = replace(
    _LEFT,
    function=partial(isin, kind="sort"),
    arguments=lambda x: beside(x, _among(x)),
    expected=lambda x: np.isin(x, _among(x)),
)
CASE = replace(_LEFT, further={"right": _RIGHT, "isin": _MEMBERS})
