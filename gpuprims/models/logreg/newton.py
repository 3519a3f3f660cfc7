"""L-BFGS and Newton's method; both continue in float64 where float32 rounding stops them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from gpuprims.models import host_algebra
from gpuprims.models.blas import one_thread
from gpuprims.models.logreg.few_rows import of_few_rows
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings, Solver

# A fit may end this far above the minimum without a warning, relative to the loss.
_RELATIVE_GAP = 1e-6
# Gradient with respect to standardised features at which L-BFGS stops. The loss is then within 1e-6 of the minimum,
# unless features are so correlated that its curvature in some direction is below 1e-6.
_STANDARDISED_TOLERANCE = 1e-6
# How often Newton's line search halves a step.
_HALVINGS = 30
# Consecutive iterations that may lower the loss by less than its rounding error.
_IDLE_ITERATIONS = 3
# Hessians are exact once the gradient is below this many times the tolerance, or after a step by some of the samples
# that leaves more than this share of the gradient (measurements.md, steps by some rows).
_NEAR, _SHRUNK = 30, 0.5
# Share of the expected decrease that a step must reach (Armijo's condition).
_SUFFICIENT = 1e-4


def lbfgs(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Minimise with SciPy's L-BFGS-B; if rounding stops it, continue in float64 and standardised coordinates.

    Source: D. C. Liu and J. Nocedal, "On the limited memory BFGS method for large scale optimization", 1989.
    """
    return solve_in_two_precisions(_lbfgs, lbfgs_standardised, objective, start, settings, monitor)


