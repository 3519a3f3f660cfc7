"""Fits that begin with products in TF32, on the tensor cores of NVIDIA's GPUs, and end in float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.determinism import refuse_levels
from gpuprims.errors import ArgumentError
from gpuprims.models.features import DenseFeatures
from gpuprims.models.logreg import device_lbfgs
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings, Solver
from gpuprims.models.logreg.samples import Samples

# Solvers whose time goes to products of matrices.
_SOLVERS = ("auto", "lbfgs", "newton-cholesky")
# Gradient per sample below which rounding to 11 bits changes more than the weights do.
_ROUGH_TOLERANCE = 1e-3


class Tf32Features(DenseFeatures):
    """Dense float32 features whose products with matrices round both to TF32, which has 11 bits."""

    rough = True

    def _product(self, beside: Any) -> Callable[[Any, Any], Any] | None:
        found: Callable[[Any, Any], Any] = self.device.driver.matmul_tf32  # type: ignore[attr-defined]  # checked before
        return found if beside.dtype == self.array.dtype else None


def beginning_in_tf32(model: Any, samples: Samples, solver: Solver) -> Solver:
    """Return a solver that minimises by products in TF32, and then goes on in float32 from there.

    The result is that of float32: the second part has its stopping rule, and ends at the same optimum.
    """
    _check(model, samples)
    minimise = device_lbfgs.lbfgs if model.solver == "auto" else solver

    def solve(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
        features: Any = objective.samples.features  # dense ones, see above
        rough = objective.of(replace(objective.samples, features=Tf32Features(features.device, features.array)))
        reason = minimise(rough, start, settings._replace(tol=max(settings.tol, _ROUGH_TOLERANCE)), monitor)
        if reason not in ("tolerance", "rounding", "stalled"):
            return reason
        if (left := settings.max_iter - monitor.n_iter) < 1:
            return "max_iter"
        return minimise(objective, monitor.weights, settings._replace(max_iter=left), monitor)

    return solve


def refuse_tf32(model: Any, method: str) -> None:
    """Raise ArgumentError if a model asks for TF32 where a method has none."""
    if model.tf32:
        raise ArgumentError(f"LogReg.{method}: tf32=False; got True (fit has products in TF32)")


def _check(model: Any, samples: Samples) -> None:
    """Raise ArgumentError for a fit that has no products in TF32."""
    refuse_levels("LogReg", "fits that begin in TF32", instead="tf32=False")
    device, classes = samples.device, len(model.classes_)
    if getattr(device.driver, "matmul_tf32", None) is None:
        raise ArgumentError(f"LogReg: tf32=False on a device without tensor cores or cuBLAS; got True on {device.spec}")
    if type(samples.features) is not DenseFeatures or model.feature_dtype is not None or samples.dtype != np.float32:
        raise ArgumentError("LogReg: dense float32 samples with tf32=True, and no feature_dtype; got others")
    if model.solver not in _SOLVERS or (classes == 2 and model.solver != "newton-cholesky") or model.l1_ratio > 0:
        rule = 'more than two classes, or solver="newton-cholesky", and no L1 penalty with tf32=True'
        got = f"got {classes} classes, solver={model.solver!r} and l1_ratio={model.l1_ratio}"
        raise ArgumentError(f"LogReg: {rule}; {got} (others have no products of matrices)")
