"""Loss against time: how far each solver of LogReg is above the minimum, from the start of its fit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.models import LogReg

from .elements import Samples
from .fit_calls import objective

_COLUMNS = 100
_ROWS = {"cpu": 20_000, "gpu": 1_000_000}
# Solvers with the most iterations or epochs of a fit. One sample after the other takes long with a million rows.
_SOLVERS = {"lbfgs": 100, "newton-cholesky": 20, "gd": 2000, "minibatch": 10, "sgd": 5, "hogwild": 5}
_ITERATIONS = (1, 2, 3, 5, 8, 13, 21, 34)
_LEAST = 1e-9  # closer objectives differ by rounding

Points = list[dict[str, Any]]


def loss_against_time(device: gpuprims.Device) -> Points:
    """Return seconds and relative distance from the minimum after each iteration, for each solver and scikit-learn."""
    rows = _ROWS["cpu" if device.capabilities.kind == "cpu" else "gpu"]
    X, y, _ = Samples(_COLUMNS).host(rows)
    model = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X.astype(np.float64), y)
    best = objective(X, y, np.append(model.coef_[0], model.intercept_))
    there = [device.asarray(one) for one in (X, y)]
    points = [
        {"solver": solver, "rows": rows, "seconds": seconds, "excess": max(loss / best - 1, _LEAST)}
        for solver, most in _SOLVERS.items()
        for seconds, loss in _ours(there, solver, most)
    ]
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # few iterations end fits on purpose
        points += [{"solver": "scikit-learn", "rows": rows, **one} for one in _sklearns(X, y, best)]
    return points


def _ours(there: list[Any], solver: str, most: int) -> Iterator[tuple[float, float]]:
    """Yield seconds and objective after each iteration of the third fit.

    The first one compiles, and the second one too: `bincount` takes another kernel once it knows what to expect.
    """
    for _ in range(3):
        seen: list[tuple[float, float]] = []
        start = time.perf_counter()

        def note(progress: Any, start: float = start, seen: list[tuple[float, float]] = seen) -> None:
            seen.append((time.perf_counter() - start, float(progress.loss)))

        model = LogReg(solver=solver, max_iter=most, tol=1e-7, random_state=0, callback=note)
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            model.fit(*there)
    yield from seen


def _sklearns(X: np.ndarray, y: np.ndarray, best: float) -> Iterator[dict[str, float]]:
    """Yield the same of scikit-learn's lbfgs, from fits of more and more iterations: it has no callback."""
    for most in _ITERATIONS:
        start = time.perf_counter()
        model = LogisticRegression(max_iter=most, tol=1e-7).fit(X, y)
        seconds = time.perf_counter() - start
        loss = objective(X, y, np.append(model.coef_[0], model.intercept_))
        yield {"seconds": seconds, "excess": max(loss / best - 1, _LEAST)}
