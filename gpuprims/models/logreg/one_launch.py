"""Fits of few samples by Newton's method: two classes in one launch, more classes by NumPy beside a CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.models.logreg import device_lbfgs, newton
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings
from gpuprims.models.logreg.samples import Samples
from gpuprims.primitives.newton import ENDS, able_to_fit, logistic_newton

# Most products of two numbers of a row in a pass over the samples (measurements.md, one launch).
MOST_PRODUCTS = 1 << 20
# The same of all weights of several classes, where L-BFGS takes up to seven times as long if the features are not
# standardised, and no less than 0.7 times else (measurements.md, few weights).
_MOST_OF_CLASSES = 1 << 19
# Stop reasons that a fit keeps. After others, such as "rounding", L-BFGS fits instead, which can continue in float64.
KEPT = ("tolerance", "max_iter")


def newton_or_lbfgs(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Fit two classes of few dense samples in one launch of ``logistic_newton``, and others by L-BFGS.

    Fits with a callback, a progress bar or validation, and fits from nonzero weights, are by L-BFGS too. NumPy runs
    Newton's method for several classes of few samples with few weights, in float64.
    """
    intercept, products = bool(objective.fit_intercept), objective.samples.size * objective.size**2
    if objective.outputs > 1 and objective.has_few_weights and products <= _MOST_OF_CLASSES:
        wide = _in_float64(objective)
        reason = newton.newton_cholesky(wide, start, settings, monitor)
        return newton.reason_after_rounding(reason, wide, objective.dtype, monitor)
    small = objective.outputs == 1 and fits_a_group(objective.samples, intercept=intercept, most=MOST_PRODUCTS)
    if small and not monitor.watched and not start.any():
        reason = _fit_at_once(objective, settings, monitor)
        if reason in KEPT:
            return reason
    return device_lbfgs.lbfgs(objective, start, settings, monitor)


def fits_a_group(samples: Samples, *, intercept: bool, most: int) -> bool:
    """Return True if a group is able to fit samples of two classes, and has at most so many products for its sums."""
    n, k = samples.features.shape
    if samples.features.dense is None or n * (k + intercept) ** 2 > most:
        return False
    return able_to_fit(samples.device, samples.dtype, n, k + intercept)


def _in_float64(objective: Objective) -> Objective:
    """Return the objective of few samples in float64, with a copy of the features: NumPy computes it in equal time."""
    if objective.dtype == np.float64:
        return objective
    features: Any = objective.samples.features
    wide = type(features)(objective.device, features.dense.astype(np.float64))
    return objective.of(replace(objective.samples.as_float64(), features=wide))


def _fit_at_once(objective: Objective, settings: Settings, monitor: Monitor) -> str:
    """Return why the fit ended; record its loss and weights if they are kept."""
    samples = objective.samples
    C = 1 / (objective.penalty * samples.total) if objective.penalty > 0 else np.inf
    found = logistic_newton(
        samples.features.dense, samples.codes, C, sample_weight=samples.sample_weight,
        fit_intercept=objective.fit_intercept, tol=settings.tol, max_iter=settings.max_iter, device=objective.device,
    )  # fmt: skip
    weights, losses, ends = map(objective.device.to_host, found)
    reason = ENDS[ends[0, 0]]
    if reason in KEPT:
        monitor.record(float(losses[0]) / samples.total, weights[0, 0].astype(np.float64), int(ends[0, 1]))
    return reason
