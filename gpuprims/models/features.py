"""The features of samples on a device, dense or sparse, with the products that logistic regression needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.models import gram
from gpuprims.models.csr_matrix import CsrMatrix
from gpuprims.models.transposition import transposed
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.take import take

# Bytes of a slab of rows as a dense matrix, for Hessians and steps by single samples.
_SLAB_BYTES = 64 << 20
# Longest row on a device. Longer ones are cut into pieces, or they would still run when all others are done.
_LONGEST_ROW = 4096


class DenseFeatures:
    """A matrix X of n samples and k features in one array on the device.

    Features in fewer bits have a ``scale`` of shape (k,), whose dtype is that of all products. Results are arrays of
    the device's own library.
    """

    rough = False  # True if products have fewer bits than the dtype

    def __init__(self, device: Device, array: Any, scale: Any = None) -> None:
        self.device, self.array, self.scale = device, array, scale
        self.shape: tuple[int, int] = array.shape
        self.unscaled = array if scale is None else None
        self.dense = self.unscaled  # X as the logistic kernels read it
        self.integers = None if scale is None or array.dtype.kind != "i" else array  # X in units of the scale
        self._ranges: tuple[np.ndarray, np.ndarray] | None = None

    def _product(self, beside: Any) -> Callable[[Any, Any], Any] | None:
        """Return the vendor's product of the features and a matrix of their dtype; None if there is none."""
        if asks_for_device():
            return None
        found: Callable[[Any, Any], Any] | None = getattr(self.device.driver, "matmul", None)
        return found if beside.dtype == self.array.dtype else None

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
        if (product := self._product(residuals)) is not None:
            found = product(residuals.T, self.array)
        elif outputs == 1:
            found = reduce(self.array, residuals, map="x*e", axis=0, device=self.device)
        else:
            beside = self.array.reshape(n, 1, k), residuals.reshape(n, outputs, 1)
            found = reduce(*beside, map="x*e", axis=0, device=self.device)
        scale = 1 if self.scale is None else self.scale.reshape(1, -1)
        map_elements("g*s", found.reshape(outputs, k), scale, out=gradient, device=self.device)

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
        count = max(_SLAB_BYTES // (self.shape[1] * 4), 1)
        scale = 1 if self.scale is None else self.scale.reshape(1, -1)
        for some in (rows[start : start + count] for start in range(0, len(rows), count)):
            taken = take(self.array, self.device.asarray(some.astype(np.int32)), axis=0, device=self.device)
            yield some, map_elements("x*s", taken, scale, device=self.device)

    def rows(self, start: int, stop: int) -> DenseFeatures:
        """Return the features of samples ``start`` to ``stop``, without a copy."""
        return type(self)(self.device, self.array[start:stop], self.scale)

    def columns(self, chosen: np.ndarray) -> DenseFeatures:
        """Return some of the features, copied."""
        places = self.device.asarray(chosen.astype(np.int32))
        scale = None if self.scale is None else take(self.scale, places, device=self.device)
        return type(self)(self.device, take(self.array, places, axis=1, device=self.device), scale)

    def as_float64(self) -> DenseFeatures:
        """Return the same features with products in float64; kernels convert the array as they read it."""
        return type(self)(self.device, self.array, self.device.asarray(self._host_scale().astype(np.float64)))

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

    def middles_and_reaches(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the middle of each feature's range and half its width, on the host in float64; computed once."""
        if self._ranges is None:
            found = (reduce(self.array, op=op, axis=0, device=self.device) for op in ("min", "max"))
            scale = self._host_scale()
            self._ranges = _middles(*(self.device.to_host(one).astype(np.float64) * scale for one in found))
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


def _middles(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (low + high) / 2, np.abs(high - low) / 2


class SparseFeatures:
    """CSR features; zeros are not stored.

    Scores read rows and gradients read columns. Each form is copied to the device when it is first needed and stays
    there, except for the columns of a batch with fewer elements than columns, which are copied each time. The matrix is
    on the host and checked; ``rows`` is its copy on the device, if there is one.
    """

    dense, unscaled, integers, rough = None, None, None, False  # see DenseFeatures
    slab_class = DenseFeatures  # of rows as a dense matrix

    def __init__(self, device: Device, matrix: Any, rows: CsrMatrix | None = None) -> None:
        self.device, self.matrix = device, matrix
        self.shape: tuple[int, int] = matrix.shape
        # A batch with fewer elements than columns would mostly store where its columns begin.
        self._keeps_columns = rows is None or matrix.shape[1] <= matrix.nnz
        self._rows = rows
        self._columns: CsrMatrix | None = None
        self._ranges: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def elements(self) -> Any:
        """The stored elements, on the device."""
        return self._by_rows().data

    def scores(self, coefficients: Any) -> Any:
        """See :class:`DenseFeatures`."""
        n, outputs = self.shape[0], coefficients.shape[0]
        dense = coefficients.reshape(-1) if outputs == 1 else coefficients.T
        return self._by_rows().product(dense, self.device).reshape(n, outputs)

    def write_gradient(self, residuals: Any, gradient: Any) -> None:
        """See :class:`DenseFeatures`."""
        outputs = residuals.shape[1]
        dense = residuals.reshape(-1) if outputs == 1 else residuals
        found = self._by_columns().product(dense, self.device)
        map_elements("g", found.reshape(1, -1) if outputs == 1 else found.T, out=gradient, device=self.device)

    def gram(self, weights: Any) -> np.ndarray:
        """See :class:`DenseFeatures`."""
        (n, k), done = self.shape, 0
        total = np.zeros((k, k))
        for rows, slab in self.slabs(np.arange(n)):
            total += self.slab_class(self.device, slab).gram(weights[done : done + len(rows)])
            done += len(rows)
        return total

    def squared_norms(self) -> Any:
        """See :class:`DenseFeatures`."""
        squared = np.asarray(self.matrix.multiply(self.matrix).sum(axis=1))
        return self.device.asarray(np.ascontiguousarray(squared.reshape(-1), self.matrix.dtype))

    def slabs(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield some of the given rows at a time: their indices, and a dense matrix on the device."""
        count = max(_SLAB_BYTES // (self.shape[1] * self.matrix.dtype.itemsize), 1)
        for start in range(0, len(rows), count):
            some = rows[start : start + count]
            yield some, self.device.asarray(self.matrix[some].toarray())

    def rows(self, start: int, stop: int) -> SparseFeatures:
        """See :class:`DenseFeatures`."""
        begin, end = (int(self.matrix.indptr[row]) for row in (start, stop))
        indptr = self.matrix.indptr[start : stop + 1] - begin
        stored = self.matrix.data[begin:end], self.matrix.indices[begin:end], indptr
        whole = self._by_rows()
        rows = CsrMatrix(whole.data[begin:end], whole.indices[begin:end], self.device.asarray(indptr))
        return type(self)(self.device, sparse.csr_array(stored, (stop - start, self.shape[1])), rows)

    def columns(self, chosen: np.ndarray) -> SparseFeatures:
        """See :class:`DenseFeatures`."""
        return SparseFeatures(self.device, self.matrix[:, chosen])

    def as_float64(self) -> SparseFeatures:
        """See :class:`DenseFeatures`; copies the elements."""
        return type(self)(self.device, self.matrix.astype(np.float64))

    def mean_and_deviation(self, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        """See :class:`DenseFeatures`."""
        counts = self.device.to_host(weights).reshape(-1)
        matrix, total = self.matrix.astype(np.float64), float(counts.sum())
        mean = np.asarray(matrix.T @ counts) / total
        squares = np.asarray(matrix.multiply(matrix).T @ counts) / total
        return mean, np.sqrt(np.maximum(squares - mean * mean, 0))

    def middles_and_reaches(self) -> tuple[np.ndarray, np.ndarray]:
        """See :class:`DenseFeatures`."""
        if self._ranges is None:
            found = self.matrix.min(axis=0), self.matrix.max(axis=0)
            self._ranges = _middles(*(one.toarray().reshape(-1).astype(np.float64) for one in found))
        return self._ranges

    def _by_rows(self) -> CsrMatrix:
        if self._rows is None:
            self._rows = self._cut(self.matrix.data, self.matrix.indices, self.matrix.indptr)
        return self._rows

    def _by_columns(self) -> CsrMatrix:
        found = self._columns or self._transposed()
        if self._keeps_columns:
            self._columns = found
        return found

    def _transposed(self) -> CsrMatrix:
        if self.device.capabilities.kind == "gpu":
            data, indices, *_ = self._by_rows()
            return self._cut(*transposed(self.device, data, indices, self.matrix.indptr, self.shape[1]))
        return self._transposed_on_host()

    def _transposed_on_host(self) -> CsrMatrix:
        columns = self.matrix.T.tocsr()
        return self._cut(columns.data, columns.indices, columns.indptr)

    def _cut(self, data: Any, indices: Any, indptr: np.ndarray) -> CsrMatrix:
        """Return a matrix on the device, with long rows cut; data and indices may be there already."""
        if np.diff(indptr).max(initial=0) <= _LONGEST_ROW:
            return self._there(data, indices, indptr)
        pieces = np.maximum(-(-np.diff(indptr) // _LONGEST_ROW), 1)
        ends = np.concatenate([[0], np.cumsum(pieces)]).astype(indptr.dtype)
        count = np.arange(ends[-1], dtype=indptr.dtype)
        begins = np.repeat(indptr[:-1], pieces) + _LONGEST_ROW * (count - np.repeat(ends[:-1], pieces))
        whole = self._there(np.ones(len(count), data.dtype), count, ends)
        return self._there(data, indices, np.append(begins, indptr[-1:]))._replace(whole=whole)

    def _there(self, *arrays: Any) -> CsrMatrix:
        host = (np.ascontiguousarray(one) if isinstance(one, np.ndarray) else None for one in arrays)
        pairs = zip(arrays, host, strict=True)
        return CsrMatrix(*(one if own is None else self.device.asarray(own) for one, own in pairs))


Features = DenseFeatures | SparseFeatures
