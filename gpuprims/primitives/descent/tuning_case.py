"""The call of descent that ``gpuprims.testing`` checks: samples of one class, whose weights only grow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.primitives.descent import logistic_descent
from gpuprims.primitives.logistic.tuning_case import CASE as GRADIENT
from gpuprims.primitives.rows import beside

_START = np.linspace(0.1, 0.5, 5)
_STEPS, _DECAY = 3, 0.01


def _descend(X: Any, *arrays: Any, **how: Any) -> Any:
    return logistic_descent(X, *arrays, rate=1 / X.shape[0], steps=_STEPS, decay=_DECAY, **how)


def _descended(x: np.ndarray) -> np.ndarray:
    samples, weights = x.astype(np.float64), _START
    for _ in range(_STEPS):
        gradient = samples.T @ (1 / (1 + np.exp(-samples @ weights)) - 1)
        weights = weights - _DECAY * weights - gradient / len(samples)
    return weights.astype(x.dtype)


CASE = replace(
    GRADIENT,
    primitive="descent",
    function=_descend,
    arguments=lambda x: beside(x, np.ones(len(x), x.dtype), _START.astype(x.dtype)),
    expected=_descended,
    further={},
)
