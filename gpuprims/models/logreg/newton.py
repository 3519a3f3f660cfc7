"""Newton's method: the Hessian from the device, its Cholesky factors on the host."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from gpuprims.models.logreg.conditioning import near_minimum, solve_in_two_precisions
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings

# How often the line search halves a step.
_HALVINGS = 30
# Consecutive iterations that may lower the loss by less than its rounding error.
_IDLE_ITERATIONS = 3
# Share of the expected decrease that a step must reach (Armijo's condition).
_SUFFICIENT = 1e-4


def newton_cholesky(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Minimise by Newton's method; if rounding stops it, continue in float64."""
    return solve_in_two_precisions(_newton, _newton, objective, start, settings, monitor)


def _newton(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    weights = start
    value, gradient = objective.loss_gradient(weights)
    idle, rounding = 0, float(np.finfo(objective.dtype).eps)
    for _ in range(settings.max_iter):
        if np.abs(gradient).max() <= settings.tol:
            return "tolerance"
        step = _newton_step(objective.hessian(weights), gradient)
        slope = float(gradient @ step)
        moved = _line_search(objective, weights, step, value, slope)
        if moved is None or idle == _IDLE_ITERATIONS:
            return "rounding" if near_minimum(value, slope / 2) else "stalled"
        idle = 0 if moved[1] < value - rounding * abs(value) else idle + 1
        weights, value, gradient = moved
        if reason := monitor.record(value, weights):
            return reason
    return "tolerance" if np.abs(gradient).max() <= settings.tol else "max_iter"


def _newton_step(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    try:
        step: np.ndarray = -linalg.cho_solve(linalg.cho_factor(hessian), gradient)
    except linalg.LinAlgError:  # linearly dependent features without a penalty
        step = -linalg.lstsq(hessian, gradient)[0]
    return step


def _line_search(
    objective: Objective, weights: np.ndarray, step: np.ndarray, value: float, slope: float
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Halve the step until the loss falls, up to rounding; return weights, loss and gradient, or None."""
    part = 1.0
    rounding = 16 * float(np.finfo(objective.dtype).eps) * abs(value)
    for _ in range(_HALVINGS):
        moved = weights + part * step
        found, gradient = objective.loss_gradient(moved)
        if found <= value + _SUFFICIENT * part * slope + (rounding if part == 1.0 else 0.0):
            return moved, found, gradient
        part /= 2
    return None
