"""Passes of a fit over samples in parts: what each part computes, and how the results of parts join."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpuprims.distributed.sharded import begin_to_host
from gpuprims.models.logreg.objective import Objective


@dataclass(frozen=True)
class Pass:
    """Work on each part of the samples. It travels to workers, so it holds numbers, no functions.

    ``start`` begins work on the device of a part's objective, and ``finish`` gets what that returns. The results of
    several parts join to one of the same form.
    """

    wide: bool  # compute in float64
    waits: ClassVar[bool] = False  # start waits for the device

    def start(self, part: Objective) -> Any:
        """Begin the work on a part."""
        raise NotImplementedError

    def read(self, part: Objective, begun: Any) -> Any:
        """Begin to copy what was started to the host."""
        return begun

    def finish(self, part: Objective, begun: Any) -> Any:
        """Return the result of a part, given what ``read`` returned."""
        return begun

    @staticmethod
    def join(found: Sequence[Any]) -> Any:
        """Return the result of several parts, in their order."""
        raise NotImplementedError

    def run(self, part: Objective) -> Any:
        """Return the result of a part by itself."""
        return self.finish(part, self.read(part, self.start(part)))

    def run_all(self, parts: Sequence[Objective]) -> Any:
        """Return the result of several parts; all of them have work before the first one is waited for."""
        if self.waits:
            return self.join([self.run(part) for part in parts])
        begun = [self.start(part) for part in parts]
        read = [self.read(part, one) for part, one in zip(parts, begun, strict=True)]
        return self.join([self.finish(part, one) for part, one in zip(parts, read, strict=True)])

    def _of(self, part: Objective) -> Objective:
        return (part.as_float64() or part) if self.wide else part


@dataclass(frozen=True)
class LossGradient(Pass):
    """The summed loss without the penalty, and its gradient, at flat weights."""

    flat: np.ndarray

    def start(self, part: Objective) -> tuple[Any, Any]:
        """Begin the work on a part."""
        one = self._of(part)
        return one.loss(one.to_device(self.flat))

    def read(self, part: Objective, begun: tuple[Any, Any]) -> Callable[[], tuple[np.ndarray, ...]]:
        """Begin to copy the numbers to the host."""
        return begin_to_host(part.device, begun)

    def finish(self, part: Objective, begun: Callable[[], tuple[np.ndarray, ...]]) -> tuple[float, np.ndarray]:
        """Return the result of a part."""
        loss, slopes = begun()
        return float(loss), slopes.astype(np.float64)

    @staticmethod
    def join(found: Sequence[tuple[float, np.ndarray]]) -> tuple[float, np.ndarray]:
        """Return the result of several parts, added in their order."""
        return sum(loss for loss, _ in found), np.sum([one for _, one in found], axis=0)


@dataclass(frozen=True)
class Hessian(Pass):
    """The Hessian of the summed loss, at flat weights."""

    flat: np.ndarray
    waits: ClassVar[bool] = True

    def start(self, part: Objective) -> np.ndarray:
        """Return the result of a part."""
        return self._of(part).hessian(self.flat) * part.total

    @staticmethod
    def join(found: Sequence[np.ndarray]) -> np.ndarray:
        """Return the result of several parts, added in their order."""
        whole: np.ndarray = np.sum(found, axis=0)
        return whole


@dataclass(frozen=True)
class Moments(Pass):
    """The total weight, and each feature's weighted mean and standard deviation."""

    waits: ClassVar[bool] = True

    def start(self, part: Objective) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the result of a part."""
        return part.total, *self._of(part).mean_and_deviation()

    @staticmethod
    def join(found: Sequence[tuple[float, np.ndarray, np.ndarray]]) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the result of several parts.

        Source: T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing
        sample variances", Stanford STAN-CS-79-773, 1979.
        """
        total = sum(own for own, _, _ in found)
        mean = np.sum([own * middle for own, middle, _ in found], axis=0) / total
        squares = np.sum([own * (spread**2 + (middle - mean) ** 2) for own, middle, spread in found], axis=0) / total
        return total, mean, np.sqrt(squares)


# Runs a pass on each part, and returns the results in the order of the parts.
Each = Callable[[Pass], Sequence[Any]]
