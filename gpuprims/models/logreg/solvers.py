"""Solvers: from an objective to its best weights, and why they stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, optimize

from gpuprims.core.plans import Plan, plan
from gpuprims.models.logreg.conditioning import Solver, Standardised, in_two_precisions, nearly_least
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.progress import Settings, Watch
from gpuprims.models.logreg.sgd import Epochs
from gpuprims.primitives.descent import able_to_descend, descend
from gpuprims.primitives.hogwild import logistic_hogwild
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.sgd import logistic_sgd

# Gradient descent is looked at when it has gone as far again, and once in so many iterations: a look takes as long as
# some hundred iterations of small data.
_MOST_STEPS = 16384
# A step of weights w: d is what it takes off them, g the gradient.
_MOVE = "w - (w*d + rate*g)"
# Of a step that Newton's method proposes, the part that is tried first, and how often it is halved.
_HALVINGS = 30
# Steps of Newton's method in a row that may lower the loss by less than its rounding error.
_IN_VAIN = 3
# Runs of samples whose steepest slope sets an automatic step.
_LOOKED_AT = 8
# Of the descent that a step's slope promises, the part that it must keep (Armijo's condition).
_SUFFICIENT = 1e-4
# Gradient with respect to standardised features at which L-BFGS stops. The loss is then within 1e-6 of the least one,
# unless features are so correlated that it is flatter than 1e-6 in some direction.
_INNER_TOLERANCE = 1e-6


def lbfgs(objective: Objective, start: np.ndarray, settings: Settings, watch: Watch) -> str:
    """Minimise by SciPy's L-BFGS-B, on the host; loss and gradient come from the device.

    If rounding ends that, it goes on in float64 and in the coordinates of standardised features.

    Source: D. C. Liu and J. Nocedal, "On the limited memory BFGS method for large scale optimization", 1989.
    """
    return in_two_precisions(_lbfgs, _lbfgs_standardised, objective, start, settings, watch)


def _lbfgs(objective: Objective, start: np.ndarray, settings: Settings, watch: Watch) -> str:
    found, reason = _minimised(objective.loss_gradient, start, settings, watch, lambda there: there.copy())
    if reason is None:
        return "tolerance" if np.abs(found.jac).max() <= settings.tol else "rounding"
    return reason


def _lbfgs_standardised(objective: Objective, start: np.ndarray, settings: Settings, watch: Watch) -> str:
    inner = Standardised(objective)
    finer = replace(settings, tol=min(settings.tol, _INNER_TOLERANCE))
    found, reason = _minimised(inner.loss_gradient, inner.point(start), finer, watch, inner.weights)
    if reason is not None:
        return reason
    if np.abs(objective.loss_gradient(watch.weights)[1]).max() <= settings.tol:
        return "tolerance"
    promised = float(found.jac @ (found.hess_inv @ found.jac)) / 2
    return "rounding" if nearly_least(found.fun, promised) else "stalled"


def _minimised(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    settings: Settings,
    watch: Watch,
    weights: Callable[[np.ndarray], np.ndarray],
) -> tuple[Any, str | None]:
    """Return SciPy's result, and why it stopped early, or None; report the weights of each point to the watch."""
    stopped: list[str] = []

    def after(intermediate_result: Any) -> None:
        if reason := watch.after(float(intermediate_result.fun), weights(intermediate_result.x)):
            stopped.append(reason)
            raise StopIteration

    options = {"maxiter": settings.max_iter, "maxls": 50, "gtol": settings.tol, "ftol": 64 * np.finfo(float).eps}
    found = optimize.minimize(function, start, method="L-BFGS-B", jac=True, callback=after, options=options)
    watch.weights = weights(found.x)
    if stopped:
        return found, stopped[0]
    return found, "max_iter" if found.status == 1 else None


def newton_cholesky(objective: Objective, start: np.ndarray, settings: Settings, watch: Watch) -> str:
    """Minimise by Newton's method: the second derivatives from the device, their Cholesky factors on the host.

    If rounding ends that, it goes on in float64.
    """
    return in_two_precisions(_newton, _newton, objective, start, settings, watch)


