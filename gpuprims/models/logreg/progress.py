"""Solver settings, and the monitor that records a fit's progress and stops it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gpuprims.models.logreg.objective import Objective

# Warnings by ``stop_reason_``.
WARNINGS = {
    "max_iter": "a gradient below tol={tol} within max_iter={max_iter} iterations; got a larger one (standardise the"
    " features, or raise max_iter)",
    "gap": "a duality gap below tol={tol} within max_iter={max_iter} iterations; got a larger one (standardise the"
    " features, or raise max_iter)",
    "stalled": "a loss within 1e-6 of the minimum; got one that rounding may keep further away (standardise the"
    " features, or pass float64 to a device that supports it)",
    "diverged": "a learning_rate at which the loss falls; got learning_rate={learning_rate}, at which it overflows"
    ' (the last finite weights are kept; lower it, or use "auto")',
}


def warn_of(model: Any, reason: str) -> None:
    """Warn the caller of a model's method if its fit ended for a reason that may leave it far from the minimum."""
    if reason == "max_iter" and hasattr(model, "dual_gap_"):
        reason = "gap"
    if reason in WARNINGS:
        warnings.warn("LogReg: " + WARNINGS[reason].format(**model.get_params()), ConvergenceWarning, stacklevel=3)


class _NoBar:
    """A progress bar that shows nothing; a disabled one of tqdm takes a tenth of the time of a small fit."""

    disable = True

    def update(self, count: int) -> None:
        """See tqdm."""

    def set_postfix(self, **shown: str) -> None:
        """See tqdm."""


@contextmanager
def bar_of(total: int, *, shown: bool) -> Iterator[Any]:
    """Yield tqdm's progress bar, or one that shows nothing."""
    if not shown:
        yield _NoBar()
        return
    from tqdm import tqdm

    with tqdm(total=total, desc="LogReg", unit="it") as bar:
        yield bar


class Settings(NamedTuple):
    """Settings of a solver. With a learning rate of None, the solver chooses one; rates multiply summed gradients."""

    max_iter: int
    tol: float
    learning_rate: float | None
    batch_size: int
    random: np.random.RandomState
    variant: str | None = None  # of the solver's kernel
    l1: float = 0.0  # factor of the sum of magnitudes of coefficients, per unit of sample weight


class Progress(NamedTuple):
    """The state of a fit after an iteration, as a callback receives it."""

    iteration: int
    loss: float
    coef: np.ndarray
    intercept: np.ndarray


@dataclass
class Monitor:
    """Record the losses and the last weights of a fit, and tell its solver when to stop."""

    objective: Objective
    weights: np.ndarray
    bar: Any  # of :func:`bar_of`
    callback: Callable[[Progress], Any] | None
    validation_error: Callable[[np.ndarray], float] | None
    target_error: float
    # Losses and their iterations in one list, so that an interrupt leaves complete pairs.
    records: list[tuple[float, int]] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    dual_gap: float = math.inf  # of solvers that compute it

    def record(self, loss: float, weights: np.ndarray, count: int = 1) -> str | None:
        """Record the loss and weights after ``count`` more iterations; return the reason to stop, or None."""
        self.weights = weights
        self.records.append((loss, self.n_iter + count))
        self.bar.update(count)
        if not self.bar.disable:
            self.bar.set_postfix(loss=f"{loss:.6g}")
        if self.callback is not None:
            parts = (np.copy(part) for part in self.objective.split(weights))
            if self.callback(Progress(self.n_iter, loss, *parts)):
                return "callback"
        if self.validation_error is not None:
            self.errors.append(self.validation_error(weights))
            if self.errors[-1] <= self.target_error:
                return "target_error"
        return None

    @property
    def watched(self) -> bool:
        """True if something needs to know of each iteration."""
        return self.callback is not None or self.validation_error is not None or not self.bar.disable

    @property
    def n_iter(self) -> int:
        """Number of iterations so far."""
        return self.records[-1][1] if self.records else 0


# A solver returns the reason why it stopped: "tolerance", "max_iter", "rounding", "stalled", "diverged", or the
# monitor's reason. Its second argument is the initial weights.
Solver = Callable[[Objective, np.ndarray, Settings, Monitor], str]
