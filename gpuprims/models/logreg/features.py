"""Dense features of samples on a device, with the products that logistic regression needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce

_BLOCK = 2**20  # elements multiplied at once on a CPU (measurements.md, gram block)


class DenseFeatures:
    """A matrix X of n samples and k features in one array on the device.

    Features in fewer bits have a ``scale`` of shape (k,), whose dtype is that of all products. Results are arrays of
    the device's own library.
    """

    def __init__(self, device: Device, array: Any, scale: Any = None) -> None:
        self.device, self.array, self.scale = device, array, scale
        self.shape: tuple[int, int] = array.shape
        self.dense = array if scale is None else None  # X as the logistic kernels read it

    def _host_scale(self) -> np.ndarray:
        return np.ones(self.shape[1]) if self.scale is None else self.device.to_host(self.scale)

    def scores(self, coefficients: Any) -> Any:
        """Return ``X @ coefficients.T`` of shape (n, outputs), for coefficients of shape (outputs, k)."""
        if self.scale is not None:
            coefficients = map_elements("w*s", coefficients, self.scale.reshape(1, -1), device=self.device)
        (n, k), outputs = self.shape, coefficients.shape[0]
        if outputs == 1:
            return reduce(self.array, coefficients.reshape(k), map="x*w", axis=1, device=self.device).reshape(n, 1)
        beside = self.array.reshape(n, 1, k), coefficients.reshape(1, outputs, k)
        return reduce(*beside, map="x*w", axis=2, device=self.device)

    def write_gradient(self, residuals: Any, gradient: Any) -> None:
        """Write ``residuals.T @ X`` to a gradient of shape (outputs, k), for residuals of shape (n, outputs)."""
        (n, k), outputs = self.shape, residuals.shape[1]
        if outputs == 1:
            found = reduce(self.array, residuals, map="x*e", axis=0, device=self.device)
        else:
            beside = self.array.reshape(n, 1, k), residuals.reshape(n, outputs, 1)
            found = reduce(*beside, map="x*e", axis=0, device=self.device)
        scale = 1 if self.scale is None else self.scale.reshape(1, -1)
        map_elements("g*s", found.reshape(outputs, k), scale, out=gradient, device=self.device)

    def gram(self, weights: Any) -> np.ndarray:
        """Return ``X.T @ (weights * X)`` on the host in float64, for weights of shape (n, 1)."""
        on_host = self.device.capabilities.kind in ("cpu", "reference")
        found = (gram_by_blocks if on_host else gram_by_reduce)(self.device, self.array, weights)
        return found * np.outer(self._host_scale(), self._host_scale())

    def squared_norms(self) -> Any:
        """Return the sum of squares of each sample, of shape (n,)."""
        return reduce(self.array, map="x*x", axis=1, device=self.device)

    def rows(self, start: int, stop: int) -> DenseFeatures:
        """Return the features of samples ``start`` to ``stop``, without a copy."""
        return DenseFeatures(self.device, self.array[start:stop], self.scale)

    def as_float64(self) -> DenseFeatures:
        """Return the same features with products in float64; kernels convert the array as they read it."""
        return DenseFeatures(self.device, self.array, self.device.asarray(self._host_scale().astype(np.float64)))

    def mean_and_deviation(self, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return each feature's weighted mean and standard deviation on the host, for float64 weights of (n, 1)."""
        device = self.device
        scale = np.abs(self._host_scale())
        total = float(device.to_host(reduce(weights, device=device)))
        summed = reduce(self.array, weights, map="x*s", axis=0, device=device)
        mean = map_elements(lambda x: x / total, summed, device=device)
        given = self.array, mean.reshape(1, -1), weights
        squares = reduce(*given, map=lambda x, m, s: s * (x - m) * (x - m), axis=0, device=device)
        deviation = np.sqrt(device.to_host(squares) / total)
        return device.to_host(mean) * scale, deviation * scale

    def quantised(self, kept: np.dtype[Any]) -> DenseFeatures:
        """Return the features as int8 or float16, in units of each feature's largest magnitude."""
        device, whole = self.device, kept.kind == "i"
        highest = np.dtype(self.array.dtype).type(127 if whole else 1)
        largest = reduce(self.array, map="abs(x)", op="max", axis=0, device=device)
        scale = map_elements(lambda m: np.where(m > 0, m, 1) / highest, largest, device=device)
        fewer = map_elements(
            lambda x, s: (np.rint(x / s) if whole else x / s).astype(kept), self.array, scale, device=device
        )
        return DenseFeatures(device, fewer, scale)


def gram_by_reduce(device: Device, array: Any, weights: Any) -> np.ndarray:
    """Return ``array.T @ (weights * array)`` with one reduction per element."""
    n, k = array.shape
    three = weights.reshape(n, 1, 1), array.reshape(n, k, 1), array.reshape(n, 1, k)
    return device.to_host(reduce(*three, map="d*x*y", axis=0, device=device)).astype(np.float64)


def gram_by_blocks(device: Device, array: Any, weights: Any) -> np.ndarray:
    """Return ``array.T @ (weights * array)`` by NumPy's BLAS, for devices that are the host's CPU.

    Blocks of rows fit in the cache; their products are added in float64.
    """
    n, k = array.shape
    rows, total = max(_BLOCK // k, 1), np.zeros((k, k))
    for start in range(0, n, rows):
        block, own = (device.to_host(one[start : start + rows]) for one in (array, weights))
        weighted = own * block  # has the weights' dtype, also for features in fewer bits
        total += block.astype(weighted.dtype, copy=False).T @ weighted
    return total