def _newton(objective: Objective, start: np.ndarray, settings: Settings, watch: Watch) -> str:
    weights = start
    value, gradient = objective.loss_gradient(weights)
    in_vain, rounding = 0, float(np.finfo(objective.dtype).eps)
    for _ in range(settings.max_iter):
        if np.abs(gradient).max() <= settings.tol:
            return "tolerance"
        step = _newton_step(objective.hessian(weights), gradient)
        slope = float(gradient @ step)
        moved = _search(objective, weights, step, value, slope)
        if moved is None or in_vain == _IN_VAIN:
            return "rounding" if nearly_least(value, slope / 2) else "stalled"
        in_vain = 0 if moved[1] < value - rounding * abs(value) else in_vain + 1
        weights, value, gradient = moved
        if reason := watch.after(value, weights):
            return reason
    return "tolerance" if np.abs(gradient).max() <= settings.tol else "max_iter"


def _newton_step(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    try:
        factors = linalg.cho_factor(hessian)
    except linalg.LinAlgError:  # features that depend on each other, without a penalty
        step: np.ndarray = -linalg.lstsq(hessian, gradient)[0]
        return step
    solved: np.ndarray = -linalg.cho_solve(factors, gradient)
    return solved


def _search(
    objective: Objective, weights: np.ndarray, step: np.ndarray, value: float, slope: float
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Return the first of ever shorter steps that descends, as far as rounding can tell; None if none does."""
    part = 1.0
    little = 16 * float(np.finfo(objective.dtype).eps) * abs(value)
    for _ in range(_HALVINGS):
        moved = weights + part * step
        found, gradient = objective.loss_gradient(moved)
        if found <= value + _SUFFICIENT * part * slope + (little if part == 1.0 else 0.0):
            return moved, found, gradient
        part /= 2
    return None


def gradient_descent(objective: Objective, start: np.ndarray, settings: Settings, watch: Watch) -> str:
    """Walk down the gradient of all samples with a fixed step; weights stay on the device.

    Source: the iteration of the OpenCL article on logistic regression by gradient ascent,
    ``weights += rate * X.T @ (labels - sigmoid(X @ weights))``, with the penalty's gradient beside it.
    """
    pull = objective.penalty * objective.samples.total
    rate = settings.learning_rate
    if rate is None:
        rate = 1 / (objective.steepest() + pull)
    step = Step(objective, rate, rate * pull)
    weights = objective.bring(start)
    done = 0
    while done < settings.max_iter:
        count = min(max(done, 1), _MOST_STEPS, settings.max_iter - done)
        weights = step.many(weights, count)
        done += count
        if reason := _look(objective, weights, settings, watch, count):
            return reason
    return "max_iter"


def _look(objective: Objective, weights: Any, settings: Settings, watch: Watch, count: int = 1) -> str | None:
    """Look at weights on the device, after so many iterations; return why to stop, if there is a reason."""
    flat = objective.fetch(weights)
    if not np.isfinite(flat).all():
        return "diverged"
    value, gradient = objective.evaluated(objective.loss(weights), flat)
    if not np.isfinite(value):
        return "diverged"
    if reason := watch.after(value, flat, count):
        return reason
    return "tolerance" if np.abs(gradient).max() <= settings.tol else None


class Step:
    """A step down the gradient on the device: by which rate, and what it takes off each coefficient."""

    def __init__(self, objective: Objective, rate: float, decay: float) -> None:
        self._objective = objective
        self._paces = np.array([decay, rate], objective.dtype)
        self._scalar = objective.dtype.type(rate)
        self._decays = objective.bring(decay * objective.penalised(np.ones(objective.size)))  # intercepts have none

    @cached_property
    def _rates(self) -> Any:
        return self._objective.device.asarray(self._paces)

    @cached_property
    def _in_one_launch(self) -> bool:
        objective, samples = self._objective, self._objective.samples
        fits = able_to_descend(samples.device, objective.dtype, samples.size, objective.size)
        return fits and objective.outputs == 1 and samples.features.dense is not None

    @cached_property
    def _planned(self) -> tuple[Plan, Plan] | None:
        """The plans of a step where it is two launches: its gradient, and the weights after it."""
        objective = self._objective
        if objective.outputs > 1 or objective.samples.features.dense is None:
            return None
        weights, where = objective.device.driver.empty((objective.size,), objective.dtype), {"device": objective.device}
        gradient_of = plan("logistic", *self._taken(weights), **where)
        return gradient_of, plan("map", _MOVE, weights, self._decays, self._rates[1:], weights, **where)

    def _taken(self, weights: Any) -> tuple[Any, ...]:
        """Return what kernels of steps take: samples that are held whole, weights, and perhaps what samples count."""
        samples = self._objective.samples
        shares = () if samples.shares is None else (samples.shares,)
        return (samples.features.dense, samples.codes, weights, *shares)

    def once(self, weights: Any) -> Any:
        """Return weights after a step."""
        gradient = self._objective.loss(weights).gradient
        device = self._objective.device
        return map_elements(_MOVE, weights, self._decays, self._scalar, gradient, device=device)

    def many(self, weights: Any, count: int) -> Any:
        """Return weights after so many steps: in one launch where a kernel holds all samples, else one by one."""
        if self._in_one_launch:
            return descend((*self._taken(weights), self._rates), count, self._objective.device)
        if self._planned is None:
            for _ in range(count):
                weights = self.once(weights)
            return weights
        gradient_of, moved = self._planned
        for _ in range(count):
            _, gradient = gradient_of(*self._taken(weights))
            weights = moved(weights, self._decays, self._rates[1:], gradient)
        return weights


def minibatch(objective: Objective, start: np.ndarray, settings: Settings, watch: Watch) -> str:
    """Walk down the gradients of runs of samples, in an order that chance gives anew each time round.

    A step is that of :func:`gradient_descent`, of a run alone and with its share of the penalty; an automatic rate
    falls with the square root of the times round.

    Source: H. Robbins and S. Monro, "A Stochastic Approximation Method", 1951; L. Bottou, "Online Learning and
    Stochastic Approximations", 1998.
    """
    return _in_rounds(Rounds(objective, settings), objective, start, settings, watch)


def sgd(objective: Objective, start: np.ndarray, settings: Settings, watch: Watch) -> str:
    """Walk down the gradients of single samples, one exactly after the other, in an order that chance gives each round.

    A step is that of :func:`minibatch` by a sample alone.

    Source: as of :func:`minibatch`; the steps of a round are one call of :func:`gpuprims.primitives.sgd.logistic_sgd`.
    """
    epochs = Epochs(logistic_sgd, objective, settings.learning_rate, _random(settings))
    return _in_rounds(epochs, objective, start, settings, watch)


def hogwild(objective: Objective, start: np.ndarray, settings: Settings, watch: Watch) -> str:
    """Walk as :func:`sgd` does, by several samples at the same time, whose steps are added without locks.

    Source: F. Niu, B. Recht, C. Re and S. Wright, "HOGWILD!: A Lock-Free Approach to Parallelizing Stochastic Gradient
    Descent", 2011.
    """
    epochs = Epochs(logistic_hogwild, objective, settings.learning_rate, _random(settings))
    return _in_rounds(epochs, objective, start, settings, watch)


def _random(settings: Settings) -> np.random.RandomState:
    return settings.random or np.random.RandomState()


def _in_rounds(
    rounds: Rounds | Epochs, objective: Objective, start: np.ndarray, settings: Settings, watch: Watch
) -> str:
    """Go round, and look at the loss after each time."""
    weights = objective.bring(start)
    for done in range(settings.max_iter):
        weights = rounds.once(weights, done)
        if reason := _look(objective, weights, settings, watch):
            return reason
    return "max_iter"


class Rounds:
    """The runs of samples that steps are taken by, each once a round."""

    def __init__(self, objective: Objective, settings: Settings) -> None:
        count = objective.samples.size
        starts = range(0, count, settings.batch_size)
        self._parts = [objective.part(start, min(start + settings.batch_size, count)) for start in starts]
        self._random = _random(settings)
        self._penalty = objective.penalty * objective.samples.total / len(self._parts)
        self._given = settings.learning_rate
        if self._given is None:
            looked_at = self._random.permutation(len(self._parts))[:_LOOKED_AT]
            self._auto = 1 / (max(self._parts[k].steepest() for k in looked_at) + self._penalty)

    def once(self, weights: Any, before: int) -> Any:
        """Take a step by each part, after so many rounds."""
        rate = self._auto / np.sqrt(1 + before) if self._given is None else self._given
        for k in self._random.permutation(len(self._parts)):
            weights = Step(self._parts[k], rate, rate * self._penalty).once(weights)
        return weights


SOLVERS: dict[str, Solver] = {
    "lbfgs": lbfgs,
    "newton-cholesky": newton_cholesky,
    "gd": gradient_descent,
    "minibatch": minibatch,
    "sgd": sgd,
    "hogwild": hogwild,
}
# Those by single samples, which are for two classes and features as they are.
BY_SAMPLES = frozenset({"sgd", "hogwild"})
