"""Sparse matrices for tests of products and of LogReg."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def rows_of(rng: np.random.Generator, lengths: Any, k: int, dtype: Any = "f4") -> sparse.csr_array:
    """Return a matrix with rows of these lengths and random columns, some of them repeated in a row."""
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    data = rng.standard_normal(indptr[-1]).astype(dtype)
    return sparse.csr_array((data, rng.integers(0, k, indptr[-1]).astype(np.int32), indptr), (len(lengths), k))


def beside(rng: np.random.Generator, k: int, outputs: int | None, dtype: Any = "f4") -> np.ndarray:
    return rng.standard_normal(k if outputs is None else (k, outputs)).astype(dtype)


def assert_product(got: Any, A: Any, dense: np.ndarray) -> None:
    """Compare a product with SciPy's in float64, within some roundings of the terms."""
    got, whole = np.asarray(got), A.copy()
    assert got.dtype == dense.dtype
    whole.data = A.data.astype(np.float64)  # astype and abs of the matrix would add up repeated columns
    expected = whole @ dense.astype(np.float64)
    whole.data = np.abs(whole.data)
    terms = whole @ np.abs(dense.astype(np.float64))
    assert got.shape == expected.shape
    room = 16 * float(np.finfo(dense.dtype).eps) * terms
    np.testing.assert_array_less(np.abs(got - expected), room + 1e-300)


WRONG: dict[str, tuple[Any, Any, str]] = {
    "begins": ([0, 1, 2, 1], [1, 2, 2, 4], "indptr that begins at 0; got 1"),
    "decreases": ([0, 1, 2, 1], [0, 3, 2, 4], "indptr that never decreases; got 3 and then 2 at row 1"),
    "ends before": ([0, 1, 2, 1], [0, 1, 2, 3], "ends at the number of stored elements, 4; got 3"),
    "ends behind": ([0, 1, 2, 1], [0, 1, 2, 5], "ends at the number of stored elements, 4; got 5"),
    "wraps": ([0, 1, 2, 1], [0, 2**31 - 1, -(2**31), 4], "indptr that never decreases; got 2147483647 and then -2147"),
    "below": ([0, 1, -1, 1], [0, 1, 2, 4], r"columns from 0 to 2; got indices\[2\] = -1"),
    "above": ([0, 1, 2, 3], [0, 1, 2, 4], r"columns from 0 to 2; got indices\[3\] = 3"),
}
