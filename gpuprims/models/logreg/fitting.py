"""Fits of LogReg: samples, objective, solver, and the fitted attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from gpuprims.errors import ArgumentError
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.logreg import descent, newton
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings, Solver
from gpuprims.models.logreg.samples import Samples, samples_of

SOLVERS: dict[str, Solver] = {
    "lbfgs": newton.lbfgs,
    "newton-cholesky": newton.newton_cholesky,
    "gd": descent.gradient_descent,
    "minibatch": descent.minibatch,
    "sgd": descent.sgd,
    "hogwild": descent.hogwild,
}
# Solvers by single samples: for two classes and features in their own dtype.
_SAMPLE_SOLVERS = ("sgd", "hogwild")


def fit(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a model; see :meth:`LogReg.fit`."""
    from tqdm import tqdm

    before = (model.coef_, model.intercept_) if model.warm_start and hasattr(model, "coef_") else None
    samples, held_out = samples_of(model, X, y, sample_weight), None
    if model.target_error is not None:
        held_out = _held_out(model, samples)
        samples = samples.with_zero_weight(held_out)  # they stay in place
    _check_solver(model)
    objective = _objective(model, samples)
    start = np.zeros(objective.size)
    if before is not None and before[0].shape == (objective.outputs, objective.features):
        start = objective.join(*before)
    error = None if held_out is None else _validation_error(objective, held_out)
    with tqdm(total=model.max_iter, desc="LogReg", unit="it", disable=not model.verbose) as bar:
        monitor = Monitor(objective, start, bar, model.callback, error, model.target_error)
        try:
            reason = SOLVERS[model.solver](objective, start, _settings(model), monitor)
        except KeyboardInterrupt:
            _store(model, objective, monitor.weights, monitor.records, monitor.errors, "interrupted")
            raise
    _store(model, objective, monitor.weights, monitor.records, monitor.errors, reason)


def partial_fit(model: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> bool:
    """Run one epoch of mini-batches; see :meth:`LogReg.partial_fit`. Return False if it diverged."""
    first = not hasattr(model, "coef_")
    _check_classes(model, classes, first=first)
    objective = _objective(model, samples_of(model, X, y, sample_weight, reset=first, classes=model.classes_))
    flat, records, epochs = np.zeros(objective.size), [], 0
    if not first:
        flat, epochs = objective.join(model.coef_, model.intercept_), model.n_iter_
        records = list(zip(model.loss_curve_, model.loss_iterations_, strict=True))
    epoch = descent.minibatch_epoch(objective, _settings(model))
    flat = objective.to_host(epoch(objective.to_device(flat), epochs))
    if not np.isfinite(flat).all():
        return False
    records.append((objective.loss_gradient(flat)[0], epochs + 1))
    _store(model, objective, flat, records, [], "max_iter")
    return True


def _held_out(model: Any, samples: Samples) -> np.ndarray:
    """Return the rows of the validation samples."""
    codes, random = samples.device.to_host(samples.codes), check_random_state(model.random_state)
    how = {"test_size": model.validation_fraction, "random_state": random, "stratify": codes}
    _, held_out = train_test_split(np.arange(samples.size), **how)
    return np.asarray(held_out)


def _validation_error(objective: Objective, held_out: np.ndarray) -> Callable[[np.ndarray], float]:
    """Return a function from flat weights to the share of wrong predictions on the validation samples."""
    codes = objective.device.to_host(objective.samples.codes)[held_out]

    def error(flat: np.ndarray) -> float:
        scores = objective.device.to_host(objective.scores(objective.to_device(flat)))[held_out]
        return float(np.mean((scores[:, 0] > 0 if objective.outputs == 1 else scores.argmax(axis=1)) != codes))

    return error


def _check_solver(model: Any) -> None:
    """Raise ArgumentError for a solver that cannot fit these classes or features."""
    if model.solver not in _SAMPLE_SOLVERS:
        return
    others = ", ".join(repr(name) for name in SOLVERS if name not in _SAMPLE_SOLVERS)
    if len(model.classes_) > 2:
        raise ArgumentError(
            f"LogReg: two classes with solver={model.solver!r}; got {len(model.classes_)} (use {others})"
        )
    if model.feature_dtype is not None:
        got = f"got {model.feature_dtype!r} (use {others})"
        raise ArgumentError(f"LogReg: feature_dtype=None with solver={model.solver!r}; {got}")


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
    return Settings(int(model.max_iter), float(model.tol), rate, int(model.batch_size), random)


def _objective(model: Any, samples: Samples) -> Objective:
    outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
    penalty = 1 / (float(model.C) * samples.total)
    return Objective(samples, outputs, penalty, fit_intercept=bool(model.fit_intercept))


def _store(
    model: Any, objective: Objective, flat: np.ndarray, records: list[tuple[float, int]], errors: Any, reason: str
) -> None:
    """Set the fitted attributes; ``records`` are losses and their iterations."""
    model.coef_, model.intercept_ = (np.array(part, objective.dtype) for part in objective.split(flat))
    model.loss_curve_ = [loss for loss, _ in records]
    model.loss_iterations_ = [iteration for _, iteration in records]
    model.n_iter_ = records[-1][1] if records else 0
    model.validation_errors_, model.stop_reason_ = errors, reason
