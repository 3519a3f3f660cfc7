"""Fits of LogReg: samples, objective, solver, and the fitted attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from gpuprims.errors import ArgumentError, quoted
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.checks import OwnErrors, unchanged_if_refused
from gpuprims.models.logreg import descent
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.paths import LogRegPath, fit_path
from gpuprims.models.logreg.penalties import solver_of, strengths_of
from gpuprims.models.logreg.progress import Monitor, Settings, bar_of
from gpuprims.models.logreg.samples import Samples, samples_of
from gpuprims.models.logreg.tf32 import beginning_in_tf32, refuse_tf32


def fit(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a model; see :meth:`LogReg.fit`."""
    before = (model.coef_, model.intercept_) if model.warm_start and hasattr(model, "coef_") else None
    with unchanged_if_refused(model):
        samples, held_out = samples_of(model, X, y, sample_weight), None
        if model.target_error is not None:
            held_out = _held_out(model, samples)
            samples = samples.with_zero_weight(held_out)  # they stay in place
        strengths = strengths_of(model.penalty, model.l1_ratio, model.C, samples.total)
        solver = solver_of(model, strengths, classes=len(model.classes_), features=samples.features.shape[1])
        if model.tf32:
            solver = beginning_in_tf32(model, samples, solver)
        objective = _objective(model, samples, strengths.l2)
        start = _start(objective, before)
    error = None if held_out is None else _validation_error(objective, held_out)
    with bar_of(model.max_iter, shown=bool(model.verbose)) as bar:
        monitor = Monitor(objective, start, bar, model.callback, error, model.target_error)
        try:
            reason = solver(objective, start, _settings(model)._replace(l1=strengths.l1), monitor)
        except KeyboardInterrupt:
            store(model, objective, monitor.weights, monitor.records, monitor.errors, "interrupted")
            raise
    store(model, objective, monitor.weights, monitor.records, monitor.errors, reason)
    if strengths.l1 > 0:
        model.dual_gap_ = monitor.dual_gap


def path(model: Any, X: Any, y: Any, Cs: Any, sample_weight: Any) -> LogRegPath:
    """Fit a path of penalties; see :meth:`LogReg.path`."""
    refuse_tf32(model, "path")
    with OwnErrors("LogReg.path", "Cs= a sequence of numbers above 0"):
        given = np.asarray(Cs, np.float64)
    if given.ndim != 1 or not given.size or not np.all(given > 0):
        raise ArgumentError(f"LogReg.path: Cs= a sequence of numbers above 0; got {quoted(Cs)}")
    with unchanged_if_refused(model):
        samples = samples_of(model, X, y, sample_weight)
    return fit_path(model, samples, given.tolist(), model.l1_ratio, _settings(model))


def _start(objective: Objective, before: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
    """Return the flat weights to start from: zeros, or the coefficients and intercepts of the fit before."""
    if before is None:
        return np.zeros(objective.size)
    earlier, shape = before[0].shape, (objective.outputs, objective.features)
    if earlier != shape:
        rule = f"weights of shape {earlier}, as in the fit before, with warm_start=True"
        raise ArgumentError(f"LogReg: {rule}; got other classes or features, of shape {shape} (use warm_start=False)")
    return objective.join(*before)


def descends_by_batches(model: Any) -> bool:
    """Return True if mini-batches can fit the model; raise ArgumentError for an L1 penalty."""
    if strengths_of(model.penalty, model.l1_ratio, model.C, 1.0).l1 > 0:
        raise ArgumentError("LogReg.partial_fit: l1_ratio=0; got an L1 penalty (use fit)")
    return True


def partial_fit(model: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> bool:
    """Run one epoch of mini-batches; see :meth:`LogReg.partial_fit`. Return False if it diverged."""
    refuse_tf32(model, "partial_fit")
    if model.class_weight == "balanced":
        rule = "class_weight= None or a dict, as a call does not see all samples"
        raise ArgumentError(f"LogReg.partial_fit: {rule}; got 'balanced' (use sklearn's compute_class_weight)")
    first = not hasattr(model, "coef_")
    with unchanged_if_refused(model):
        _check_classes(model, classes, first=first)
        samples = samples_of(model, X, y, sample_weight, reset=first, classes=model.classes_)
    strengths = strengths_of(model.penalty, model.l1_ratio, model.C, samples.total)
    objective = _objective(model, samples, strengths.l2)
    flat, records, epochs = np.zeros(objective.size), [], 0
    if not first:
        flat, epochs = objective.join(model.coef_, model.intercept_), model.n_iter_
        records = list(zip(model.loss_curve_, model.loss_iterations_, strict=True))
    epoch = descent.minibatch_epoch(objective, _settings(model))
    flat = objective.to_host(epoch(objective.to_device(flat), epochs))
    if not np.isfinite(flat).all():
        return False
    records.append((objective.loss_gradient(flat)[0], epochs + 1))
    store(model, objective, flat, records, [], "max_iter")
    return True


def _held_out(model: Any, samples: Samples) -> np.ndarray:
    """Return the rows of the validation samples."""
    codes, random = samples.device.to_host(samples.codes), check_random_state(model.random_state)
    how = {"test_size": model.validation_fraction, "random_state": random, "stratify": codes}
    with OwnErrors("LogReg"):
        _, held_out = train_test_split(np.arange(samples.size), **how)
    return np.asarray(held_out)


def _validation_error(objective: Objective, held_out: np.ndarray) -> Callable[[np.ndarray], float]:
    """Return a function from flat weights to the share of wrong predictions on the validation samples."""
    codes = objective.device.to_host(objective.samples.codes)[held_out]

    def error(flat: np.ndarray) -> float:
        scores = objective.device.to_host(objective.scores(objective.to_device(flat)))[held_out]
        return float(np.mean((scores[:, 0] > 0 if objective.outputs == 1 else scores.argmax(axis=1)) != codes))

    return error


def _check_classes(model: Any, classes: Any, *, first: bool) -> None:
    """Set the classes in the first partial fit; check later ones against them."""
    label = "LogReg.partial_fit"
    refuse_masked(f"{label}: classes=", classes)
    if first and classes is None:
        raise ArgumentError(f"{label}: classes= in the first call; got none")
    given = model.classes_ if classes is None else np.unique(np.asarray(classes))
    if not first and not np.array_equal(given, model.classes_):
        raise ArgumentError(f"{label}: the same classes= as in the first call, {model.classes_}; got {given}")
    if len(given) < 2:
        raise ArgumentError(f"{label}: at least two classes=; got {given}")
    if first:
        model.classes_ = given


def _settings(model: Any) -> Settings:
    rate = None if isinstance(model.learning_rate, str) else float(model.learning_rate)
    random = check_random_state(model.random_state)
    return Settings(int(model.max_iter), float(model.tol), rate, int(model.batch_size), random, model.variant)


def _objective(model: Any, samples: Samples, l2: float) -> Objective:
    outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
    return Objective(samples, outputs, l2, fit_intercept=bool(model.fit_intercept))


def store(
    model: Any, objective: Objective, flat: np.ndarray, records: list[tuple[float, int]], errors: Any, reason: str
) -> None:
    """Set the fitted attributes; ``records`` are losses and their iterations."""
    model.coef_, model.intercept_ = (np.array(part, objective.dtype) for part in objective.split(flat))
    model.loss_curve_ = [loss for loss, _ in records]
    model.loss_iterations_ = [iteration for _, iteration in records]
    model.n_iter_ = records[-1][1] if records else 0
    model.validation_errors_, model.stop_reason_ = errors, reason
