"""var, std and norm: operators of sums of squares."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.errors import ArgumentError, quoted
from gpuprims.operators.dtypes import rooting, spreading
from gpuprims.operators.op import Op
from gpuprims.operators.rounding import fast_two_sum, two_sum

# Number of elements and its error; their mean and its error; the sum of their squared distances from the mean.
Moments = tuple[Any, Any, Any, Any, Any]


def _merge(p: Moments, q: Moments) -> Moments:
    """Return the moments of the union of two sets of elements.

    B. P. Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962),
    adds one element to a set; T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a pairwise algorithm
    for computing sample variances", Stanford STAN-CS-79-773 (1979), joins two sets.

    Counts and means carry their rounding errors: a float32 cannot count beyond 2**24, and near 1e6 it is rounded to
    1/16, which adds 0.4 % to noise of 1. Counts are exact up to 2**48. Every component has the dtype of the elements,
    so no device needs float64 or 64-bit integers. If squared distances overflow, the result is inf or nan.
    """
    (n, n_error, mean, mean_error, squares), (m, m_error, other, other_error, other_squares) = p, q
    count, left = two_sum(n, m)
    count, left = fast_two_sum(count, left + (n_error + m_error))
    weight = m / np.maximum(count, 1)
    distance = (other - mean) + (other_error - mean_error)
    moved, rest = two_sum(mean, distance * weight)
    # In this order the n = 0 of an identity multiplies a distance, not its square, which may overflow.
    joined = squares + other_squares + distance * (distance * (n * weight))
    nothing = n == 0  # keeps the bits of the other mean, and inf - inf out
    return (
        count,
        left,
        np.where(nothing, other, moved),
        np.where(nothing, other_error, mean_error + rest),
        joined,
    )


def _spread(name: str, ddof: float, last: Callable[[Any], Any]) -> Op:
    def finish(n: Any, n_error: Any, mean: Any, mean_error: Any, squares: Any, count: Any) -> Any:
        # As in NumPy, too few elements for ddof divide by 0.
        return last(squares / np.maximum(count - ddof, 0))

    return Op(
        _merge,
        (0,) * 5,
        name=name,
        commutative=True,
        # inf - inf makes the result nan for infinite elements, as in NumPy.
        prepare=lambda element, index: (1, 0, element, 0, element - element),
        finish=finish,
        dtypes=spreading(name),
        converts=True,
    )


@lru_cache(maxsize=256)
def variance(ddof: float = 0) -> Op:
    """Return ``var``, the sum of squared distances from the mean divided by ``count - ddof``.

    Each ``ddof`` has one operator, because plans are looked up by operator.
    """
    return _spread("var", ddof, lambda squared: squared)


@lru_cache(maxsize=256)
def deviation(ddof: float = 0) -> Op:
    """Return ``std``, the square root of ``var``."""
    return _spread("std", ddof, np.sqrt)


SPREADS = {"var": variance, "std": deviation}


def as_ddof(ddof: object) -> float:
    """Check a caller's ``ddof=``."""
    if isinstance(ddof, bool) or not isinstance(ddof, int | float | np.integer | np.floating):
        raise ArgumentError(f"ddof: a number; got {quoted(ddof)}")
    if not _is_finite(ddof):
        raise ArgumentError(f"ddof: a finite number; got {quoted(ddof)}")
    return int(ddof) if ddof == int(ddof) else float(ddof)


def norm() -> Op:
    """Return ``norm``, the square root of the sum of squares.

    Elements are converted before they are squared, which may overflow int8 or float16.
    """
    return Op(
        "a + b",
        0,
        name="norm",
        commutative=True,
        prepare=lambda element, index: element * element,
        finish=lambda squares, count: np.sqrt(squares),
        dtypes=rooting,
        converts=True,
    )


def _is_finite(number: Any) -> bool:
    """Return True if a number is finite as a float."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
