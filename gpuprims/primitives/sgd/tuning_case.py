"""The call of sgd that ``gpuprims.testing`` checks: a few samples, so that hogwild takes them by one worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase
from gpuprims.primitives.rows import beside
from gpuprims.primitives.sgd import logistic_sgd

_ROWS, _KEEP = 16, 0.99
_ORDER = np.tile(np.arange(_ROWS, dtype=np.int32)[::-1], 3)
# The rate of each stretch of the order, times the number of features.
_RATES = np.array([1, 0.5, 0.25])


def _samples(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    """Return positive features, so that the weights of a single class only grow."""
    return (rng.random((_ROWS, size // _ROWS + 1)) + 0.5).astype(dtype)


def _start(x: Any) -> np.ndarray:
    return np.full(x.shape[1], 1 / x.shape[1], x.dtype)


def _arguments(x: Any) -> tuple[Any, ...]:
    return beside(x, np.ones(_ROWS, x.dtype), _start(x), _ORDER)


def _stepped(x: np.ndarray) -> np.ndarray:
    weights = _start(x).astype(np.float64)
    for rate in _RATES / x.shape[1]:
        for sample in x.astype(np.float64)[_ORDER[:_ROWS]]:
            weights = _KEEP * weights - rate * (1 / (1 + np.exp(-sample @ weights)) - 1) * sample
    return weights.astype(x.dtype)


def case_of(primitive: str, function: Callable[..., Any]) -> TuningCase:
    """Return the case of a function that takes steps by single samples."""

    def step(X: Any, *arrays: Any, **how: Any) -> Any:
        return function(X, *arrays, rate=_RATES / X.shape[1], keep=_KEEP, **how)

    dtypes = ("float32", "float64")
    return TuningCase(primitive, _samples, step, _arguments, _stepped, into=False, dtypes=dtypes, rtol=1e-5)


CASE = case_of("sgd", logistic_sgd)
