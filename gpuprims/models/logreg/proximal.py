"""Fits with an L1 penalty: proximal Newton by coordinate descent, and accelerated proximal gradient."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from gpuprims.models.logreg.curvature import Curvature
from gpuprims.models.logreg.gap import share_beyond
from gpuprims.models.logreg.gap_ends import end_by_gap, end_by_rounding, gap_that_ends, magnitudes, of_rounded
from gpuprims.models.logreg.newton import Standardised, solve_in_two_precisions
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings

# Most coefficients of a Hessian on the host (measurements.md, hessian or gradient).
MOST_OF_HESSIAN = 256
# The gap is computed once a step promises less than so many times the gap that ends the fit.
_NEAR = 10
# It is not computed if it is expected to be so many times the gap that ends the fit.
_TOO_LARGE = 1.5
# The steepest fall of the mean entropy of two classes by the share: the maximum of ``q * log((1 - q) / q)``.
_STEEPEST = 0.2785
# A Hessian is used again while each step promises at most this share of the decrease before.
_SLOW = 0.1
# Quadratic models are minimised up to this share of the gap that ends a fit.
_MODEL_SHARE = 1e-3
# Share of the expected decrease that a step must reach (Armijo's condition), and how often a step is halved.
_SUFFICIENT, _HALVINGS = 1e-4, 30
# Roundings by which a computed objective may differ from the exact one with millions of rows.
_ROUNDINGS = 16
# Iterations of accelerated gradients between two computations of the gap.
_GAP_EVERY = 10
# Consecutive computations of the gap between which the objective may fall by less than its rounding error.
_IDLE_CHECKS = 3
# Factor of the largest curvature, which power iteration estimates from below.
_ABOVE = 1.05


def newton_cd(
    objective: Objective,
    start: np.ndarray,
    settings: Settings,
    monitor: Monitor,
    curvature: Curvature | None = None,
) -> str:
    """Minimise quadratic models by coordinate descent on the host; their Hessians come from the device.

    Source: J. D. Lee, Y. Sun, M. A. Saunders, "Proximal Newton-type methods for minimizing composite functions", 2014.
    A Hessian of some rows serves for several steps, as long as these converge fast, and that of ``curvature`` for
    several fits.
    """
    solver = partial(_newton_cd, curvature=curvature or Curvature(objective))
    return solve_in_two_precisions(solver, of_rounded(solver, objective), objective, start, settings, monitor)


def fista(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Minimise by accelerated proximal gradients in standardised coordinates.

    Sources: A. Beck, M. Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear inverse problems",
    2009; B. O'Donoghue, E. Candes, "Adaptive restart for accelerated gradient schemes", 2015.
    """
    return solve_in_two_precisions(_fista, of_rounded(_fista, objective), objective, start, settings, monitor)


def _gap_ends(
    objective: Objective,
    curvature: Curvature,
    settings: Settings,
    monitor: Monitor,
    value: float,
    gradient: np.ndarray,
) -> bool:
    """Return True if the gap is small enough; do not compute one that is expected to be too large.

    A gap reads the samples, and half of the gaps of a path would fail. Along it, a gap is nearly the same multiple of
    the share that scaling takes from the dual point.
    """
    simple = objective.outputs == 1 and objective.penalty == 0
    share = share_beyond(objective, monitor.weights, settings.l1, gradient) if simple else 0.0
    if curvature.gap_of_share * share > _TOO_LARGE * gap_that_ends(objective, settings):
        return False
    reason = end_by_gap(objective, settings, monitor, value, gradient)
    curvature.gap_of_share = min(monitor.dual_gap / share, _STEEPEST) if share else 0.0
    return reason is not None


# Proximal Newton -----------------------------------------------------------------------------------------------------


def _newton_cd(
    objective: Objective,
    start: np.ndarray,
    settings: Settings,
    monitor: Monitor,
    curvature: Curvature,
) -> str:
    curvature.fresh = False
    l1, weights, before = settings.l1, start, np.inf
    smooth, gradient = curvature.loss_gradient(objective, weights)
    value = smooth + l1 * magnitudes(objective, weights)
    ends, rounding = gap_that_ends(objective, settings), _ROUNDINGS * float(np.finfo(objective.dtype).eps)

    for _ in range(settings.max_iter):
        step, decrease = _step(objective, curvature, settings, weights, gradient, before)
        moved = _line_search(objective, curvature, weights, step, value, decrease, l1)
        hidden = decrease <= rounding * abs(value) and decrease > _SLOW * before
        if moved is None or hidden:
            if not hidden and curvature.use_more_rows():
                curvature.update(objective, weights)
                continue
            monitor.weights = weights
            return end_by_gap(objective, settings, monitor, value, gradient) or end_by_rounding(monitor, value)
        weights, value, gradient = moved
        if curvature.fresh and decrease > _SLOW * before:
            curvature.use_more_rows()
        before, curvature.fresh = decrease, False
        if reason := monitor.record(value, weights):
            end_by_gap(objective, settings, monitor, value, gradient)
            return reason
        if decrease <= _NEAR * ends and _gap_ends(objective, curvature, settings, monitor, value, gradient):
            return "tolerance"
    return end_by_gap(objective, settings, monitor, value, gradient) or "max_iter"


