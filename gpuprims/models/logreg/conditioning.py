"""Fits that go on in float64 where rounding ended them, in the coordinates of standardised features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Settings, Watch

# A solver takes an objective, starting weights, settings and a watch; it returns why it stopped: "tolerance",
# "max_iter", "rounding", "stalled", "diverged", or what the watch says.
Solver = Callable[[Objective, np.ndarray, Settings, Watch], str]
# A fit may end this far above the least loss without a warning, relative to the loss.
NEAR = 1e-6


class Standardised:
    """An objective in the coordinates of standardised features.

    The function and its minimum are the same; only the variables differ. For features of mean ``m`` and deviation
    ``s`` a coefficient is ``v / s``, and the intercept ``v0 - sum(m * coefficients)``. With 2,000 float64 samples of 8
    features around 10^4 with a deviation of 1, L-BFGS stops 14 % above the minimum after 65 iterations, and 10^-13
    above it after 8 in these coordinates (SciPy 1.17.1, 2026-11-22; scikit-learn stops 14 % above it too).

    Parameters
    ----------
    objective : Objective
        In float64.
    """

    def __init__(self, objective: Objective) -> None:
        samples = objective.samples
        mean, deviation = samples.features.spread(samples.weights.reshape(-1, 1))
        self._objective = objective
        self._scale = np.where(deviation > 0, deviation, 1)
        self._mean = mean if objective.fit_intercept else np.zeros_like(mean)

    def weights(self, there: np.ndarray) -> np.ndarray:
        """Return the weights that belong to a point in these coordinates."""
        values, constants = self._objective.split(there)
        coefficients = values / self._scale
        return self._objective.join(coefficients, constants - coefficients @ self._mean)

    def point(self, weights: np.ndarray) -> np.ndarray:
        """Return the point in these coordinates that belongs to weights."""
        coefficients, intercepts = self._objective.split(weights)
        return self._objective.join(coefficients * self._scale, intercepts + coefficients @ self._mean)

    def loss_gradient(self, there: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient with respect to these coordinates."""
        value, gradient = self._objective.loss_gradient(self.weights(there))
        slopes, of_intercepts = self._objective.split(gradient)
        inner = (slopes - np.outer(of_intercepts, self._mean)) / self._scale
        return value, self._objective.join(inner, of_intercepts)


def in_two_precisions(
    coarse: Solver, fine: Solver, objective: Objective, start: np.ndarray, settings: Settings, watch: Watch
) -> str:
    """Minimise in the samples' dtype; if rounding ends that, go on in float64.

    Returns
    -------
    str
        Why it stopped: "stalled" if the weights, rounded to the samples' dtype, may be far from the minimum.
    """
    reason = coarse(objective, start, settings, watch)
    if reason not in ("rounding", "stalled"):
        return reason
    wide = objective.widened()
    if wide is None:
        return "stalled"
    if settings.max_iter <= watch.done:
        return "max_iter"
    left = replace(settings, max_iter=settings.max_iter - watch.done)
    reason = fine(wide, np.where(np.isfinite(watch.weights), watch.weights, 0), left, watch)
    if reason in ("tolerance", "rounding") and not _survives(watch.weights, wide.loss_gradient, objective.dtype):
        return "stalled"
    return reason


def _survives(weights: np.ndarray, loss_gradient: Callable[..., tuple[float, np.ndarray]], kept: np.dtype) -> bool:
    """Return True if rounding the weights to a dtype does not raise the loss noticeably."""
    before, after = (loss_gradient(one)[0] for one in (weights, weights.astype(kept).astype(np.float64)))
    return after <= before + NEAR * abs(before)


def nearly_least(value: float, promised: float) -> bool:
    """Return True if the descent that a quadratic model promises is negligible; False for NaN."""
    return bool(abs(promised) <= NEAR * abs(value))
