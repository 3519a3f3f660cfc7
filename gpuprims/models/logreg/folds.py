"""Cross-validation of paths. Folds share the samples on the device: rows to test have a weight of zero."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from gpuprims.errors import ArgumentError, quoted
from gpuprims.models.checks import OwnErrors
from gpuprims.models.logreg.one_launch import fits_a_group
from gpuprims.models.logreg.paths import SIDE_BY_SIDE, LogRegPath, fit_path
from gpuprims.models.logreg.progress import Settings
from gpuprims.models.logreg.samples import Samples
from gpuprims.models.logreg.softmax import scores_of
from gpuprims.primitives.newton import ENDS, logistic_newton


@dataclass(frozen=True)
class Fold:
    """Rows to train on, with repetitions, and rows to test on."""

    train: np.ndarray
    test: np.ndarray


def grid_of(model: Any) -> tuple[list[float], list[float]]:
    """Return the values of ``C`` and of ``l1_ratio`` that a model tries."""
    whole = isinstance(model.Cs, Integral)
    with OwnErrors("LogRegCV", "Cs= and l1_ratios= of numbers"):
        Cs = np.logspace(-4, 4, int(model.Cs)) if whole else np.asarray(model.Cs, np.float64)
        ratios = np.asarray(model.l1_ratios, np.float64)
    allowed = {"Cs": (Cs, Cs > 0, "above 0"), "l1_ratios": (ratios, (ratios >= 0) & (ratios <= 1), "from 0 to 1")}
    for name, (given, fits, rule) in allowed.items():
        if given.ndim != 1 or not given.size or not np.all(fits):
            raise ArgumentError(f"LogRegCV: {name}= numbers {rule}, one or more; got {quoted(getattr(model, name))}")
    return Cs.tolist(), ratios.tolist()


def fit_folds(
    model: Any, samples: Samples, folds: list[Fold], Cs: list[float], ratio: float, settings: Settings
) -> Any:
    """Return the path of each fold."""
    given = samples.device.to_host(samples.weights).astype(np.float64)
    weights = np.array([given * np.bincount(fold.train, minlength=samples.size) for fold in folds])
    _check_folds(model, samples, weights)
    small = len(model.classes_) == 2 and fits_a_group(samples, intercept=bool(model.fit_intercept), most=SIDE_BY_SIDE)
    if ratio == 0 and model.solver == "auto" and small:
        return _side_by_side(model, samples, weights, Cs, settings)
    return [fit_path(model, _weighted(samples, own), Cs, ratio, settings) for own in weights]


def _check_folds(model: Any, samples: Samples, weights: np.ndarray) -> None:
    """Raise ArgumentError for a fold that trains on one class."""
    codes = samples.device.to_host(samples.codes)
    for number, own in enumerate(weights):
        if len(found := np.unique(codes[own > 0])) < 2:
            got = f"got {model.classes_[found.astype(int)].tolist()} in fold {number}"
            raise ArgumentError(f"LogRegCV: folds that train on two classes or more; {got} (use cv=StratifiedKFold())")


def _weighted(samples: Samples, weights: np.ndarray) -> Samples:
    """Return the samples with other weights; features and labels are shared."""
    there = samples.features.home.asarray(np.ascontiguousarray(weights, samples.dtype))
    return replace(samples, sample_weight=there, total=float(weights.sum()))


def _side_by_side(
    model: Any, samples: Samples, weights: np.ndarray, Cs: list[float], settings: Settings
) -> list[LogRegPath]:
    """Fit all folds and penalties in one launch."""
    device, folds, k = samples.device, len(weights), samples.features.shape[1]
    every = np.repeat(np.ascontiguousarray(weights, samples.dtype), len(Cs), axis=0)
    found = logistic_newton(
        samples.features.dense, samples.codes, np.tile(Cs, folds), sample_weight=samples.features.home.asarray(every),
        fit_intercept=bool(model.fit_intercept), tol=settings.tol, max_iter=settings.max_iter, device=device,
    )  # fmt: skip
    flat, losses, ends = (device.to_host(one).reshape(folds, len(Cs), *one.shape[1:]) for one in found)
    totals = weights.sum(axis=1)
    coef = flat[:, :, :1, :k].astype(samples.dtype)
    intercept = flat[:, :, 0, k:].astype(samples.dtype) if model.fit_intercept else np.zeros_like(coef[..., 0])
    return [
        LogRegPath(np.asarray(Cs), coef[at], intercept[at], losses[at] / totals[at], np.full(len(Cs), np.nan),
             ends[at, :, 1].astype(int), np.array(ENDS)[ends[at, :, 0]])
        for at in range(folds)
    ]  # fmt: skip


# Scores --------------------------------------------------------------------------------------------------------------


class Scored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier of some samples whose scores are known, for scikit-learn's scorers."""

    def __init__(self, classes: np.ndarray, scores: np.ndarray) -> None:
        self.classes_, self._scores = classes, scores

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores, whatever the samples."""
        return self._scores[:, 0] if self._scores.shape[1] == 1 else self._scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class."""
        codes = (self._scores[:, 0] > 0).astype(int) if self._scores.shape[1] == 1 else self._scores.argmax(axis=1)
        found: np.ndarray = self.classes_[codes]
        return found

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class."""
        scores = self._scores.astype(np.float64)
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        found = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities: np.ndarray = found / found.sum(axis=1, keepdims=True)
        return probabilities


def scorer_of(scorer: Any, classes: np.ndarray) -> Any:
    """Return a scorer that knows all classes; a fold may lack some."""
    function = getattr(scorer, "_score_func", None)
    known = inspect.signature(function).parameters if function is not None else {}
    if "labels" not in known:
        return scorer
    more = {"labels": classes, **({"pos_label": classes[-1]} if "pos_label" in known and len(classes) == 2 else {})}
    found = copy(scorer)
    found._kwargs = {**more, **scorer._kwargs}
    return found


def scores_of_path(
    samples: Samples, labels: np.ndarray, classes: np.ndarray, path: LogRegPath, rows: np.ndarray, X: Any, scorer: Any,
    params: Mapping[str, Any],
) -> np.ndarray:  # fmt: skip
    """Return the score of each fit of a path on some rows."""
    device, found = samples.device, []
    for coef, intercept in zip(path.coef, path.intercept, strict=True):
        weights = (samples.features.home.asarray(np.ascontiguousarray(one)) for one in (coef, intercept))
        scores = device.to_host(scores_of(samples.features, *weights))[rows]
        found.append(float(scorer(Scored(classes, scores), X, labels[rows], **params)))
    return np.array(found)
