"""Solver settings, and the monitor that records a fit's progress and stops it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Settings:
    """Settings of a solver. With a learning rate of None, the solver chooses one; rates multiply summed gradients."""

    max_iter: int
    tol: float
    learning_rate: float | None = None
    batch_size: int = 256
    random: np.random.RandomState = field(default_factory=np.random.RandomState)


class Progress(NamedTuple):
    """The state of a fit after an iteration, as a callback receives it."""

    iteration: int
    loss: float
    coef: np.ndarray
    intercept: np.ndarray


class Monitor:
    """Record the losses and the last weights of a fit, and tell its solver when to stop.

    Parameters
    ----------
    split : callable
        Split flat weights into coefficients and intercepts.
    start : ndarray
        Initial flat weights.
    callback : callable, optional
        Receives a :class:`Progress`; returns True to stop.
    validation_error : callable, optional
        Return the error of flat weights on the validation samples.
    target_error : float, optional
        Stop at this validation error.
    bar : tqdm.tqdm, optional
    """

    def __init__(
        self,
        split: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
        start: np.ndarray,
        *,
        callback: Callable[[Progress], Any] | None = None,
        validation_error: Callable[[np.ndarray], float] | None = None,
        target_error: float | None = None,
        bar: Any = None,
    ) -> None:
        self._records: list[tuple[float, int]] = []  # one list, so that an interrupt leaves complete pairs
        self.errors: list[float] = []
        self.weights = start
        self._split, self._callback, self._bar = split, callback, bar
        self._error, self._target = validation_error, target_error

    def record(self, loss: float, weights: np.ndarray, count: int = 1) -> str | None:
        """Record the loss and weights after ``count`` more iterations; return the reason to stop, or None."""
        self.weights = weights
        self._records.append((loss, self.n_iter + count))
        if self._bar is not None:
            self._bar.update(count)
            self._bar.set_postfix(loss=f"{loss:.6g}")
        if self._callback is not None:
            progress = Progress(self.n_iter, loss, *(np.copy(part) for part in self._split(weights)))
            if self._callback(progress):
                return "callback"
        if self._error is not None and self._target is not None:
            self.errors.append(self._error(weights))
            if self.errors[-1] <= self._target:
                return "target_error"
        return None

    @property
    def losses(self) -> list[float]:
        """Recorded losses."""
        return [loss for loss, _ in self._records]

    @property
    def iterations(self) -> list[int]:
        """Iteration number of each recorded loss."""
        return [iteration for _, iteration in self._records]

    @property
    def n_iter(self) -> int:
        """Number of iterations so far."""
        return self._records[-1][1] if self._records else 0
