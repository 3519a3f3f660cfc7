"""The sparse features of samples on a device, with the products that models need."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.models.csr_matrix import CsrMatrix
from gpuprims.models.features import SLAB_BYTES, DenseFeatures, centres
from gpuprims.models.in_place import Home, reads_in_place
from gpuprims.models.transposition import transposed
from gpuprims.primitives.map import map as map_elements

# Longest row on a device. Longer rows are cut into pieces, so that no work-item still runs when all others have ended.
_LONGEST_ROW = 4096
# Most products of a sparse matrix that SciPy computes before a launch would end; four times as many if a launch wakes
# threads (measurements.md, sparse predictions).
_FEW_PRODUCTS = 1 << 19


class SparseFeatures:
    """CSR features; zeros are not stored.

    Scores read rows and gradients read columns. Each form is made on the device when it is first needed and stays
    there, except for the columns of a batch with fewer elements than columns, which are made each time. The matrix is
    on the host and checked, and CPUs read it there; ``rows`` is its copy on the device, if there is one.
    """

    dense, unscaled, integers, rough, by_primitives = None, None, None, False, False  # see DenseFeatures
    slab_class = DenseFeatures  # of rows as a dense matrix

    def __init__(self, device: Device, matrix: Any, rows: CsrMatrix | None = None) -> None:
        self.device, self.matrix = device, matrix
        self.home = Home(device, reads_in_place(device))
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
        if self._are_few(outputs):
            return self.matrix @ coefficients.T
        dense = coefficients.reshape(-1) if outputs == 1 else coefficients.T
        return self._by_rows().product(dense, self.device).reshape(n, outputs)

    def write_gradient(self, residuals: Any, gradient: Any) -> None:
        """See :class:`DenseFeatures`."""
        outputs = residuals.shape[1]
        if self._are_few(outputs):
            gradient[...] = (self._turned @ residuals).T
            return
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
        return self.home.asarray(np.ascontiguousarray(squared.reshape(-1), self.matrix.dtype))

    def slabs(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield some of the given rows at a time: their indices, and a dense matrix on the device."""
        count = max(SLAB_BYTES // (self.shape[1] * self.matrix.dtype.itemsize), 1)
        for start in range(0, len(rows), count):
            some = rows[start : start + count]
            yield some, self.home.asarray(self.matrix[some].toarray())

    def rows(self, start: int, stop: int) -> SparseFeatures:
        """See :class:`DenseFeatures`."""
        begin, end = (int(self.matrix.indptr[row]) for row in (start, stop))
        indptr = self.matrix.indptr[start : stop + 1] - begin
        stored = self.matrix.data[begin:end], self.matrix.indices[begin:end], indptr
        whole = self._by_rows()
        rows = CsrMatrix(whole.data[begin:end], whole.indices[begin:end], self.home.asarray(indptr))
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

    def centres_and_half_widths(self) -> tuple[np.ndarray, np.ndarray]:
        """See :class:`DenseFeatures`."""
        if self._ranges is None:
            found = self.matrix.min(axis=0), self.matrix.max(axis=0)
            self._ranges = centres(*(one.toarray().reshape(-1).astype(np.float64) for one in found))
        return self._ranges

    def _are_few(self, outputs: int) -> bool:
        """Return True if SciPy computes the products with so many columns before a launch on a CPU would end."""
        return self.home.has_few(self.matrix.nnz * outputs, _FEW_PRODUCTS) and not asks_for_device()

    @cached_property
    def _turned(self) -> Any:
        """The transposed matrix, for SciPy: a view."""
        return self.matrix.T

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
        return CsrMatrix(*(one if own is None else self.home.asarray(own) for one, own in pairs))


Features = DenseFeatures | SparseFeatures
