"""The call of newton that ``gpuprims.testing`` checks: one feature and an intercept of two groups of equal samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.tuning_case import TuningCase, small_integers
from gpuprims.primitives.newton import logistic_newton
from gpuprims.primitives.rows import beside


def _counts(x: Any) -> int:
    return 1 + int(np.prod(x.shape)) % 7


def _arguments(x: Any) -> tuple[Any, ...]:
    """Return samples of one feature, 0 and 1, with known shares of class 1 at each."""
    group = 8 * _counts(x)
    feature = np.repeat([0, 1], group)[:, None]
    high, low = (np.arange(group) < share * group for share in (0.75, 0.25))
    labels = np.concatenate([low, high])[None].repeat(3, axis=0)
    shared = np.broadcast_to(feature, (3, *feature.shape)).astype(x.dtype)
    return (*beside(x, np.ascontiguousarray(shared), labels.astype(x.dtype))[1:], np.inf)


def _fitted(x: np.ndarray) -> np.ndarray:
    group = 8 * _counts(x)
    error = np.sqrt(1 / (group * 0.25 * 0.75))
    known = [[2 * np.log(3), -np.log(3)], [error * np.sqrt(2), error]]
    return np.array([known] * 3)


CASE = TuningCase(
    "newton",
    small_integers,
    logistic_newton,
    _arguments,
    _fitted,
    into=False,
    dtypes=("float32", "float64"),
    rtol=1e-5,
)