def newton_cholesky(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Minimise by Newton's method: the Hessian from the device, its Cholesky factors on the host.

    Source: M. A. Erdogdu and A. Montanari, "Convergence rates of sub-sampled Newton methods", 2015, for steps by the
    Hessians of some of many samples.
    """
    if objective.has_few_weights:
        with one_thread():
            return solve_in_two_precisions(_newton, _newton, objective, start, settings, monitor)
    return solve_in_two_precisions(_newton, _newton, objective, start, settings, monitor)


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
    remaining = settings._replace(max_iter=settings.max_iter - monitor.n_iter)
    reason = fine(wide, np.where(np.isfinite(monitor.weights), monitor.weights, 0), remaining, monitor)
    return reason_after_rounding(reason, wide, objective.dtype, monitor)


def reason_after_rounding(reason: str, wide: Objective, dtype: np.dtype[Any], monitor: Monitor) -> str:
    """Return why a fit in float64 ended, "stalled" if rounding its weights to the samples' dtype raises the loss."""
    if reason in ("tolerance", "rounding") and dtype != np.float64:
        rounded = monitor.weights.astype(dtype).astype(np.float64)
        before, after = (wide.loss_gradient(one)[0] for one in (monitor.weights, rounded))
        if not after <= before + _RELATIVE_GAP * abs(before):
            return "stalled"
    return reason


def rounding_or_stalled(value: float, expected_decrease: float) -> str:
    """Return "rounding" if the decrease that a quadratic model expects is negligible, else "stalled"."""
    return "rounding" if abs(expected_decrease) <= _RELATIVE_GAP * abs(value) else "stalled"


# L-BFGS --------------------------------------------------------------------------------------------------------------


def _lbfgs(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    found, reason = _minimise(objective.loss_gradient, start, settings, monitor, np.copy)
    return reason or ("tolerance" if np.abs(found.jac).max() <= settings.tol else "rounding")


def lbfgs_standardised(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Minimise with SciPy's L-BFGS-B in the coordinates of standardised features."""
    inner = Standardised(objective)
    finer = settings._replace(tol=min(settings.tol, _STANDARDISED_TOLERANCE))
    found, reason = _minimise(inner.loss_gradient, inner.from_weights(start), finer, monitor, inner.to_weights)
    if reason is not None:
        return reason
    if np.abs(objective.loss_gradient(monitor.weights)[1]).max() <= settings.tol:
        return "tolerance"
    return rounding_or_stalled(found.fun, float(found.jac @ (found.hess_inv @ found.jac)) / 2)


def _minimise(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    settings: Settings,
    monitor: Monitor,
    to_weights: Callable[[np.ndarray], np.ndarray],
) -> tuple[Any, str | None]:
    """Return SciPy's result and why it stopped early, or None; record the weights of each point."""
    stopped: list[str] = []

    def callback(intermediate_result: Any) -> None:
        if reason := monitor.record(float(intermediate_result.fun), to_weights(intermediate_result.x)):
            stopped.append(reason)
            raise StopIteration

    options = {"maxiter": settings.max_iter, "maxls": 50, "gtol": settings.tol, "ftol": 64 * np.finfo(float).eps}
    once = _Once(function)
    with one_thread():  # of some thousand weights
        found = optimize.minimize(
            once.value, start, method="L-BFGS-B", jac=once.gradient, callback=callback, options=options
        )
    monitor.weights = to_weights(found.x)
    if stopped:
        return found, stopped[0]
    return found, "max_iter" if found.status == 1 else None


class _Once:
    """A function and its gradient as two functions, computed once for a point that both are asked for.

    SciPy does the same for a function that returns both, in a third of the time of a small fit's iteration.
    """

    def __init__(self, function: Callable[[np.ndarray], tuple[float, np.ndarray]]) -> None:
        self._function, self._point = function, b""
        self._found: tuple[float, np.ndarray] = 0.0, np.empty(0)

    def value(self, point: np.ndarray) -> float:
        """Return the function's value."""
        return self._at(point)[0]

    def gradient(self, point: np.ndarray) -> np.ndarray:
        """Return the gradient."""
        return self._at(point)[1]

    def _at(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        key = point.tobytes()
        if key != self._point:
            self._point, self._found = key, self._function(point)
        return self._found


class Standardised:
    """An objective in float64, in the coordinates of standardised features.

    The function and its minimum are the same; only the variables differ. For features with mean ``m`` and deviation
    ``s``, the coefficients are ``v / s`` and the intercept is ``v0 - sum(m * coefficients)``. L-BFGS needs these
    coordinates for features far from zero (measurements.md, standardised).
    """

    def __init__(self, objective: Objective) -> None:
        mean, deviation = objective.mean_and_deviation()
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

    def from_slopes(self, slopes: np.ndarray) -> np.ndarray:
        """Divide the part of each coefficient by the deviation of its feature."""
        coefficients, intercepts = self._objective.split(slopes)
        return self._objective.join(coefficients / self._scale, intercepts)

    def loss_gradient(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient with respect to these coordinates."""
        value, gradient = self._objective.loss_gradient(self.to_weights(point))
        return value, self.inner_gradient(gradient)

    def inner_gradient(self, gradient: np.ndarray) -> np.ndarray:
        """Convert a gradient with respect to weights to one with respect to these coordinates."""
        slopes, of_intercepts = self._objective.split(gradient)
        inner = (slopes - np.outer(of_intercepts, self._mean)) / self._scale
        return self._objective.join(inner, of_intercepts)


# Newton's method -----------------------------------------------------------------------------------------------------


def _newton(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Take steps by Hessians of some of the samples while these shrink the gradient, and by exact ones at the end."""
    weights, few = start, of_few_rows(objective)
    value, gradient = objective.loss_gradient(weights)
    idle, rounding = 0, float(np.finfo(objective.dtype).eps)
    for _ in range(settings.max_iter):
        steepest = float(np.abs(gradient).max())
        if steepest <= settings.tol:
            return "tolerance"
        few = few if steepest > _NEAR * settings.tol else None
        moved, slope = _moved(objective, few or objective, weights, value, gradient)
        if few is not None and (moved is None or not np.abs(moved[2]).max() <= _SHRUNK * steepest):
            few = None
            if moved is None:
                moved, slope = _moved(objective, objective, weights, value, gradient)
        if moved is None or idle == _IDLE_ITERATIONS:
            return rounding_or_stalled(value, slope / 2)
        idle = 0 if moved[1] < value - rounding * abs(value) else idle + 1
        weights, value, gradient = moved
        if reason := monitor.record(value, weights):
            return reason
    return "tolerance" if np.abs(gradient).max() <= settings.tol else "max_iter"


def _moved(
    objective: Objective, curved: Objective, weights: np.ndarray, value: float, gradient: np.ndarray
) -> tuple[tuple[np.ndarray, float, np.ndarray] | None, float]:
    """Search along Newton's step by the Hessian of ``curved``; return what :func:`_line_search` does, and the slope."""
    step = -host_algebra.solved(curved.hessian(weights), gradient)
    slope = host_algebra.dot(gradient, step)
    return _line_search(objective, weights, step, value, slope), slope


def _line_search(
    objective: Objective, weights: np.ndarray, step: np.ndarray, value: float, slope: float
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Halve the step until the loss falls, up to rounding; return weights, loss and gradient, or None."""
    rounding = 16 * float(np.finfo(objective.dtype).eps) * abs(value)
    for halvings in range(_HALVINGS):
        part = 0.5**halvings
        moved = weights + part * step
        found, gradient = objective.loss_gradient(moved)
        if found <= value + _SUFFICIENT * part * slope + (0.0 if halvings else rounding):
            return moved, found, gradient
    return None
