"""Fits along a path of penalties, side by side or each from the weights of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.determinism import refuse_levels
from gpuprims.models.logreg import lbfgs_side_by_side, proximal
from gpuprims.models.logreg.curvature import Curvature
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.one_launch import KEPT, MOST_PRODUCTS, fits_a_group
from gpuprims.models.logreg.penalties import solver_of, strengths_of
from gpuprims.models.logreg.progress import Monitor, Settings, bar_of
from gpuprims.models.logreg.samples import Samples
from gpuprims.models.logreg.shared import SharedRows, product_of
from gpuprims.primitives.newton import ENDS, logistic_newton

# Products of a problem's second derivatives up to which one group fits it (measurements.md, folds side by side).
SIDE_BY_SIDE = 2**24
# Fewest penalties that are fitted side by side.
_FEWEST = 2


class LogRegPath(NamedTuple):
    """The fits of a path. Each array has an entry for each of ``Cs``, in the given order.

    ``coef`` has the shape (n_cs, 1, n_features) or (n_cs, n_classes, n_features), ``intercept`` (n_cs, 1) or
    (n_cs, n_classes). ``dual_gap`` is NaN without an L1 penalty. ``loss`` is the objective, and ``dual_gap``
    its distance from the minimum at most, per unit of sample weight.
    """

    Cs: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    loss: np.ndarray
    dual_gap: np.ndarray
    n_iter: np.ndarray
    stop_reason: np.ndarray


def fit_path(
    model: Any, samples: Samples, Cs: Sequence[float], l1_ratio: float, settings: Settings, start: Any = None
) -> LogRegPath:
    """Fit a model's objective for each of some ``Cs``, from the strongest penalty to the weakest.

    Two classes without an L1 penalty are fitted side by side. Fits that this does not finish, and all others,
    start from the fit before. They use its Hessian for as long as their steps converge fast.
    """
    refuse_levels(type(model).__name__, "fits of several penalties", instead="a fit for each C")
    outputs, features = 1 if len(model.classes_) == 2 else len(model.classes_), samples.features.shape[1]
    known = _side_by_side(model, samples, sorted(set(map(float, Cs))), l1_ratio, settings)
    curvature, flat = None, start
    found: dict[float, tuple[Any, ...]] = {}
    for C in sorted(set(map(float, Cs))):
        strengths = strengths_of(model.penalty, l1_ratio, C, samples.total)
        solver = solver_of(model, strengths, classes=len(model.classes_), features=features)
        objective = Objective(samples, outputs, strengths.l2, fit_intercept=bool(model.fit_intercept))
        flat = np.zeros(objective.size) if flat is None else flat
        own, before = settings._replace(l1=strengths.l1), 0
        if C in known:
            flat, loss, before, reason = known[C]
            if reason is not None:
                found[C] = (*objective.split(flat), loss, np.nan, before, reason)
                continue
            own = own._replace(max_iter=max(settings.max_iter - before, 1))
        with bar_of(settings.max_iter, shown=False) as bar:
            monitor = Monitor(objective, flat, bar, None, None, 0.0)
            if solver is proximal.newton_cd:
                curvature = curvature or Curvature(objective)
                reason = proximal.newton_cd(objective, flat, own, monitor, curvature)
            else:
                reason = solver(objective, flat, own, monitor)
        flat = monitor.weights
        loss = monitor.records[-1][0] if monitor.records else np.nan
        gap = monitor.dual_gap if strengths.l1 > 0 else np.nan
        found[C] = (*objective.split(flat), loss, gap, before + monitor.n_iter, reason)
    columns = zip(*(found[float(C)] for C in Cs), strict=True)
    coef, intercept, *others = (np.array(column) for column in columns)
    dtype = samples.dtype
    return LogRegPath(np.asarray(Cs, np.float64), coef.astype(dtype), intercept.astype(dtype), *others)


# Weights, the objective per unit of sample weight, iterations, and why a fit ended; None if it has not.
_Known = tuple[np.ndarray, float, int, str | None]


def _side_by_side(
    model: Any, samples: Samples, Cs: list[float], l1_ratio: float, settings: Settings
) -> dict[float, _Known]:
    """Return fits of two classes by ``C``; an empty dictionary if another method is faster."""
    smooth = all(strengths_of(model.penalty, l1_ratio, C, samples.total).l1 == 0 for C in Cs)
    if len(Cs) < _FEWEST or len(model.classes_) > 2 or model.solver != "auto" or not smooth:
        return {}
    factors = [strengths_of(model.penalty, l1_ratio, C, samples.total).l2 for C in Cs]
    penalties = np.array(factors)
    shares = product_of(samples) is not None
    if fits_a_group(samples, intercept=bool(model.fit_intercept), most=MOST_PRODUCTS if shares else SIDE_BY_SIDE):
        return dict(zip(Cs, _in_one_launch(model, samples, penalties, settings), strict=True))
    if not shares:
        return {}
    found: dict[float, _Known] = {}
    rows = SharedRows(samples, fit_intercept=bool(model.fit_intercept))
    for first in range(0, len(Cs), lbfgs_side_by_side.MOST_TOGETHER):
        some = slice(first, first + lbfgs_side_by_side.MOST_TOGETHER)
        totals = np.full(len(Cs[some]), samples.total)
        fits = lbfgs_side_by_side.minimise(rows, totals, penalties[some], _by_gradient(settings.tol), settings.max_iter)
        reasons = ["tolerance" if ended else None for ended in fits.ended]
        found |= dict(zip(Cs[some], zip(fits.flat, fits.values, fits.n_iter, reasons, strict=True), strict=True))
    return found


def _by_gradient(tol: float) -> lbfgs_side_by_side.Ends:
    """Return the end of L-BFGS: no component of the gradient is larger than ``tol``."""
    return lambda values, gradients, decreases: np.abs(gradients).max(axis=1) <= tol


def _in_one_launch(model: Any, samples: Samples, penalties: np.ndarray, settings: Settings) -> list[_Known]:
    """Fit few samples, each ``C`` by one work-group."""
    with np.errstate(divide="ignore"):
        Cs = 1 / (penalties * samples.total)
    found = logistic_newton(
        samples.features.dense, samples.codes, Cs, sample_weight=samples.sample_weight,
        fit_intercept=bool(model.fit_intercept), tol=settings.tol, max_iter=settings.max_iter, device=samples.device,
    )  # fmt: skip
    flat, losses, ends = map(samples.device.to_host, found)
    reasons = [ENDS[end] if ENDS[end] in KEPT else None for end in ends[:, 0]]
    given = flat[:, 0].astype(np.float64), losses / samples.total, ends[:, 1].astype(int), reasons
    return list(zip(*given, strict=True))