def _step(
    objective: Objective,
    curvature: Curvature,
    settings: Settings,
    weights: np.ndarray,
    gradient: np.ndarray,
    before: float,
) -> tuple[np.ndarray, float]:
    """Return a step and the decrease that it promises; compute a new Hessian if the last one makes slow progress.

    ``before`` is the decrease that the step before promised, infinity for the first one.
    """
    if curvature.cheap and not np.isfinite(before):
        curvature.update(objective, weights)
    step, decrease = _step_of_model(objective, curvature, settings, weights, gradient)
    if decrease > _SLOW * before and not curvature.fresh:
        curvature.update(objective, weights)
        step, decrease = _step_of_model(objective, curvature, settings, weights, gradient)
    return step, decrease


def _step_of_model(
    objective: Objective, curvature: Curvature, settings: Settings, weights: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the step to the minimum of the quadratic model, and the decrease that the model promises."""
    tolerance = _MODEL_SHARE * gap_that_ends(objective, settings)
    target = curvature.target(objective, weights, gradient, settings.l1, tolerance)
    grown = magnitudes(objective, target) - magnitudes(objective, weights)
    return target - weights, -float(gradient @ (target - weights)) - settings.l1 * grown


def _line_search(
    objective: Objective,
    curvature: Curvature,
    weights: np.ndarray,
    step: np.ndarray,
    value: float,
    decrease: float,
    l1: float,
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Halve the step until the objective falls, up to rounding; return weights, objective, smooth gradient, or None."""
    rounding = _ROUNDINGS * float(np.finfo(objective.dtype).eps) * abs(value)
    for halvings in range(_HALVINGS):
        part = 0.5**halvings
        moved = weights + part * step
        smooth, gradient = curvature.loss_gradient(objective, moved)
        found = smooth + l1 * magnitudes(objective, moved)
        if found <= value - _SUFFICIENT * part * decrease + (0.0 if halvings else rounding):
            return moved, found, gradient
    return None


# Accelerated proximal gradient ---------------------------------------------------------------------------------------


@dataclass
class _Descent:
    """The state of accelerated proximal gradients, in standardised coordinates."""

    point: np.ndarray
    ahead: np.ndarray
    momentum: float = 1.0

    def run(self, inner: Standardised, metric: np.ndarray, l1: np.ndarray, count: int) -> None:
        """Run some iterations; each starts anew if its step goes against the last one."""
        for _ in range(count):
            _, gradient = inner.loss_gradient(self.ahead)
            moved = self.ahead - gradient / metric
            moved = np.sign(moved) * np.maximum(np.abs(moved) - l1 / metric, 0)
            forward = moved - self.point
            if (metric * (self.ahead - moved)) @ forward > 0:
                self.momentum, self.ahead = 1.0, moved
            else:
                after = (1 + np.sqrt(1 + 4 * self.momentum**2)) / 2
                self.ahead = moved + (self.momentum - 1) / after * forward
                self.momentum = float(after)
            self.point = moved


def _fista(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    inner, idle, rounding = Standardised(objective), 0, float(np.finfo(objective.dtype).eps)
    metric, l1 = _metric(objective, inner), settings.l1 * inner.from_slopes(objective.penalised)
    smooth, gradient = objective.loss_gradient(start)
    smallest = smooth + settings.l1 * magnitudes(objective, start)
    best, point = start, inner.from_weights(start)
    state = _Descent(point, point)
    for done in range(0, settings.max_iter, _GAP_EVERY):
        count = min(_GAP_EVERY, settings.max_iter - done)
        state.run(inner, metric, l1, count)
        weights = inner.to_weights(state.point)
        smooth, slopes = objective.loss_gradient(weights)
        value = smooth + settings.l1 * magnitudes(objective, weights)
        idle = 0 if value < smallest - rounding * abs(smallest) else idle + 1
        if not value <= smallest + 16 * rounding * abs(smallest):  # the curvature is larger than it was found to be
            metric, idle = 2 * metric, 0
            point = inner.from_weights(best)
            state = _Descent(point, point)
        else:
            smallest, best, gradient = value, weights, slopes
        if reason := monitor.record(smallest, best, count):
            end_by_gap(objective, settings, monitor, smallest, gradient)
            return reason
        if end_by_gap(objective, settings, monitor, smallest, gradient):
            return "tolerance"
        if idle == _IDLE_CHECKS:
            return end_by_rounding(monitor, smallest)
    return "max_iter"


def _metric(objective: Objective, inner: Standardised) -> np.ndarray:
    """Return a bound of the second derivatives, for steps that descend in all coordinates at once."""
    one = Objective(objective.samples, 1, 0, fit_intercept=objective.fit_intercept)
    curvature = _ABOVE * objective.max_curvature(Standardised(one)) / objective.samples.total
    return curvature + objective.penalty * inner.from_slopes(objective.penalised) ** 2
