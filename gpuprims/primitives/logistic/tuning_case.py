"""The calls of logistic that ``gpuprims.testing`` checks: a loss with two classes, a gradient with one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase
from gpuprims.primitives.logistic import logistic_gradient
from gpuprims.primitives.rows import beside

_FEATURES = 5
_WEIGHTS = np.linspace(-0.5, 0.75, _FEATURES)


def _samples(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    """Return positive features, so that sums of a gradient with one class do not cancel."""
    return (rng.random((size // _FEATURES + 1, _FEATURES)) + 0.5).astype(dtype)


def _labels(x: Any, classes: int) -> np.ndarray:
    return (1 - np.arange(x.shape[0]) % classes).astype(x.dtype)


def _arguments(x: Any, classes: int) -> tuple[Any, ...]:
    return beside(x, _labels(x, classes), _WEIGHTS.astype(x.dtype))


def _loss(x: np.ndarray) -> np.ndarray:
    scores = x.astype(np.float64) @ _WEIGHTS
    return np.asarray(np.sum(np.logaddexp(0, scores) - _labels(x, 2) * scores), x.dtype)


def _gradient(x: np.ndarray) -> np.ndarray:
    samples = x.astype(np.float64)
    return np.asarray(samples.T @ (1 / (1 + np.exp(-samples @ _WEIGHTS)) - 1), x.dtype)


def _bytes(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> np.ndarray:
    return rng.integers(-127, 128, (size // _FEATURES + 1, _FEATURES)).astype(dtype)


def _loss_of_bytes(x: np.ndarray) -> np.ndarray:
    scores = x.astype(np.float64) @ _WEIGHTS / 100
    return np.asarray(np.sum(np.logaddexp(0, scores) - _labels(x, 2) * scores), np.float32)


_LOSS = TuningCase(
    "logistic",
    _samples,
    logistic_gradient,
    lambda x: _arguments(x, 2),
    _loss,
    into=False,
    dtypes=("float32", "float64"),
    rtol=1e-5,
)
_GRADIENT = replace(
    _LOSS,
    function=lambda *arrays, **how: logistic_gradient(*arrays, **how)[1],
    arguments=lambda x: _arguments(x, 1),
    expected=_gradient,
)
_OF_BYTES = replace(
    _LOSS,
    elements=_bytes,
    arguments=lambda x: beside(x, _labels(x, 2).astype(np.float32), (_WEIGHTS / 100).astype(np.float32)),
    expected=_loss_of_bytes,
    dtypes=("int8",),
    rtol=1e-3,
)
CASE = replace(_LOSS, further={"gradient": _GRADIENT, "bytes": _OF_BYTES})
