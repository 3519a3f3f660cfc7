"""L-BFGS on the host; loss and gradient come from the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import optimize

from gpuprims.models.logreg.conditioning import Standardised, near_minimum, solve_in_two_precisions
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings

# Gradient with respect to standardised features at which L-BFGS stops. The loss is then within 1e-6 of the minimum,
# unless features are so correlated that its curvature in some direction is below 1e-6.
_STANDARDISED_TOLERANCE = 1e-6


def lbfgs(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Minimise with SciPy's L-BFGS-B; if rounding stops it, continue in float64 and standardised coordinates.

    Source: D. C. Liu and J. Nocedal, "On the limited memory BFGS method for large scale optimization", 1989.
    """
    return solve_in_two_precisions(_lbfgs, _lbfgs_standardised, objective, start, settings, monitor)


def _lbfgs(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    found, reason = _minimise(objective.loss_gradient, start, settings, monitor, np.copy)
    if reason is None:
        return "tolerance" if np.abs(found.jac).max() <= settings.tol else "rounding"
    return reason


def _lbfgs_standardised(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    inner = Standardised(objective)
    finer = replace(settings, tol=min(settings.tol, _STANDARDISED_TOLERANCE))
    found, reason = _minimise(inner.loss_gradient, inner.from_weights(start), finer, monitor, inner.to_weights)
    if reason is not None:
        return reason
    if np.abs(objective.loss_gradient(monitor.weights)[1]).max() <= settings.tol:
        return "tolerance"
    expected_decrease = float(found.jac @ (found.hess_inv @ found.jac)) / 2
    return "rounding" if near_minimum(found.fun, expected_decrease) else "stalled"


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
    found = optimize.minimize(function, start, method="L-BFGS-B", jac=True, callback=callback, options=options)
    monitor.weights = to_weights(found.x)
    if stopped:
        return found, stopped[0]
    return found, "max_iter" if found.status == 1 else None
