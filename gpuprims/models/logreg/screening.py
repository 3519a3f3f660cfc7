"""Fits of many features with an L1 penalty, most of whose coefficients are zero.

Sources: R. Tibshirani, J. Bien, J. Friedman et al., "Strong rules for discarding predictors in lasso-type problems",
2012, for features that the gradient of the fit before names; T. B. Johnson, C. Guestrin, "Blitz: a principled
meta-algorithm for scaling sparse optimization", 2015, for sets of them that grow.
"""

from __future__ import annotations

import numpy as np

from gpuprims.models.logreg.gap_ends import end_by_gap, end_by_rounding, gap_that_ends, magnitudes, of_rounded
from gpuprims.models.logreg.newton import solve_in_two_precisions
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings, bar_of
from gpuprims.models.logreg.proximal import MOST_OF_HESSIAN, fista, newton_cd

# A set grows by this many features at a time, or to twice its size. If more than _MOST_ASKING times the largest set
# of features ask for a coefficient at once, most of them will get one, and "fista" is faster.
_FEWEST, _MOST_ASKING = 64, 4
# Features ask for a coefficient if their slope is beyond the penalty; those near it may do so next.
_NEAR = 0.9
# The fit of a set ends at the first share of the gap that ends the whole fit, or at the second one of the present gap
# if that is larger.
_FINAL_SHARE, _NEXT_SHARE = 0.3, 0.1


def screened(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Fit sets of features, and add the ones that the gradient of all features names, until the gap is small."""
    return solve_in_two_precisions(_screened, of_rounded(_screened, objective), objective, start, settings, monitor)


def _screened(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    weights, before, unit = start, monitor.n_iter, gap_that_ends(objective, settings._replace(tol=1.0))
    smooth, gradient = objective.loss_gradient(weights)
    value, finest, final = smooth + settings.l1 * magnitudes(objective, weights), _FINAL_SHARE * settings.tol, False
    chosen, gap = np.zeros(objective.features, bool), unit
    monitor.weights = weights
    while (left := settings.max_iter - (monitor.n_iter - before)) > 0:
        more = _chosen(objective, weights, gradient, settings.l1, chosen)
        if more is None:
            return fista(objective, weights, settings._replace(max_iter=left), monitor)
        if final and np.array_equal(more, chosen):  # no feature is missing, and their fit came as close as it could
            return end_by_rounding(monitor, value)
        tol = max(finest, _NEXT_SHARE * gap / unit)
        chosen, final = more, tol == finest
        weights, count = _fit_set(objective, weights, chosen, settings._replace(tol=tol, max_iter=left))
        smooth, gradient = objective.loss_gradient(weights)
        value = smooth + settings.l1 * magnitudes(objective, weights)
        stopped = monitor.record(value, weights, max(count, 1))
        if (reason := end_by_gap(objective, settings, monitor, value, gradient) or stopped) is not None:
            return stopped or reason
        gap = min(monitor.dual_gap, unit)
    return end_by_gap(objective, settings, monitor, value, gradient) or "max_iter"


def _chosen(
    objective: Objective, weights: np.ndarray, gradient: np.ndarray, l1: float, before: np.ndarray
) -> np.ndarray | None:
    """Return a mask of features: those of the set before, those with coefficients, and those that ask for one.

    None if there are too many for a Hessian. Sets have few sizes, as kernels are compiled for a number of features.
    """
    most = max(MOST_OF_HESSIAN // objective.outputs, 1)
    coefficients, slopes = (objective.split(one)[0] for one in (weights, gradient))
    found: np.ndarray = before | np.any(coefficients != 0, axis=0)
    largest = np.where(found, 0.0, np.abs(slopes).max(axis=0))
    asking = np.flatnonzero(largest > l1)
    if len(asking) > _MOST_ASKING * most:
        return None
    if len(asking):  # then also some that are near
        limit = max(min(_FEWEST, most), int(found.sum()))
        near = np.argsort(-largest)[:limit]
        found[near[largest[near] > _NEAR * l1]] = True
    size = int(found.sum())
    if size > most:
        return None
    while most // 2 >= max(size, _FEWEST):
        most //= 2
    others = np.argsort(np.where(found, np.inf, -largest))[: most - size]
    found[others] = True
    return found


def _fit_set(
    objective: Objective, weights: np.ndarray, chosen: np.ndarray, settings: Settings
) -> tuple[np.ndarray, int]:
    """Fit some of the features from the given weights; return weights of all features, and the iterations."""
    places = np.flatnonzero(chosen)
    coefficients, intercepts = objective.split(weights)
    part, start = objective.columns(places), objective.join(coefficients[:, places], intercepts)
    with bar_of(settings.max_iter, shown=False) as bar:
        monitor = Monitor(part, start, bar, None, None, 0.0)
        newton_cd(part, start, settings, monitor)
    found = np.zeros_like(coefficients)
    found[:, places], intercepts = part.split(monitor.weights)
    return objective.join(found, intercepts), monitor.n_iter
