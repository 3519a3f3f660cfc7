"""The stopping rules of fits with an L1 penalty: the duality gap, and rounding."""

from __future__ import annotations

import numpy as np

from gpuprims.models.logreg.gap import dual_gap
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings, Solver

# A fit that rounding stops may end this far above the minimum without a warning, relative to the objective.
_RELATIVE_GAP = 1e-6


def gap_that_ends(objective: Objective, settings: Settings) -> float:
    """Return the duality gap at which a fit ends: ``tol`` times the loss of a model without weights."""
    return settings.tol * float(np.log(max(objective.outputs, 2)))


def magnitudes(objective: Objective, flat: np.ndarray) -> float:
    """Return the sum of magnitudes of coefficients."""
    return float(np.abs(flat[objective.penalised]).sum())


def end_by_gap(
    objective: Objective, settings: Settings, monitor: Monitor, value: float, gradient: np.ndarray
) -> str | None:
    """Compute the gap at the monitor's weights and return "tolerance" if it is small enough, else None."""
    monitor.dual_gap = dual_gap(objective, monitor.weights, settings.l1, value, gradient)
    return "tolerance" if monitor.dual_gap <= gap_that_ends(objective, settings) else None


def end_by_rounding(monitor: Monitor, value: float) -> str:
    """Return "rounding" for a gap that is negligible, else "stalled"."""
    return "rounding" if monitor.dual_gap <= _RELATIVE_GAP * abs(value) else "stalled"


def of_rounded(solver: Solver, objective: Objective) -> Solver:
    """Return a solver in float64 that adds the loss of rounding its weights to the samples' dtype to the gap."""

    def solve(wide: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
        reason = solver(wide, start, settings, monitor)
        rounded = monitor.weights.astype(objective.dtype).astype(np.float64)
        if not np.array_equal(rounded, monitor.weights):
            after, before = (
                wide.loss_gradient(one)[0] + settings.l1 * magnitudes(wide, one) for one in (rounded, monitor.weights)
            )
            monitor.dual_gap += max(after - before, 0.0)
        return reason

    return solve
