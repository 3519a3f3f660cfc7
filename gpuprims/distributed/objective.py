"""The objective of logistic regression of samples in parts: losses and gradients of the parts are added on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from gpuprims.core.device import Device
from gpuprims.models.logreg.objective import Objective

T = TypeVar("T")
# Runs a function on the objective of each part, without penalty, and returns the results in the order of the parts.
Each = Callable[[Callable[[Objective], Any]], Sequence[Any]]


class SummedObjective(Objective):
    """The objective of all parts together, for the solvers of LogReg.

    For a point of a solver, each part computes its loss and its gradient, whose numbers, one more than there are
    weights, are added on the host in float64 and in the order of the parts. The solver runs on the host, so no device
    needs the sums.
    """

    def __init__(self, each: Each, devices: Sequence[Device], like: Objective, total: float, penalty: float) -> None:
        self._each, self._devices, self._like = each, devices, like
        self.dtype, self.features, self.outputs = like.dtype, like.features, like.outputs
        self.fit_intercept, self.penalty, self.total = like.fit_intercept, penalty, total

    def loss_gradient(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient."""

        def part_of(part: Objective) -> tuple[float, np.ndarray]:
            loss, slopes = part.loss(part.to_device(flat))
            return float(part.device.to_host(loss)), part.to_host(slopes)

        found = self._each(part_of)
        return self.penalised_mean(sum(loss for loss, _ in found), np.sum([one for _, one in found], axis=0), flat)

    def hessian(self, flat: np.ndarray) -> np.ndarray:
        """Return the Hessian."""
        found = self._each(lambda part: part.hessian(flat) * (part.total / self.total))
        whole: np.ndarray = np.sum(found, axis=0)
        whole[np.diag_indices(self.size)] += self.penalty * self.penalised
        return whole

    def mean_and_deviation(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each feature's weighted mean and standard deviation.

        Source: T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing
        sample variances", Stanford STAN-CS-79-773, 1979.
        """
        found = self._each(lambda part: (part.total / self.total, *part.mean_and_deviation()))
        mean = np.sum([share * own for share, own, _ in found], axis=0)
        squares = np.sum([share * (spread**2 + (own - mean) ** 2) for share, own, spread in found], axis=0)
        return mean, np.sqrt(squares)

    def as_float64(self) -> Objective | None:
        """Return the same objective in float64; None if a device has no float64."""
        if self.dtype == np.float64:
            return self
        if not all(device.capabilities.fp64 for device in self._devices):
            return None
        like = self._like.as_float64()
        assert like is not None  # noqa: S101  # its device has float64
        return SummedObjective(self._each_wide, self._devices, like, self.total, self.penalty)

    def _each_wide(self, work: Callable[[Objective], T]) -> Sequence[T]:
        return self._each(lambda part: work(part.as_float64() or part))
