"""The features of samples on a device, by what a linear model asks of them; of those held whole."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from gpuprims.core.device import Device
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

# Numbers of samples that are multiplied at once on a CPU. Of 10^6 x 100 float32 one core of an AMD EPYC of family 26
# takes with 2^16 0.32 s, 2^18 0.28, 2^20 0.34, 2^22 0.34; but each product waits for all threads, so where other work
# has the cores larger blocks are faster: 2^18 0.2 to 9.3, 2^20 1.4 to 7.4 (OpenBLAS of NumPy 2.4.6, 2026-11-22).
_BLOCK = 2**20


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

    def widened(self) -> Self:
        """Return the same features with products in float64."""

    def spread(self, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted mean and standard deviation of each feature, on the host.

        Weights have shape (n, 1); features and weights are float64.
        """


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
        on_host = self.device.capabilities.kind in ("cpu", "reference")
        found = (gram_by_blocks if on_host else gram_by_reduce)(self.device, self.array, slopes)
        scale = np.ones(self.shape[1]) if self.scale is None else self.device.to_host(self.scale)
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

    def widened(self) -> DenseFeatures:
        """See :class:`Features`; kernels convert the elements of the same array as they read them."""
        scale = np.ones(self.shape[1]) if self.scale is None else self.device.to_host(self.scale).astype(np.float64)
        return DenseFeatures(self.device, self.array, self.device.asarray(scale))

    def spread(self, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        """See :class:`Features`."""
        device = self.device
        scale = np.ones(self.shape[1]) if self.scale is None else np.abs(device.to_host(self.scale))
        total = float(device.to_host(reduce(weights, device=device)))
        summed = reduce(self.array, weights, map="x*s", axis=0, device=device)
        mean = map_elements(lambda x: x / total, summed, device=device)
        given = self.array, mean.reshape(1, -1), weights
        squares = reduce(*given, map=lambda x, m, s: s * (x - m) * (x - m), axis=0, device=device)
        deviation = np.sqrt(device.to_host(squares) / total)
        return device.to_host(mean) * scale, deviation * scale

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


def gram_by_reduce(device: Device, array: Any, slopes: Any) -> np.ndarray:
    """Return ``array.T @ (slopes * array)`` by one fold for each of its elements."""
    n, k = array.shape
    three = slopes.reshape(n, 1, 1), array.reshape(n, k, 1), array.reshape(n, 1, k)
    found: np.ndarray = device.to_host(reduce(*three, map="d*x*y", axis=0, device=device)).astype(np.float64)
    return found


def gram_by_blocks(device: Device, array: Any, slopes: Any) -> np.ndarray:
    """Return ``array.T @ (slopes * array)`` by NumPy's BLAS, for devices that are the host's processor.

    So many rows at a time stay in its cache; their products are added up in float64.
    """
    n, k = array.shape
    rows, total = max(_BLOCK // k, 1), np.zeros((k, k))
    for start in range(0, n, rows):
        block, own = (device.to_host(one[start : start + rows]) for one in (array, slopes))
        weighted = own * block  # of the slopes' dtype, where features are kept in fewer bits
        total += block.astype(weighted.dtype, copy=False).T @ weighted
    return total
