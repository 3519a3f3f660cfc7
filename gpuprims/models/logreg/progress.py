"""Settings of solvers, and the watch that records a fit's progress and ends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Settings:
    """Settings of a solver: when it stops, the learning rate for summed gradients, batches and their random order.

    Without a rate, descent finds one.
    """

    max_iter: int
    tol: float
    learning_rate: float | None = None
    batch_size: int = 256
    random: np.random.RandomState | None = None


class Progress(NamedTuple):
    """Where a fit is: the iterations done, the objective, and the weights."""

    iteration: int
    loss: float
    coef: np.ndarray
    intercept: np.ndarray


class Watch:
    """Keeps the losses of a fit, after which iterations they were, and the last weights, and asks whether to go on.

    Parameters
    ----------
    split : callable
        From flat weights to coefficients and intercepts.
    callback : callable or None
        The caller's: given a :class:`Progress`, returns True to stop.
    error : callable or None
        From flat weights to the error on samples held out.
    target : float or None
        The error at which to stop.
    bar : progress bar or None
        As tqdm's.
    """

    def __init__(
        self,
        split: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
        start: np.ndarray,
        *,
        callback: Callable[[Progress], Any] | None = None,
        error: Callable[[np.ndarray], float] | None = None,
        target: float | None = None,
        bar: Any = None,
    ) -> None:
        self._told: list[tuple[float, int]] = []  # one list, so that an interrupt leaves complete pairs
        self.errors: list[float] = []
        self.weights = start
        self._split, self._callback, self._error, self._target, self._bar = split, callback, error, target, bar

    def after(self, loss: float, weights: np.ndarray, count: int = 1) -> str | None:
        """Take note of iterations, by the loss after the last of them, and return why to stop, if there is a reason."""
        self.weights = weights
        self._told.append((loss, self.done + count))
        if self._bar is not None:
            self._bar.update(count)
            self._bar.set_postfix(loss=f"{loss:.6g}")
        if self._callback is not None:
            told = Progress(self.done, loss, *(np.copy(part) for part in self._split(weights)))
            if self._callback(told):
                return "callback"
        if self._error is not None and self._target is not None:
            self.errors.append(self._error(weights))
            if self.errors[-1] <= self._target:
                return "target_error"
        return None

    @property
    def losses(self) -> list[float]:
        """The loss after each iteration, or after each look."""
        return [loss for loss, _ in self._told]

    @property
    def iterations(self) -> list[int]:
        """The number of iterations before each loss."""
        return [done for _, done in self._told]

    @property
    def done(self) -> int:
        """How many iterations there have been."""
        return self._told[-1][1] if self._told else 0
