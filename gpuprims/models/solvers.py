"""Solvers: from an objective to its best weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuprims.device import Device
from gpuprims.models.gradient import LogisticObjective

# Reading a number off a device waits for it, so convergence is looked at once in so many iterations.
_CHECK_EVERY = 32


@dataclass(frozen=True)
class Solution:
    """What a solver found: the weights, the objective per sample before each iteration, and whether it converged."""

    weights: np.ndarray
    losses: list[float]
    converged: bool


def gradient_descent(
    objective: LogisticObjective,
    start: np.ndarray,
    *,
    learning_rate: float,
    max_iter: int,
    tol: float,
    progress: Callable[[Iterable[int]], Iterable[int]],
) -> Solution:
    """Walk down the gradient of all samples, with a fixed step.

    Parameters
    ----------
    objective : LogisticObjective
    start : ndarray of shape (k,)
    learning_rate : float
        The step: weights grow by it times the gradient summed over the samples.
    max_iter : int
    tol : float
        Converged when no component of the objective's gradient, per sample, is larger.
    progress : callable
        Wraps the iterations, to show how far they are.

    Returns
    -------
    Solution

    Notes
    -----
    The iteration is that of the OpenCL article on logistic regression by gradient ascent:
    ``weights += learning_rate * X.T @ (labels - sigmoid(X @ weights))``, with the penalty's gradient beside it.
    """
    device = objective.device
    weights = device.asarray(start)
    step = objective.stepper(learning_rate)
    losses: list[tuple[Any, Any]] = []
    converged = False
    for iteration in progress(range(max_iter)):
        scores = objective.scores(weights)
        losses.append(objective.loss(scores, weights))
        moved = step(weights, objective.gradient(scores))
        if iteration % _CHECK_EVERY == 0:
            moves = device.to_host(moved) - device.to_host(weights)
            converged = bool(np.abs(moves).max() <= tol * learning_rate * objective.size)
        weights = moved
        if converged:
            break
    curve = [(_number(device, fit) + _number(device, size) / 2) / objective.size for fit, size in losses]
    return Solution(device.to_host(weights), curve, converged)


def _number(device: Device, scalar: Any) -> float:
    return float(device.to_host(scalar))
