"""The calls of gpuprims in each case."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import gpuprims
from gpuprims.core.determinism import Level
from gpuprims.models import LogReg
from gpuprims.primitives.descent import logistic_descent
from gpuprims.primitives.logistic import logistic_gradient

# The elements from 0 to 1 that compact keeps: about half of them.
KEPT = "x > 0.5"


def double(x: Any, **keywords: Any) -> Any:
    return gpuprims.map("2*x + 1", x, **keywords)


def scan(x: Any, segments: Any = None, **keywords: Any) -> Any:
    return gpuprims.scan(x, segments=segments, **keywords)


def segments(x: Any, offsets: Any, **keywords: Any) -> Any:
    return gpuprims.reduce(x, segments=offsets, **keywords)


def keep(x: Any, **keywords: Any) -> Any:
    return gpuprims.compact(x, KEPT, **keywords)


def ends(x: Any) -> tuple[int, int]:
    """Return the least and the greatest element of a case."""
    return (0, 256) if x.dtype == np.uint8 else (0, 1)


def histogram(x: Any, *, bins: Any, **keywords: Any) -> Any:
    return gpuprims.histogram(x, bins, ends(x), **keywords)[0]


def blur(x: Any, **keywords: Any) -> Any:
    return gpuprims.blur(x, channel_axis=-1 if x.ndim == 3 else None, **keywords)


def descend(X: Any, y: Any, weights: Any, **keywords: Any) -> Any:
    return logistic_descent(X, y, weights, **keywords)


def gradient(X: Any, y: Any, weights: Any, *, determinism: Level | None = None, **keywords: Any) -> Any:
    with gpuprims.use_determinism(determinism) if determinism else nullcontext():
        return logistic_gradient(X, y, weights, **keywords)


def descend_by_logreg(X: Any, y: Any, _: Any, *, rate: float, steps: int, device: Any = None) -> np.ndarray:
    """Run the same iterations through the estimator, without penalty and intercept."""
    how: dict[str, Any] = {"C": np.inf, "fit_intercept": False, "learning_rate": rate, "max_iter": steps, "tol": 0}
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # max_iter= ends the fit on purpose
        model = LogReg(device=device, solver="gd", **how).fit(X, y)
    return np.asarray(model.coef_[0])
