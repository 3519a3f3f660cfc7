"""Fits that continue in float64 where float32 rounding stops them, in the coordinates of standardised features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings

# A solver takes an objective, initial weights, settings and a monitor. It returns the reason why it stopped:
# "tolerance", "max_iter", "rounding", "stalled", "diverged", or the monitor's reason.
Solver = Callable[[Objective, np.ndarray, Settings, Monitor], str]
# A fit may end this far above the minimum without a warning, relative to the loss.
RELATIVE_GAP = 1e-6


class Standardised:
    """An objective in float64, in the coordinates of standardised features.

    The function and its minimum are the same; only the variables differ. For features with mean ``m`` and deviation
    ``s``, the coefficients are ``v / s`` and the intercept is ``v0 - sum(m * coefficients)``. L-BFGS needs these
    coordinates for features far from zero (measurements.md, standardised).
    """

    def __init__(self, objective: Objective) -> None:
        samples = objective.samples
        mean, deviation = samples.features.mean_and_deviation(samples.weights.reshape(-1, 1))
        self._objective = objective
        self._scale = np.where(deviation > 0, deviation, 1)
        self._mean = mean if objective.fit_intercept else np.zeros_like(mean)

    def to_weights(self, point: np.ndarray) -> np.ndarray:
        """Convert a point in these coordinates to weights."""
        scaled, constants = self._objective.split(point)
        coefficients = scaled / self._scale
        return self._objective.join(coefficients, constants - coefficients @ self._mean)

    def from_weights(self, weights: np.ndarray) -> np.ndarray:
        """Convert weights to a point in these coordinates."""
        coefficients, intercepts = self._objective.split(weights)
        return self._objective.join(coefficients * self._scale, intercepts + coefficients @ self._mean)

    def loss_gradient(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient with respect to these coordinates."""
        value, gradient = self._objective.loss_gradient(self.to_weights(point))
        slopes, of_intercepts = self._objective.split(gradient)
        inner = (slopes - np.outer(of_intercepts, self._mean)) / self._scale
        return value, self._objective.join(inner, of_intercepts)


def solve_in_two_precisions(
    coarse: Solver, fine: Solver, objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor
) -> str:
    """Minimise in the samples' dtype; if rounding stops that, continue in float64.

    The reason is "stalled" if the weights, rounded to the samples' dtype, may be far from the minimum.
    """
    reason = coarse(objective, start, settings, monitor)
    if reason not in ("rounding", "stalled"):
        return reason
    wide = objective.as_float64()
    if wide is None:
        return "stalled"
    if settings.max_iter <= monitor.n_iter:
        return "max_iter"
    remaining = replace(settings, max_iter=settings.max_iter - monitor.n_iter)
    reason = fine(wide, np.where(np.isfinite(monitor.weights), monitor.weights, 0), remaining, monitor)
    if reason in ("tolerance", "rounding") and not _survives_rounding(monitor.weights, wide, objective.dtype):
        return "stalled"
    return reason


def _survives_rounding(weights: np.ndarray, objective: Objective, dtype: np.dtype) -> bool:
    """Return True if rounding the weights to a dtype raises the loss by no more than RELATIVE_GAP."""
    before, after = (objective.loss_gradient(one)[0] for one in (weights, weights.astype(dtype).astype(np.float64)))
    return after <= before + RELATIVE_GAP * abs(before)


def near_minimum(value: float, expected_decrease: float) -> bool:
    """Return True if the decrease that a quadratic model expects is negligible; False for NaN."""
    return bool(abs(expected_decrease) <= RELATIVE_GAP * abs(value))
