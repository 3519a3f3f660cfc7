"""The dense features of samples on a device, with the products that models need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.models import gram
from gpuprims.models.in_place import home_of
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.take import take

# Bytes of a slab of rows as a dense matrix, for Hessians and steps by single samples.
SLAB_BYTES = 64 << 20
# Fewest elements of features on the host that BLAS multiplies by one row of residuals after the other: by up to three
# rows; by up to six of float64, for features of so many columns (measurements.md, few rows of residuals).
_FEWEST_BY_THREE, _FEWEST_BY_SIX, _FEWEST_COLUMNS = 2**14, 2**19, 64


class DenseFeatures:
    """A matrix X of n samples and k features in one array on the device.

    Features in fewer bits have a ``scale`` of shape (k,), whose dtype is that of all products. Results are arrays of
    the device's own library, or of NumPy's if ``array`` is and the device is a CPU.
    """

    rough = False  # True if products have fewer bits than the dtype
    by_primitives = False  # True if nothing but primitives computes with them

    def __init__(self, device: Device, array: Any, scale: Any = None) -> None:
        self.device, self.array, self.scale = device, array, scale
        self.shape: tuple[int, int] = array.shape
        self.unscaled = array if scale is None else None
        self.dense = self.unscaled  # X as the logistic kernels read it
        self.home = home_of(array, device)
        self.integers = None if scale is None or array.dtype.kind != "i" else array  # X in units of the scale
        self._ranges: tuple[np.ndarray, np.ndarray] | None = None

    def _product(self, beside: Any) -> Callable[[Any, Any], Any] | None:
        """Return the vendor's product or NumPy's for a matrix of the features' dtype; None if there is none."""
        if asks_for_device() or beside.dtype != self.array.dtype:
            return None
        found: Callable[[Any, Any], Any] | None = getattr(self.device.driver, "matmul", None)
        return np.matmul if self.home.on_host else found

    def _host_scale(self) -> np.ndarray:
        return np.ones(self.shape[1]) if self.scale is None else self.device.to_host(self.scale)

    def scores(self, coefficients: Any) -> Any:
        """Return ``X @ coefficients.T`` of shape (n, outputs), for coefficients of shape (outputs, k)."""
        if self.scale is not None:
            coefficients = map_elements("w*s", coefficients, self.scale.reshape(1, -1), device=self.device)
        (n, k), outputs = self.shape, coefficients.shape[0]
        if (product := self._product(coefficients)) is not None:
            return product(self.array, coefficients.T)
        if outputs == 1:
            return reduce(self.array, coefficients.reshape(k), map="x*w", axis=1, device=self.device).reshape(n, 1)
        beside = self.array.reshape(n, 1, k), coefficients.reshape(1, outputs, k)
        return reduce(*beside, map="x*w", axis=2, device=self.device)

    def write_gradient(self, residuals: Any, gradient: Any) -> None:
        """Write ``residuals.T @ X`` to a gradient of shape (outputs, k), for residuals of shape (n, outputs)."""
        (n, k), outputs = self.shape, residuals.shape[1]
        if (product := self._product(residuals)) is not None and self.home.on_host:
            if self._takes_rows(outputs):
                for row, slopes in zip(residuals.T, gradient, strict=True):
                    np.dot(row, self.array, out=slopes)
            else:
                np.matmul(residuals.T, self.array, out=gradient)
            return
        if product is not None:
            found = product(residuals.T, self.array)
        elif outputs == 1:
            found = reduce(self.array, residuals, map="x*e", axis=0, device=self.device)
        else:
            beside = self.array.reshape(n, 1, k), residuals.reshape(n, outputs, 1)
            found = reduce(*beside, map="x*e", axis=0, device=self.device)
        scale = 1 if self.scale is None else self.scale.reshape(1, -1)
        map_elements("g*s", found.reshape(outputs, k), scale, out=gradient, device=self.device)

    def _takes_rows(self, outputs: int) -> bool:
        """Return True if products with single rows take less time than one product with all, whose blocks they fill."""
        size, wide = self.array.size, self.shape[1] >= _FEWEST_COLUMNS and self.array.dtype == np.float64
        if outputs <= 3:
            return outputs > 1 and size >= _FEWEST_BY_THREE
        return wide and outputs <= 6 and size >= _FEWEST_BY_SIX

    def gram(self, weights: Any) -> np.ndarray:
        """Return ``X.T @ (weights * X)`` on the host in float64, for weights of shape (n, 1)."""
        if self.device.capabilities.kind in ("cpu", "reference"):
            found = gram.gram_by_blocks(self.device, self.array, weights)
        elif (product := self._product(weights)) is not None:
            found = gram.gram_by_products(self.device, self.array, weights, product)
        else:
            found = gram.gram_by_reduce(self.device, self.array, weights)
        return found * np.outer(self._host_scale(), self._host_scale())

    def centred_gram(self, centre: np.ndarray) -> np.ndarray:
        """Return ``Z.T @ Z`` for ``Z = [X - centre, 1]`` on the host in float64; features in fewer bits have none."""
        if self.device.capabilities.kind in ("cpu", "reference"):
            return gram.centred_by_blocks(self.device, self.array, centre)
        if (product := self._product(self.array)) is not None:
            return gram.centred_by_products(self.device, self.array, centre, product)
        return gram.centred_by_reduce(self.device, self.array, centre)

    def squared_norms(self) -> Any:
        """Return the sum of squares of each sample, of shape (n,)."""
        scale = 1 if self.scale is None else self.scale.reshape(1, -1)
        return reduce(self.array, scale, map="(x*s)**2", axis=1, device=self.device)

    def slabs(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield some of the given rows at a time: their indices, and a matrix of floats on the device."""
        count = max(SLAB_BYTES // (self.shape[1] * 4), 1)
        scale = 1 if self.scale is None else self.scale.reshape(1, -1)
        for some in (rows[start : start + count] for start in range(0, len(rows), count)):
            taken = take(self.array, self.home.asarray(some.astype(np.int32)), axis=0, device=self.device)
            yield some, map_elements("x*s", taken, scale, device=self.device)

    def rows(self, start: int, stop: int) -> DenseFeatures:
        """Return the features of samples ``start`` to ``stop``, without a copy."""
        return type(self)(self.device, self.array[start:stop], self.scale)

    def columns(self, chosen: np.ndarray) -> DenseFeatures:
        """Return some of the features, copied."""
        places = self.home.asarray(chosen.astype(np.int32))
        scale = None if self.scale is None else take(self.scale, places, device=self.device)
        return type(self)(self.device, take(self.array, places, axis=1, device=self.device), scale)

    def as_float64(self) -> DenseFeatures:
        """Return the same features with products in float64; kernels convert the array as they read it."""
        return type(self)(self.device, self.array, self.home.asarray(self._host_scale().astype(np.float64)))

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

    def centres_and_half_widths(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the middle of each feature's range and half its width, on the host in float64; computed once."""
        if self._ranges is None:
            found = (reduce(self.array, op=op, axis=0, device=self.device) for op in ("min", "max"))
            scale = self._host_scale()
            self._ranges = centres(*(self.device.to_host(one).astype(np.float64) * scale for one in found))
        return self._ranges

    def quantised(self, kept: np.dtype[Any]) -> DenseFeatures:
        """Return the features in fewer bits, in units of a part of each feature's largest magnitude.

        It becomes an integer's largest number, and 256 in floats of 8 bits (normal numbers begin at 2^-6 or 2^-14).
        """
        device, whole = self.device, kept.kind == "i"
        highest = self.array.dtype.type(np.iinfo(kept).max if whole else 256 if kept.itemsize == 1 else 1)
        largest = reduce(self.array, map="abs(x)", op="max", axis=0, device=device)
        scale = map_elements(lambda m: np.where(m > 0, m, 1) / highest, largest, device=device)
        fewer = map_elements(
            lambda x, s: (np.rint(x / s) if whole else x / s).astype(kept), self.array, scale, device=device
        )
        return type(self)(device, fewer, scale)


def centres(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle of each range and half its width."""
    return (low + high) / 2, np.abs(high - low) / 2
