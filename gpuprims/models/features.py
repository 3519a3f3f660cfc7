"""The features of samples on a device, by what a linear model asks of them; of those held whole."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from gpuprims.device import Device
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce


class Features(Protocol):
    """A matrix X of n samples and k features, and its products; arrays are the device's."""

    device: Device

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""

    def scores(self, coefficients: Any) -> Any:
        """Return ``X @ coefficients.T``, of shape (n, outputs), for coefficients of shape (outputs, k)."""

    def back(self, errors: Any, gradient: Any) -> None:
        """Write ``errors.T @ X`` to a gradient of shape (outputs, k), for errors of shape (n, outputs)."""

    def curvature(self, slopes: Any) -> np.ndarray:
        """Return ``X.T @ (slopes * X)`` on the host in float64, for slopes of shape (n, 1)."""

    @property
    def dense(self) -> Any:
        """X as the kernels of logistic regression read it; None where it is held otherwise."""

    def squares(self) -> Any:
        """Return the sum of each sample's squared features, of shape (n,)."""

    def part(self, start: int, stop: int) -> Self:
        """Return the samples from one number to another."""


class DenseFeatures:
    """Features that are all in memory.

    Parameters
    ----------
    device : Device
    array : array of shape (n, k)
        Of the device's vendor's class.
    scale : array of shape (k,) or None
        What they are multiplied by, of the dtype that is computed in, where they are kept in fewer bits.
    """

    def __init__(self, device: Device, array: Any, scale: Any = None) -> None:
        self.device = device
        self.array = array
        self.scale = scale

    @property
    def shape(self) -> tuple[int, int]:
        """See :class:`Features`."""
        n, k = self.array.shape
        return int(n), int(k)

    def scores(self, coefficients: Any) -> Any:
        """See :class:`Features`."""
        if self.scale is not None:
            coefficients = map_elements("w*s", coefficients, self.scale.reshape(1, -1), device=self.device)
        (n, k), outputs = self.shape, coefficients.shape[0]
        if outputs == 1:
            return reduce(self.array, coefficients.reshape(k), map="x*w", axis=1, device=self.device).reshape(n, 1)
        beside = self.array.reshape(n, 1, k), coefficients.reshape(1, outputs, k)
        return reduce(*beside, map="x*w", axis=2, device=self.device)

    def back(self, errors: Any, gradient: Any) -> None:
        """See :class:`Features`."""
        (n, k), outputs = self.shape, errors.shape[1]
        if outputs == 1:
            found = reduce(self.array, errors, map="x*e", axis=0, device=self.device)
        else:
            beside = self.array.reshape(n, 1, k), errors.reshape(n, outputs, 1)
            found = reduce(*beside, map="x*e", axis=0, device=self.device)
        scale = 1 if self.scale is None else self.scale.reshape(1, -1)
        map_elements("g*s", found.reshape(outputs, k), scale, out=gradient, device=self.device)

    def curvature(self, slopes: Any) -> np.ndarray:
        """See :class:`Features`."""
        n, k = self.shape
        three = slopes.reshape(n, 1, 1), self.array.reshape(n, k, 1), self.array.reshape(n, 1, k)
        found = self.device.to_host(reduce(*three, map="d*x*y", axis=0, device=self.device)).astype(np.float64)
        scale = np.ones(k) if self.scale is None else self.device.to_host(self.scale)
        curved: np.ndarray = found * np.outer(scale, scale)
        return curved

    @property
    def dense(self) -> Any:
        """See :class:`Features`."""
        return self.array if self.scale is None else None

    def squares(self) -> Any:
        """See :class:`Features`."""
        return reduce(self.array, map="x*x", axis=1, device=self.device)

    def part(self, start: int, stop: int) -> DenseFeatures:
        """See :class:`Features`."""
        return DenseFeatures(self.device, self.array[start:stop], self.scale)

    def in_fewer_bits(self, kept: np.dtype[Any]) -> DenseFeatures:
        """Return them as integers of a byte or as halves, from -1 to 1 times a scale of each feature."""
        device, whole = self.device, kept.kind == "i"
        highest = np.dtype(self.array.dtype).type(127 if whole else 1)
        largest = reduce(self.array, map="abs(x)", op="max", axis=0, device=device)
        scale = map_elements(lambda m: np.where(m > 0, m, 1) / highest, largest, device=device)
        fewer = map_elements(
            lambda x, s: (np.rint(x / s) if whole else x / s).astype(kept), self.array, scale, device=device
        )
        return DenseFeatures(device, fewer, scale)
