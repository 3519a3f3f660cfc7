"""What tests of LogReg share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import gpuprims
from gpuprims.models import LogReg

Data = tuple[np.ndarray, np.ndarray]
ALL_SOLVERS = pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky", "gd", "minibatch", "sgd", "hogwild"])


def fit(device: Any, X: Any, y: Any, *, sample_weight: Any = None, **parameters: Any) -> LogReg:
    """Fit a model without its convergence warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogReg(device, **parameters).fit(X, y, sample_weight=sample_weight)


def need_float64(device: gpuprims.Device) -> None:
    if not device.capabilities.fp64:
        pytest.skip("the device has no float64")
