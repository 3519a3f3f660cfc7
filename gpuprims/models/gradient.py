"""The logistic loss and its gradient on a device, made of ``map`` and ``reduce`` alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.device import Device
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# log(1 + exp(-z)) for y = 1 and log(1 + exp(z)) for y = 0, written so that nothing overflows. Names bind in order of
# appearance: z, then y.
_LOG_LOSS = "maximum(z, 0) - y*z + log1p(exp(-abs(z)))"


# Power iteration gains on the second eigenvalue by their ratio each time; a step needs the largest within a factor of
# 2.
_POWER_ITERATIONS = 20


class LogisticObjective:
    """Labelled samples that stay on a device, and what a solver asks of them.

    Parameters
    ----------
    device : Device
    samples : ndarray of shape (n, k), float32 or float64
    labels : ndarray of shape (n,)
        0 or 1, of the samples' dtype.
    penalty : ndarray of shape (k,)
        The L2 weight of each coefficient; the objective is ``sum(log loss) + sum(penalty * w**2) / 2``.
    """

    def __init__(self, device: Device, samples: np.ndarray, labels: np.ndarray, penalty: np.ndarray) -> None:
        self.device = device
        self.dtype = samples.dtype
        self.size = len(samples)
        self._samples = device.asarray(samples)
        self._labels = device.asarray(labels)
        self._penalty = device.asarray(penalty.astype(self.dtype))
        self._host_penalty = penalty

    def scores(self, weights: Any) -> Any:
        """Return ``X @ w``."""
        return reduce(self._samples, weights, map="x*w", axis=1, device=self.device)

    def gradient(self, scores: Any) -> Any:
        """Return ``X.T @ (y - sigmoid(X @ w))``, the direction in which the likelihood grows."""
        return self._back(map_elements("y - 1 / (1 + exp(-z))", self._labels, scores, device=self.device))

    def _back(self, errors: Any) -> Any:
        """Return ``X.T @ e``."""
        return reduce(self._samples, errors.reshape(-1, 1), map="x*e", axis=0, device=self.device)

    def loss(self, scores: Any, weights: Any) -> tuple[Any, Any]:
        """Return the log loss and the penalty, two numbers that stay on the device."""
        log_loss = reduce(scores, self._labels, map=_LOG_LOSS, device=self.device)
        return log_loss, reduce(weights, self._penalty, map="w*w*c", device=self.device)

    def curvature(self) -> float:
        """Return the largest second derivative that the objective can have, in its steepest direction.

        The sigmoid's slope is 1/4 at most, so it is a quarter of the largest eigenvalue of ``X.T @ X``, found by power
        iteration, and the penalty. The estimate comes from below; a step of its inverse descends while it is above
        half.
        """
        direction = np.random.default_rng(0).standard_normal(len(self._host_penalty)).astype(self.dtype)
        largest = 0.0
        for _ in range(_POWER_ITERATIONS):
            scores = self.scores(self.device.asarray(direction / np.linalg.norm(direction)))
            direction = self.device.to_host(self._back(scores))
            largest = float(np.linalg.norm(direction))
        return largest / 4 + float(self._host_penalty.max())

    def stepper(self, learning_rate: float) -> Any:
        """Return the function that takes one step: ``w += rate * (gradient - penalty * w)``."""
        decay = self.device.asarray((1 - learning_rate * self._host_penalty).astype(self.dtype))
        rate = self.device.asarray(np.asarray([learning_rate], self.dtype))

        def step(weights: Any, gradient: Any) -> Any:
            return map_elements("w*decay + rate*g", weights, decay, rate, gradient, device=self.device)

        return step
