"""Gradient descent with a fixed step, by all samples or by mini-batches; weights stay on the device."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from gpuprims.core.plans import Plan, plan
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Monitor, Settings
from gpuprims.primitives.descent import able_to_descend, descend
from gpuprims.primitives.map import map as map_elements

# Iterations between two checks of the loss, at most: a check takes as long as some hundred iterations of small data.
_MAX_STEPS = 16384
# The update of weights w with decay d and gradient g.
_UPDATE = "w - (w*d + rate*g)"
# Mini-batches whose curvature sets an automatic learning rate.
_SAMPLED_BATCHES = 8


def gradient_descent(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Descend along the gradient of all samples; check the loss after 1, 2, 4, ... iterations.

    Source: the iteration of the OpenCL article on logistic regression by gradient ascent,
    ``weights += rate * X.T @ (labels - sigmoid(X @ weights))``, plus the penalty's gradient.
    """
    penalty = objective.penalty * objective.samples.total
    rate = settings.learning_rate
    if rate is None:
        rate = 1 / (objective.max_curvature() + penalty)
    step = GradientStep(objective, rate, rate * penalty)
    weights = objective.to_device(start)
    done = 0
    while done < settings.max_iter:
        count = min(max(done, 1), _MAX_STEPS, settings.max_iter - done)
        weights = step.repeat(weights, count)
        done += count
        if reason := _check(objective, weights, settings, monitor, count):
            return reason
    return "max_iter"


def _check(objective: Objective, weights: Any, settings: Settings, monitor: Monitor, count: int = 1) -> str | None:
    """Record device weights after ``count`` iterations; return the reason to stop, or None."""
    flat = objective.to_host(weights)
    if not np.isfinite(flat).all():
        return "diverged"
    value, gradient = objective.value_gradient(objective.loss(weights), flat)
    if not np.isfinite(value):
        return "diverged"
    if reason := monitor.record(value, flat, count):
        return reason
    return "tolerance" if np.abs(gradient).max() <= settings.tol else None


class GradientStep:
    """A gradient step on the device: its learning rate, and the decay of each coefficient."""

    def __init__(self, objective: Objective, rate: float, decay: float) -> None:
        self._objective = objective
        self._host_rates = np.array([decay, rate], objective.dtype)
        self._rate = objective.dtype.type(rate)
        self._decays = objective.to_device(decay * objective.zero_intercepts(np.ones(objective.size)))

    @cached_property
    def _rates(self) -> Any:
        return self._objective.device.asarray(self._host_rates)

    @cached_property
    def _fits_one_launch(self) -> bool:
        objective, samples = self._objective, self._objective.samples
        fits = able_to_descend(samples.device, objective.dtype, samples.size, objective.size)
        return fits and objective.outputs == 1 and samples.features.dense is not None

    @cached_property
    def _plans(self) -> tuple[Plan, Plan] | None:
        """The plans of the gradient and of the update, for steps of two launches."""
        objective = self._objective
        if objective.outputs > 1 or objective.samples.features.dense is None:
            return None
        weights, where = objective.device.driver.empty((objective.size,), objective.dtype), {"device": objective.device}
        gradient_plan = plan("logistic", *self._arguments(weights), **where)
        return gradient_plan, plan("map", _UPDATE, weights, self._decays, self._rates[1:], weights, **where)

    def _arguments(self, weights: Any) -> tuple[Any, ...]:
        """Return the arguments of the logistic kernels: features, labels, weights and any sample weights."""
        samples = self._objective.samples
        sample_weight = () if samples.sample_weight is None else (samples.sample_weight,)
        return (samples.features.dense, samples.codes, weights, *sample_weight)

    def once(self, weights: Any) -> Any:
        """Return the weights after one step."""
        gradient = self._objective.loss(weights).gradient
        device = self._objective.device
        return map_elements(_UPDATE, weights, self._decays, self._rate, gradient, device=device)

    def repeat(self, weights: Any, count: int) -> Any:
        """Return the weights after ``count`` steps, in one launch where a kernel holds all samples."""
        if self._fits_one_launch:
            return descend((*self._arguments(weights), self._rates), count, self._objective.device)
        if self._plans is None:
            for _ in range(count):
                weights = self.once(weights)
            return weights
        gradient_plan, update = self._plans
        for _ in range(count):
            _, gradient = gradient_plan(*self._arguments(weights))
            weights = update(weights, self._decays, self._rates[1:], gradient)
        return weights


def minibatch(objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor) -> str:
    """Descend along the gradients of mini-batches, in a new random order each epoch.

    A step is that of :func:`gradient_descent` for one batch, with its share of the penalty. An automatic rate is
    divided by the square root of the epoch.

    Source: H. Robbins and S. Monro, "A Stochastic Approximation Method", 1951; L. Bottou, "Online Learning and
    Stochastic Approximations", 1998.
    """
    return run_epochs(Minibatches(objective, settings).epoch, objective, start, settings, monitor)


def run_epochs(
    epoch: Callable[[Any, int], Any], objective: Objective, start: np.ndarray, settings: Settings, monitor: Monitor
) -> str:
    """Call ``epoch(weights, number of epochs before)`` and check the loss after each."""
    weights = objective.to_device(start)
    for done in range(settings.max_iter):
        weights = epoch(weights, done)
        if reason := _check(objective, weights, settings, monitor):
            return reason
    return "max_iter"


class Minibatches:
    """The objectives of consecutive runs of ``batch_size`` samples."""

    def __init__(self, objective: Objective, settings: Settings) -> None:
        count = objective.samples.size
        starts = range(0, count, settings.batch_size)
        self._batches = [objective.rows(start, min(start + settings.batch_size, count)) for start in starts]
        self._random = settings.random
        self._penalty = objective.penalty * objective.samples.total / len(self._batches)
        self._rate = settings.learning_rate
        if self._rate is None:
            sampled = self._random.permutation(len(self._batches))[:_SAMPLED_BATCHES]
            self._auto_rate = 1 / (max(self._batches[k].max_curvature() for k in sampled) + self._penalty)

    def epoch(self, weights: Any, done: int) -> Any:
        """Take one step by each batch, after ``done`` epochs."""
        rate = self._auto_rate / np.sqrt(1 + done) if self._rate is None else self._rate
        for k in self._random.permutation(len(self._batches)):
            weights = GradientStep(self._batches[k], rate, rate * self._penalty).once(weights)
        return weights
