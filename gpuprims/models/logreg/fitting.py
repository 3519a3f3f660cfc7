"""Fits of LogReg: samples, objective, solver, and the fitted attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.logreg.descent import Minibatches
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings
from gpuprims.models.logreg.samples import Samples, samples_of
from gpuprims.models.logreg.solvers import SAMPLE_SOLVERS, SOLVERS


def fit(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a model; see :meth:`LogReg.fit`."""
    before = (model.coef_, model.intercept_) if model.warm_start and hasattr(model, "coef_") else None
    samples, held_out = _training_samples(model, X, y, sample_weight)
    _check_solver(model)
    objective = _objective(model, samples)
    start = np.zeros(objective.size)
    if before is not None and before[0].shape == (objective.outputs, objective.features):
        start = objective.join(*before)
    with _progress_bar(model) as bar:
        error = None if held_out is None else _validation_error(objective, held_out)
        monitor = Monitor(objective.split, start, bar, model.callback, error, model.target_error)
        try:
            reason = SOLVERS[model.solver](objective, start, _settings(model), monitor)
        except KeyboardInterrupt:
            _store(model, objective, monitor, "interrupted")
            raise
    _store(model, objective, monitor, reason)


def partial_fit(model: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> bool:
    """Run one epoch of mini-batches; see :meth:`LogReg.partial_fit`. Return False if it diverged."""
    first = not hasattr(model, "coef_")
    _check_classes(model, classes, first=first)
    device = model._given_device()
    objective = _objective(model, samples_of(model, X, y, sample_weight, device, reset=first, classes=model.classes_))
    flat = np.zeros(objective.size) if first else objective.join(model.coef_, model.intercept_)
    epochs = 0 if first else model.n_iter_
    batches = Minibatches(objective, _settings(model))
    flat = objective.to_host(batches.epoch(objective.to_device(flat), epochs))
    if not np.isfinite(flat).all():
        return False
    loss = objective.loss_gradient(flat)[0]
    _store_weights(model, objective, flat)
    model.n_iter_, model.stop_reason_ = epochs + 1, "max_iter"
    model.loss_curve_ = [*([] if first else model.loss_curve_), loss]
    model.loss_iterations_ = [*([] if first else model.loss_iterations_), model.n_iter_]
    model.validation_errors_ = []
    return True


def _training_samples(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Samples, np.ndarray | None]:
    """Return all samples and the rows of the validation samples, which stay in place with zero weight."""
    samples = samples_of(model, X, y, sample_weight, model._given_device())
    if model.target_error is None:
        return samples, None
    _, held_out = train_test_split(
        np.arange(samples.size),
        test_size=model.validation_fraction,
        random_state=check_random_state(model.random_state),
        stratify=samples.device.to_host(samples.codes),
    )
    return samples.with_zero_weight(held_out), held_out


def _check_solver(model: Any) -> None:
    """Raise ValueError for a solver that cannot fit these classes or features."""
    if model.solver not in SAMPLE_SOLVERS:
        return
    others = ", ".join(repr(name) for name in SOLVERS if name not in SAMPLE_SOLVERS)
    if len(model.classes_) > 2:
        raise ValueError(f"LogReg: two classes with solver={model.solver!r}; got {len(model.classes_)} (use {others})")
    if model.feature_dtype is not None:
        got = f"got {model.feature_dtype!r} (use {others})"
        raise ValueError(f"LogReg: feature_dtype=None with solver={model.solver!r}; {got}")


def _check_classes(model: Any, classes: Any, *, first: bool) -> None:
    """Set the classes in the first partial fit; check later ones against them."""
    label = "LogReg.partial_fit"
    refuse_masked(f"{label}: classes=", classes)
    if classes is None:
        if first:
            raise ValueError(f"{label}: classes= in the first call; got none")
        return
    given = np.unique(np.asarray(classes))
    if not first:
        if not np.array_equal(given, model.classes_):
            raise ValueError(f"{label}: the same classes= as in the first call, {model.classes_}; got {given}")
        return
    if len(given) < 2:
        raise ValueError(f"{label}: at least two classes=; got {given}")
    model.classes_ = given


def _validation_error(objective: Objective, held_out: np.ndarray) -> Callable[[np.ndarray], float]:
    """Return a function from flat weights to the share of wrong predictions on the validation samples."""
    codes = objective.device.to_host(objective.samples.codes)[held_out]

    def error(flat: np.ndarray) -> float:
        scores = objective.device.to_host(objective.scores(objective.to_device(flat)))[held_out]
        return float(np.mean((scores[:, 0] > 0 if objective.outputs == 1 else scores.argmax(axis=1)) != codes))

    return error


def _settings(model: Any) -> Settings:
    rate = None if isinstance(model.learning_rate, str) else float(model.learning_rate)
    random = check_random_state(model.random_state)
    return Settings(int(model.max_iter), float(model.tol), rate, int(model.batch_size), random)


def _objective(model: Any, samples: Samples) -> Objective:
    outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
    penalty = 1 / (float(model.C) * samples.total)
    return Objective(samples, outputs, penalty, fit_intercept=bool(model.fit_intercept))


def _store(model: Any, objective: Objective, monitor: Monitor, reason: str) -> None:
    """Set the fitted attributes from the last iteration."""
    _store_weights(model, objective, monitor.weights)
    model.loss_curve_ = [loss for loss, _ in monitor.records]
    model.loss_iterations_ = [iteration for _, iteration in monitor.records]
    model.validation_errors_ = monitor.errors
    model.n_iter_, model.stop_reason_ = monitor.n_iter, reason


def _store_weights(model: Any, objective: Objective, flat: np.ndarray) -> None:
    model.coef_, model.intercept_ = (np.array(part, objective.dtype) for part in objective.split(flat))


def _progress_bar(model: Any) -> Any:
    from tqdm import tqdm

    return tqdm(total=model.max_iter, desc="LogReg", unit="it", disable=not model.verbose)
