"""Small products and solutions on the host, in float64.

Libraries such as BLAS and LAPACK add in an order of their own, and differ from machine to machine. Where calls ask for
the same bits on every device, these functions round sums once, and use NumPy's operations of single elements.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

from gpuprims.core.determinism import asks_for_device

# A pivot below this many roundings of its diagonal element is lost: the features depend on each other.
_LOST = 64


def dot(one: np.ndarray, other: np.ndarray) -> float:
    """Return the sum of the products of two rows of numbers."""
    return total(one * other) if asks_for_device() else float(one @ other)


def norm(row: np.ndarray) -> float:
    """Return the Euclidean length of a row of numbers."""
    return math.sqrt(dot(row, row)) if asks_for_device() else float(np.linalg.norm(row))


def total(row: np.ndarray) -> float:
    """Return the sum of a row of numbers."""
    if not asks_for_device():
        return float(row.sum(dtype=np.float64))
    try:
        return math.fsum(row.tolist())
    except (OverflowError, ValueError):  # a sum beyond the range of floats, or infinities of both signs
        return math.nan


def direction_of(size: int) -> np.ndarray:
    """Return an arbitrary direction, the same each time."""
    random = np.random.default_rng(0)
    # Normal numbers depend on the C library's logarithm.
    return random.random(size) - 0.5 if asks_for_device() else random.standard_normal(size)


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve linear equations with a symmetric matrix that is positive definite up to rounding."""
    if asks_for_device():
        return _solved_by_columns(matrix, right)
    try:
        found: np.ndarray = linalg.cho_solve(linalg.cho_factor(matrix), right)
    except linalg.LinAlgError:  # linearly dependent features without a penalty
        found = linalg.lstsq(matrix, right)[0]
    return found


def _solved_by_columns(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve by Cholesky factors, a column at a time; unknowns whose pivots rounding hides are zero.

    Source: G. H. Golub and C. F. Van Loan, "Matrix Computations", section 4.2, the outer product form.
    """
    rest, factor = np.array(matrix, np.float64), np.zeros(matrix.shape)
    unknown = np.array(right, np.float64)
    lost = _LOST * np.finfo(np.float64).eps * np.diagonal(matrix)
    kept = [k for k in range(len(matrix)) if _eliminate(rest, factor, k, lost[k])]
    for k in kept:
        unknown[k] /= factor[k, k]
        unknown[k + 1 :] -= unknown[k] * factor[k + 1 :, k]
    found = np.zeros(len(matrix))
    for k in reversed(kept):
        found[k] = unknown[k] / factor[k, k]
        unknown[:k] -= found[k] * factor[k, :k]
    return found


def _eliminate(rest: np.ndarray, factor: np.ndarray, k: int, lost: float) -> bool:
    """Write column ``k`` of the factor, and take its products from the rest; return False for a pivot that is lost."""
    if not rest[k, k] > lost:
        return False
    root = math.sqrt(rest[k, k])
    column = rest[k + 1 :, k] / root
    factor[k, k], factor[k + 1 :, k] = root, column
    rest[k + 1 :, k + 1 :] -= np.multiply.outer(column, column)
    return True
