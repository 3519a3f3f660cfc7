"""Fits along a path of penalties: each starts from the weights of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from gpuprims.models.logreg import proximal
from gpuprims.models.logreg.curvature import Curvature
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.penalties import solver_of, strengths_of
from gpuprims.models.logreg.progress import Monitor, Settings
from gpuprims.models.logreg.samples import Samples


class LogRegPath(NamedTuple):
    """Fits by increasing or decreasing ``Cs``, as given: an entry of each array for each of them.

    ``coef`` has the shape (n_cs, 1, n_features) or (n_cs, n_classes, n_features), ``intercept`` (n_cs, 1) or
    (n_cs, n_classes). ``dual_gap`` is NaN without a penalty on magnitudes. ``loss`` is the objective, and ``dual_gap``
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

    Second derivatives of one fit serve the next ones too, for as long as their steps converge fast.
    """
    outputs, features = 1 if len(model.classes_) == 2 else len(model.classes_), samples.features.shape[1]
    curvature, flat = None, start
    found: dict[float, tuple[Any, ...]] = {}
    for C in sorted(set(map(float, Cs))):
        strengths = strengths_of(model.penalty, l1_ratio, C, samples.total)
        solver = solver_of(model, strengths, classes=len(model.classes_), features=features)
        objective = Objective(samples, outputs, strengths.l2, fit_intercept=bool(model.fit_intercept))
        flat = np.zeros(objective.size) if flat is None else flat
        with tqdm(disable=True) as bar:
            monitor = Monitor(objective, flat, bar, None, None, 0.0)
            own = settings._replace(l1=strengths.l1)
            if solver is proximal.newton_cd:
                curvature = curvature or Curvature(objective)
                reason = proximal.newton_cd(objective, flat, own, monitor, curvature)
            else:
                reason = solver(objective, flat, own, monitor)
        flat = monitor.weights
        loss = monitor.records[-1][0] if monitor.records else np.nan
        gap = monitor.dual_gap if strengths.l1 > 0 else np.nan
        found[C] = (*objective.split(flat), loss, gap, monitor.n_iter, reason)
    columns = zip(*(found[float(C)] for C in Cs), strict=True)
    coef, intercept, *others = (np.array(column) for column in columns)
    dtype = samples.dtype
    return LogRegPath(np.asarray(Cs, np.float64), coef.astype(dtype), intercept.astype(dtype), *others)
