"""Fits of logistic regression of a fingerprint, by each solver that reaches the level."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpuprims.models import LogReg
from gpuprims.testing.fingerprints.data import Data

_SOLVERS = ("gd", "lbfgs", "newton-cholesky", "sgd")


def calls(data: Data) -> Iterator[tuple[str, Any]]:
    """Yield the names of solvers, and the weights and losses of their fits."""
    X = data.numbers((data.some(700, 40), data.some(11, 3)), key=33)
    y = (X[:, 0] + data.numbers(len(X), key=34) > 0).astype(np.int64)
    # A fit whose rate is given takes few kernels.
    how: dict[str, Any] = {"max_iter": 2, "learning_rate": 0.01} if data.small else {"max_iter": 6}
    for solver in ("gd", "sgd") if data.small else _SOLVERS:
        model = LogReg(data.device, solver=solver, random_state=0, **how)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few iterations do not converge
            model.fit(X, y)
        yield f"LogReg {solver}", (model.coef_, model.intercept_, np.array(model.loss_curve_))
