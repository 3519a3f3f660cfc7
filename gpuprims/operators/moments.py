"""var, std and norm: what is made of sums of squares."""

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

# Elements, as a number and its error; their mean, likewise; the sum of their squared distances from it.
Moments = tuple[Any, Any, Any, Any, Any]


def _merge(p: Moments, q: Moments) -> Moments:
    """Join the moments of two sets of elements, neither of which is read again.

    B. P. Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962),
    adds one element to a set; T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a pairwise algorithm
    for computing sample variances", Stanford STAN-CS-79-773 (1979), joins two sets.

    Numbers of elements and means each carry their rounding error, since in float32 the former stop counting at 2**24,
    and a mean of 1e6 moves in steps of 1/16, to which noise of 1 adds 0.4 %. Counts are thus exact up to 2**48, and
    every component has the elements' own dtype: no device needs float64 for it, and no vector integers of 64 bits.
    Where squared distances overflow the result is inf or nan.
    """
    (n, n_error, mean, mean_error, squares), (m, m_error, other, other_error, other_squares) = p, q
    count, left = two_sum(n, m)
    count, left = fast_two_sum(count, left + (n_error + m_error))
    weight = m / np.maximum(count, 1)
    distance = (other - mean) + (other_error - mean_error)
    moved, rest = two_sum(mean, distance * weight)
    # Multiplied in this order, an identity's n = 0 meets a distance, not its square, which may have overflowed.
    joined = squares + other_squares + distance * (distance * (n * weight))
    nothing = n == 0  # then the mean is the other one, to its last bit, and an infinite one does not meet itself
    return (
        count,
        left,
        np.where(nothing, other, moved),
        np.where(nothing, other_error, mean_error + rest),
        joined,
    )


def _spread(name: str, ddof: float, last: Callable[[Any], Any]) -> Op:
    def finish(n: Any, n_error: Any, mean: Any, mean_error: Any, squares: Any, count: Any) -> Any:
        # As NumPy: too few elements for ddof divide by 0, which gives inf, or nan where they do not differ.
        return last(squares / np.maximum(count - ddof, 0))

    return Op(
        _merge,
        (0,) * 5,
        name=name,
        commutative=True,
        # An infinite element is at no distance from any mean: as in NumPy, nan.
        prepare=lambda element, index: (1, 0, element, 0, element - element),
        finish=finish,
        dtypes=spreading(name),
        converts=True,
    )


@lru_cache(maxsize=256)
def variance(ddof: float = 0) -> Op:
    """Make ``var``: the mean squared distance from the mean, with ``count - ddof`` for a divisor.

    One operator for each ``ddof``, so that plans, which are looked up by their operator, are kept apart.
    """
    return _spread("var", ddof, lambda squared: squared)


@lru_cache(maxsize=256)
def deviation(ddof: float = 0) -> Op:
    """Make ``std``, the root of ``var``."""
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
    """Make ``norm``, the root of the sum of squares.

    Elements take the dtype of the sum before they are squared: 200 squared is no int8, nor 300 squared a float16.
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
    """Return True if a number is finite as a float; very long integers are not."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
