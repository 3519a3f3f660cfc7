"""Samples most of whose features are zero: SciPy's CSR matrices, by rows and by columns on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gpuprims.core.device import Device
from gpuprims.models.logreg.features import DenseFeatures
from gpuprims.primitives.csr import check_indices, product_of_checked
from gpuprims.primitives.map import map as map_elements

# Bytes of rows that are written out with their zeros at a time, for second derivatives and steps by single samples.
_SLAB = 64 << 20
# Elements of a row beyond which it is cut into several: a longer one would keep its few work-items busy when all others
# are done, as the column of a word that is in every text.
_LONG = 4096


class _Stored(NamedTuple):
    """A sparse matrix by rows on a device: elements, their places in a row, and where rows begin.

    Rows may be cut; ``whole`` is then the matrix that adds up the pieces of each.
    """

    data: Any
    indices: Any
    indptr: Any
    whole: _Stored | None = None

    def product(self, dense: Any, device: Device) -> Any:
        """Multiply by a dense vector or matrix."""
        found = product_of_checked(self.data, self.indices, self.indptr, dense, device=device)
        return found if self.whole is None else self.whole.product(found, device)


class SparseFeatures:
    """Features of which those that are zero are in no memory.

    Scores walk along the rows and gradients along the columns, so each form is brought to the device when it is first
    asked for, and stays there. Of a part with fewer elements than there are columns, these are made anew each time.

    Parameters
    ----------
    device : Device
    matrix : csr_array or csr_matrix of shape (n, k)
        The host's, checked by :func:`check_matrix`.
    rows : _Stored or None
        The same on the device, of a part of a larger matrix.
    """

    def __init__(self, device: Device, matrix: Any, rows: _Stored | None = None) -> None:
        self.device = device
        self.matrix = matrix
        # Where columns begin is most of what there is of parts that have fewer elements than there are columns.
        self._keeps_columns = rows is None or matrix.shape[1] <= matrix.nnz
        self._rows = rows
        self._columns: _Stored | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """See :class:`Features`."""
        n, k = self.matrix.shape
        return int(n), int(k)

    def scores(self, coefficients: Any) -> Any:
        """See :class:`Features`."""
        n, outputs = self.shape[0], coefficients.shape[0]
        dense = coefficients.reshape(-1) if outputs == 1 else coefficients.T
        return self._by_rows().product(dense, self.device).reshape(n, outputs)

    def back(self, errors: Any, gradient: Any) -> None:
        """See :class:`Features`."""
        outputs = errors.shape[1]
        dense = errors.reshape(-1) if outputs == 1 else errors
        found = self._by_columns().product(dense, self.device)
        map_elements("g", found.reshape(1, -1) if outputs == 1 else found.T, out=gradient, device=self.device)

    def curvature(self, slopes: Any) -> np.ndarray:
        """See :class:`Features`."""
        (n, k), done = self.shape, 0
        total = np.zeros((k, k))
        for some, slab in self.slabs(np.arange(n)):
            total += DenseFeatures(self.device, slab).curvature(slopes[done : done + len(some)])
            done += len(some)
        return total

    @property
    def dense(self) -> None:
        """See :class:`Features`."""
        return None

    def squares(self) -> Any:
        """See :class:`Features`."""
        squared = np.asarray(self.matrix.multiply(self.matrix).sum(axis=1))
        return self.device.asarray(np.ascontiguousarray(squared.reshape(-1), self.matrix.dtype))

    def slabs(self, numbers: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield samples in the order of their numbers, some at a time: these numbers, and a matrix with all zeros."""
        rows = max(_SLAB // (self.shape[1] * self.matrix.dtype.itemsize), 1)
        for start in range(0, len(numbers), rows):
            some = numbers[start : start + rows]
            yield some, self.device.asarray(self.matrix[some].toarray())

    def part(self, start: int, stop: int) -> SparseFeatures:
        """See :class:`Features`."""
        begin, end = (int(self.matrix.indptr[row]) for row in (start, stop))
        indptr = self.matrix.indptr[start : stop + 1] - begin
        stored = self.matrix.data[begin:end], self.matrix.indices[begin:end], indptr
        whole = self._by_rows()
        rows = _Stored(whole.data[begin:end], whole.indices[begin:end], self.device.asarray(indptr))
        return SparseFeatures(self.device, sparse.csr_array(stored, (stop - start, self.shape[1])), rows)

    def widened(self) -> SparseFeatures:
        """See :class:`Features`; this copies the elements."""
        return SparseFeatures(self.device, self.matrix.astype(np.float64))

    def spread(self, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        """See :class:`Features`."""
        counts = self.device.to_host(weights).reshape(-1)
        matrix, total = self.matrix.astype(np.float64), float(counts.sum())
        mean = np.asarray(matrix.T @ counts) / total
        squares = np.asarray(matrix.multiply(matrix).T @ counts) / total
        return mean, np.sqrt(np.maximum(squares - mean * mean, 0))

    def _by_rows(self) -> _Stored:
        if self._rows is None:
            self._rows = self._bring(self.matrix)
        return self._rows

    def _by_columns(self) -> _Stored:
        if self._columns is not None:
            return self._columns
        found = self._bring(self.matrix.T.tocsr())
        if self._keeps_columns:
            self._columns = found
        return found

    def _bring(self, matrix: Any) -> _Stored:
        stored, indptr = (matrix.data, matrix.indices), matrix.indptr
        if np.diff(indptr).max(initial=0) <= _LONG:
            return self._send(*stored, indptr)
        pieces = np.maximum(-(-np.diff(indptr) // _LONG), 1)
        ends = np.concatenate([[0], np.cumsum(pieces)]).astype(indptr.dtype)
        count = np.arange(ends[-1], dtype=indptr.dtype)
        begins = np.repeat(indptr[:-1], pieces) + _LONG * (count - np.repeat(ends[:-1], pieces))
        whole = self._send(np.ones(len(count), matrix.dtype), count, ends)
        return self._send(*stored, np.append(begins, indptr[-1:]))._replace(whole=whole)

    def _send(self, *arrays: np.ndarray) -> _Stored:
        return _Stored(*(self.device.asarray(np.ascontiguousarray(array)) for array in arrays))


def check_matrix(label: str, X: Any) -> None:
    """Raise for a sparse matrix whose indices lead out of it, which conversions and kernels would follow.

    Raises
    ------
    ArgumentError
    """
    if X.format in ("csr", "csc"):
        stored, across = len(X.data), X.shape[X.format == "csr"]
        check_indices(label, np.asarray(X.indices), np.asarray(X.indptr), stored, across)


def narrowed(matrix: Any) -> Any:
    """Return a CSR matrix whose indices are of 32 bits where these suffice, which are half of what is read."""
    if matrix.indices.dtype == np.int32 == matrix.indptr.dtype or max(*matrix.shape, matrix.nnz) >= 2**31:
        return matrix
    stored = matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return sparse.csr_array(stored, matrix.shape)
