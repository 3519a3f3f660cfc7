"""Gradient descent with a fixed step, by all samples, by mini-batches or by single samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.plans import plan
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError, UnknownVariantError, did_you_mean, quoted
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings
from gpuprims.primitives.descent import able_to_descend, descend
from gpuprims.primitives.hogwild import logistic_hogwild
from gpuprims.primitives.logistic.plan import columns_for
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.sgd import logistic_sgd

# Iterations between two checks of the loss, at most: a check takes as long as some hundred iterations of small data.
_MAX_STEPS = 16384
# The update of weights w with decay d and gradient g.
_UPDATE = "w - (w*d + rate*g)"
# Mini-batches whose curvature sets an automatic learning rate.
_SAMPLED_BATCHES = 8
# If a step's share of the penalty is below this many roundings, the penalty is applied once an epoch, as rounding
# would distort the share.
_COARSE = 256


def gradient_descent(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Descend along the gradient of all samples; check the loss after 1, 2, 4, ... iterations.

    Source: the iteration of the OpenCL article on logistic regression by gradient ascent,
    ``weights += rate * X.T @ (labels - sigmoid(X @ weights))``, plus the penalty's gradient.
    """
    penalty = objective.penalty * objective.samples.total
    rate = settings.learning_rate
    if rate is None:
        rate = 1 / (objective.max_curvature() + penalty)
    steps = _steps(objective, rate, rate * penalty, settings.variant)
    weights = objective.to_device(start)
    done = 0
    while done < settings.max_iter:
        count = min(max(done, 1), _MAX_STEPS, settings.max_iter - done)
        weights = steps(weights, count)
        done += count
        if reason := _check(objective, weights, settings, monitor, count):
            return reason
    return "max_iter"


