"""The logistic loss of linear scores, its gradient and its curvature on a device, made of ``map`` and ``reduce``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.core.device import Device
from gpuprims.models.logreg.features import Features
from gpuprims.models.logreg.samples import Samples
from gpuprims.primitives.logistic import logistic_gradient
from gpuprims.primitives.logistic.labelled import judged, sigmoid
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Power iteration gains on the second eigenvalue by their ratio each time; a step needs the largest within a factor of
# 2.
_POWER_ITERATIONS = 20


class Loss(NamedTuple):
    """A loss that stays on the device, not yet divided by the samples' weight, and its gradient, summed too."""

    value: Any
    gradient: Any


class Objective:
    """What solvers make small: the log loss per unit of sample weight, and a penalty on the squared coefficients.

    Two classes have one output, the second's score; more have one each, whose softmax is the probability.

    Parameters
    ----------
    samples : Samples
    outputs : int
    penalty : float
        Twice what the sum of squares is multiplied by; of scikit-learn's ``C``, ``1 / (C * samples.total)``.
    fit_intercept : bool
        Whether scores have a constant, free of the penalty.
    """

    def __init__(self, samples: Samples, outputs: int, penalty: float, *, fit_intercept: bool) -> None:
        self.samples = samples
        self.device: Device = samples.device
        self.dtype = samples.dtype
        self.outputs = outputs
        self.features = int(samples.features.shape[1])
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        column = (-1, 1)
        self._weight, self._code = samples.weights.reshape(column), samples.codes.reshape(column)
        self._numbers = self.device.asarray(np.arange(outputs, dtype=self.dtype).reshape(1, -1))

    def part(self, start: int, stop: int) -> Objective:
        """Return the objective of some of the samples."""
        return Objective(self.samples.part(start, stop), self.outputs, self.penalty, fit_intercept=self.fit_intercept)

    def widened(self) -> Objective | None:
        """Return the same objective in float64; None if the device has no float64."""
        if self.dtype == np.float64:
            return self
        if not self.device.capabilities.fp64:
            return None
        return Objective(self.samples.widened(), self.outputs, self.penalty, fit_intercept=self.fit_intercept)

    @property
    def size(self) -> int:
        """How many numbers a solver looks for."""
        return self.outputs * (self.features + self.fit_intercept)

    # Solvers walk in vectors: the coefficients of each output, and behind them all intercepts. On the host ------------

    def split(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and intercepts of a vector."""
        coefficients = flat[: self.outputs * self.features].reshape(self.outputs, self.features)
        return coefficients, flat[coefficients.size :] if self.fit_intercept else np.zeros(self.outputs)

    def join(self, coefficients: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
        """Return a vector of float64."""
        parts = [np.ravel(coefficients), *([np.ravel(intercepts)] if self.fit_intercept else [])]
        return np.concatenate(parts).astype(np.float64)

    def bring(self, flat: np.ndarray) -> Any:
        """Return a vector on the device."""
        return self.device.asarray(np.ascontiguousarray(flat, self.dtype))

    def fetch(self, weights: Any) -> np.ndarray:
        """Return a vector of a device on the host."""
        return self.device.to_host(weights).astype(np.float64)

    def loss_gradient(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient."""
        return self.evaluated(self.loss(self.bring(flat)), flat)

    def evaluated(self, loss: Loss, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient, of a loss on the device, of the same vector."""
        value = float(self.device.to_host(loss.value)) / self.samples.total
        gradient = self.fetch(loss.gradient) / self.samples.total
        penalised = self.penalised(flat)
        return value + self.penalty / 2 * float(penalised @ penalised), gradient + self.penalty * penalised

    def penalised(self, flat: np.ndarray) -> np.ndarray:
        """Return a vector whose numbers without a penalty are zero."""
        coefficients, intercepts = self.split(flat)
        return self.join(coefficients, np.zeros_like(intercepts))

    def hessian(self, flat: np.ndarray) -> np.ndarray:
        """Return the second derivatives; where all intercepts may move together, the mean one is held where it is."""
        probabilities = self._probabilities(self.scores(self.bring(flat)))
        found = np.zeros((self.size, self.size))
        intercepts = np.arange(self.outputs * self.features, self.size)
        places = np.arange(self.outputs * self.features).reshape(self.outputs, self.features)
        if self.fit_intercept:
            places = np.hstack([places, intercepts[:, None]])
        for row in range(self.outputs):
            for column in range(row, self.outputs):
                block = self._block(probabilities, row, column) / self.samples.total
                found[np.ix_(places[row], places[column])] = block
                found[np.ix_(places[column], places[row])] = block.T
        found[np.diag_indices(self.size)] += self.penalty * self.penalised(np.ones(self.size))
        if self.outputs > 1:
            found[np.ix_(intercepts, intercepts)] += 1 / self.outputs
        return found

    # on the device ---------------------------------------------------------------------------------------------------

    def scores(self, weights: Any) -> Any:
        """Return ``X @ coefficients.T + intercepts``, of shape (n, outputs), of a vector on the device."""
        coefficients = weights[: self.outputs * self.features].reshape(self.outputs, self.features)
        intercepts = weights[self.outputs * self.features :] if self.fit_intercept else None
        return scores_of(self.samples.features, coefficients, intercepts)

    def loss(self, weights: Any) -> Loss:
        """Return the summed log loss, without the penalty, and its gradient."""
        samples = self.samples
        if self.outputs == 1 and samples.features.dense is not None:
            given = samples.features.dense, samples.codes, weights
            return Loss(*logistic_gradient(*given, sample_weight=samples.shares, device=self.device))
        scores = self.scores(weights)
        if self.outputs == 1:
            losses, errors = self._map(judged, scores, self._code, self._weight)
            value = self._reduce(losses)
        else:
            value, errors = self._of_classes(scores)
        return Loss(value, self._back(errors))

    def _of_classes(self, scores: Any) -> tuple[Any, Any]:
        largest, total = exponentials_of(self.device, scores)
        own = self._reduce(scores, self._code, self._numbers, map=_of_class, axis=1, keepdims=True)
        value = self._reduce(self._weight, largest, total, own, map="s*(m + log(t) - z)")
        errors = self._map(
            lambda z, m, t, y, c, s: s * (np.exp(z - m) / t - (y == c)),
            scores, largest, total, self._code, self._numbers, self._weight,
        )  # fmt: skip
        return value, errors

    def _back(self, errors: Any) -> Any:
        """Return the gradient of weights whose scores have these gradients, of shape (n, outputs)."""
        outputs = errors.shape[1]
        gradient = self.device.driver.empty((outputs * (self.features + self.fit_intercept),), self.dtype)
        self.samples.features.back(errors, gradient[: outputs * self.features].reshape(outputs, self.features))
        if self.fit_intercept:
            self._reduce(errors, axis=0, out=gradient[outputs * self.features :])
        return gradient

    def _probabilities(self, scores: Any) -> Any:
        if self.outputs == 1:
            return self._map(sigmoid, scores)
        return self._map("exp(z - m) / t", scores, *exponentials_of(self.device, scores))

    def _block(self, probabilities: Any, row: int, column: int) -> np.ndarray:
        """Return the summed second derivatives by the weights of two outputs."""
        own = self.dtype.type(row == column)
        pair = (probabilities[:, k : k + 1] for k in (row, column))
        slopes = self._map(lambda p, q, s: s * p * (own - q), *pair, self._weight)
        found = self.samples.features.curvature(slopes)
        if not self.fit_intercept:
            return found
        beside = self.device.driver.empty((1, self.features), self.dtype)
        self.samples.features.back(slopes, beside)
        edge, corner = self.device.to_host(beside), self.device.to_host(self._reduce(slopes))
        return np.block([[found, edge.T], [edge, np.reshape(corner, (1, 1))]])

    def steepest(self) -> float:
        """Return the largest second derivative that the summed log loss can have, estimated from below.

        The slope of a sigmoid is 1/4 at most, that of a softmax 1/2: so much times the largest eigenvalue of the
        weighted ``X.T @ X``, found by power iteration. A step of its inverse descends while it is above half.
        """
        one = Objective(self.samples, 1, 0, fit_intercept=self.fit_intercept)
        direction = np.random.default_rng(0).standard_normal(one.size)
        largest = 0.0
        for _ in range(_POWER_ITERATIONS):
            ahead = one.scores(one.bring(direction / np.linalg.norm(direction)))
            direction = one.fetch(one._back(self._map("z*s", ahead, self._weight)))
            largest = float(np.linalg.norm(direction))
        return largest / (4 if self.outputs == 1 else 2)

    def _map(self, fn: Any, *arrays: Any, **how: Any) -> Any:
        return map_elements(fn, *arrays, device=self.device, **how)

    def _reduce(self, *arrays: Any, **how: Any) -> Any:
        return reduce(*arrays, device=self.device, **how)


def scores_of(features: Features, coefficients: Any, intercepts: Any) -> Any:
    """Return ``X @ coefficients.T + intercepts``, of shape (n, outputs)."""
    scores = features.scores(coefficients)
    if intercepts is None:
        return scores
    return map_elements("z + b", scores, intercepts.reshape(1, -1), device=features.device)


def exponentials_of(device: Device, scores: Any) -> tuple[Any, Any]:
    """Return each row's largest score, and the sum of exponentials of scores less that, so that none overflows."""
    largest = reduce(scores, op="max", axis=1, keepdims=True, device=device)
    return largest, reduce(scores, largest, map="exp(z - m)", axis=1, keepdims=True, device=device)


def _of_class(z: Any, y: Any, c: Any) -> Any:
    return np.where(y == c, z, 0)
