"""The objective of logistic regression of samples in parts: losses and gradients of the parts are added on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.models.logreg.objective import Objective

# Runs two functions on the objective of each part, without penalty: the first starts work on its device, and the second
# gets what that returns. Returns the results of the second in the order of the parts. None in its place says that the
# first waits for its device.
Each = Callable[[Callable[[Objective], Any], Callable[[Objective, Any], Any] | None], Sequence[Any]]


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

        def start(part: Objective) -> Any:
            return part.loss(part.to_device(flat))

        def finish(part: Objective, begun: Any) -> tuple[float, np.ndarray]:
            return float(part.device.to_host(begun[0])), part.to_host(begun[1])

        found = self._each(start, finish)
        return self.penalised_mean(sum(loss for loss, _ in found), np.sum([one for _, one in found], axis=0), flat)

    def hessian(self, flat: np.ndarray) -> np.ndarray:
        """Return the Hessian."""
        found = self._each(lambda part: part.hessian(flat) * (part.total / self.total), None)
        whole: np.ndarray = np.sum(found, axis=0)
        whole[np.diag_indices(self.size)] += self.penalty * self.penalised
        return whole

    def mean_and_deviation(self) -> tuple[np.ndarray, np.ndarray]:
        """Return each feature's weighted mean and standard deviation.

        Source: T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing
        sample variances", Stanford STAN-CS-79-773, 1979.
        """
        found = self._each(lambda part: (part.total / self.total, *part.mean_and_deviation()), None)
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

    def _each_wide(
        self, start: Callable[[Objective], Any], finish: Callable[[Objective, Any], Any] | None
    ) -> Sequence[Any]:
        """Run functions on each part in float64."""
        if finish is None:
            return self._each(lambda part: start(part.as_float64() or part), None)

        def begin(part: Objective) -> tuple[Objective, Any]:
            wide = part.as_float64() or part
            return wide, start(wide)

        return self._each(begin, lambda _, begun: finish(*begun))