def minibatch(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Descend along the gradients of mini-batches, in a new random order each epoch.

    A step is that of :func:`gradient_descent` for one batch, with its share of the penalty. An automatic rate is
    divided by the square root of the epoch.

    Source: H. Robbins and S. Monro, "A Stochastic Approximation Method", 1951; L. Bottou, "Online Learning and
    Stochastic Approximations", 1998.
    """
    return _run_epochs(minibatch_epoch(objective, settings), objective, start, settings, monitor)


def sgd(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Descend along the gradients of single samples, one after the other, in a new random order each epoch.

    Source: see :func:`minibatch`; an epoch is one call of :func:`gpuprims.primitives.sgd.logistic_sgd`.
    """
    epoch = _sample_epoch(partial(logistic_sgd, variant=settings.variant), objective, settings)
    return _run_epochs(epoch, objective, start, settings, monitor)


def hogwild(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Descend as :func:`sgd` does, by several samples at a time whose updates are added without locks.

    Source: F. Niu, B. Recht, C. Re and S. Wright, "HOGWILD!: A Lock-Free Approach to Parallelizing Stochastic Gradient
    Descent", 2011.
    """
    epoch = _sample_epoch(partial(logistic_hogwild, variant=settings.variant), objective, settings)
    return _run_epochs(epoch, objective, start, settings, monitor)


def _check(objective: Objective, weights: Any, settings: Settings, monitor: Monitor, count: int = 1) -> str | None:
    """Record device weights after ``count`` iterations; return the reason to stop, or None."""
    flat = objective.to_host(weights)
    if not np.isfinite(flat).all():
        return "diverged"
    value, gradient = objective.value_gradient(*objective.loss(weights), flat)
    if not np.isfinite(value):
        return "diverged"
    if reason := monitor.record(value, flat, count):
        return reason
    return "tolerance" if np.abs(gradient).max() <= settings.tol else None


# All samples ---------------------------------------------------------------------------------------------------------


def _step(objective: Objective, rate: float, decay: float) -> Callable[[Any], Any]:
    """Return a function from weights to the weights after one step; ``decay`` shrinks the coefficients."""
    decays, device_rate = objective.to_device(decay * objective.penalised), objective.dtype.type(rate)

    def step(weights: Any) -> Any:
        _, gradient = objective.loss(weights)
        return map_elements(_UPDATE, weights, decays, device_rate, gradient, device=objective.device)

    return step


def _steps_by_calls(objective: Objective, rate: float, decay: float) -> Callable[[Any, int], Any]:
    """Return a function that takes a number of steps, with a few launches for each."""
    step = _step(objective, rate, decay)

    def steps(weights: Any, count: int) -> Any:
        for _ in range(count):
            weights = step(weights)
        return weights

    return steps


def _check_name(device: Device, variant: str | None) -> None:
    """Raise if no kernel of the two primitives has a name."""
    if variant is None:
        return
    known = [one.name for primitive in ("descent", "logistic") for one in REGISTRY.variants(primitive, device.backend)]
    if variant not in known:
        got = f"{quoted(variant)}{did_you_mean(variant, known)}"
        raise UnknownVariantError(f"LogReg on {device.spec}: a variant among {', '.join(map(repr, known))}; got {got}")


def _steps(objective: Objective, rate: float, decay: float, variant: str | None) -> Callable[[Any, int], Any]:
    """Return a function that takes a number of steps, in one launch where a kernel holds all samples.

    ``variant`` names a kernel of descent, or one of logistic, which takes a step in each launch.
    """
    samples, device, dtype = objective.samples, objective.device, objective.dtype
    dense = samples.features.dense
    if objective.outputs > 1 or dense is None:
        if variant is not None:
            got = "more" if objective.outputs > 1 else "sparse samples or a feature_dtype"
            raise ArgumentError(f"LogReg: two classes of dense samples with variant={variant!r}; got {got}")
        return _steps_by_calls(objective, rate, decay)

    _check_name(device, variant)
    rates = objective.home.asarray(np.array([decay, rate], dtype))
    sample_weight = () if samples.sample_weight is None else (samples.sample_weight,)
    if able_to_descend(device, dtype, samples.size, objective.size, variant):

        def at_once(weights: Any, count: int) -> Any:
            return descend((dense, samples.codes, weights, *sample_weight, rates), count, device, variant)

        return at_once

    empty, decays = objective.home.empty((objective.size,), dtype), objective.to_device(decay * objective.penalised)
    more = (*sample_weight, *columns_for(dense, variant, device))
    gradient_plan = plan("logistic", dense, samples.codes, empty, *more, device=device, variant=variant)
    update = plan("map", _UPDATE, empty, decays, rates[1:], empty, device=device)

    def by_plans(weights: Any, count: int) -> Any:
        for _ in range(count):
            _, gradient = gradient_plan(dense, samples.codes, weights, *more)
            weights = update(weights, decays, rates[1:], gradient)
        return weights

    return by_plans


# Epochs --------------------------------------------------------------------------------------------------------------

# A function from weights and the number of epochs before to the weights after one more.
_Epoch = Callable[[Any, int], Any]


def _run_epochs(epoch: _Epoch, objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Run epochs and check the loss after each."""
    weights = objective.to_device(start)
    for done in range(settings.max_iter):
        weights = epoch(weights, done)
        if reason := _check(objective, weights, settings, monitor):
            return reason
    return "max_iter"


def minibatch_epoch(objective: Objective, settings: Settings) -> _Epoch:
    """Return an epoch that takes a step for each batch of consecutive samples."""
    count, random, rate = objective.samples.size, settings.random, settings.learning_rate
    starts = range(0, count, settings.batch_size)
    batches = [objective.rows(start, min(start + settings.batch_size, count)) for start in starts]
    penalty = objective.penalty * objective.samples.total / len(batches)
    if rate is None:
        sampled = random.permutation(len(batches))[:_SAMPLED_BATCHES]
        rate = 1 / (max(batches[k].max_curvature() for k in sampled) + penalty)

    def epoch(weights: Any, done: int) -> Any:
        current = _rate_after(done, rate, settings)
        for k in random.permutation(len(batches)):
            weights = _step(batches[k], current, current * penalty)(weights)
        return weights

    return epoch


def _sample_epoch(descent: Callable[..., Any], objective: Objective, settings: Settings) -> _Epoch:
    """Return an epoch that takes a step for each sample of nonzero weight; the objective has two classes.

    ``descent`` is :func:`gpuprims.primitives.sgd.logistic_sgd` or a function with its arguments. An automatic learning
    rate follows from the largest second derivative of one sample's loss, a quarter of its squared norm.
    """
    samples, device, rate = objective.samples, objective.device, settings.learning_rate
    features, sample_weight = samples.features, device.to_host(samples.weights)
    weighted = np.flatnonzero(sample_weight).astype(np.int32)
    epoch_penalty = objective.penalty * samples.total
    penalty = epoch_penalty / len(weighted)
    if rate is None:
        norms, constant = features.squared_norms(), int(objective.fit_intercept)
        largest = reduce(norms, samples.weights, map=lambda q, s: s * (q + constant), op="max", device=device)
        rate = 1 / (float(device.to_host(largest)) / 4 + penalty)
    host_codes: Any = None if features.unscaled is not None else device.to_host(samples.codes)

    def epoch(weights: Any, done: int) -> Any:
        current = _rate_after(done, rate, settings)
        decay = current * penalty
        decay_once = decay < _COARSE * np.finfo(objective.dtype).eps
        how = {"rate": current, "keep": 1 - decay * (not decay_once), "device": device}
        order = settings.random.permutation(weighted)
        if features.unscaled is not None:
            given = features.unscaled, samples.codes, weights, objective.home.asarray(order)
            weights = descent(*given, sample_weight=samples.sample_weight, **how)
        else:
            for rows, slab in features.slabs(order):
                codes, counts = (objective.home.asarray(part[rows]) for part in (host_codes, sample_weight))
                steps = objective.home.asarray(np.arange(len(rows), dtype=np.int32))
                weights = descent(slab, codes, weights, steps, sample_weight=counts, **how)
        if not decay_once:
            return weights
        kept = np.where(objective.penalised, 1 - current * epoch_penalty, 1)
        return map_elements("w*k", weights, objective.to_device(kept), device=device)

    return epoch


def _rate_after(done: int, first: float, settings: Settings) -> float:
    """Return the rate after ``done`` epochs: as set, or an automatic one divided by the square root of the epoch."""
    return float(first / np.sqrt(1 + done)) if settings.learning_rate is None else first
