"""var and std: operators that fold the moments of elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.operators.dtypes import FLOAT64, INT64, Dtype, Dtypes, inexact
from gpuprims.operators.op import Op
from gpuprims.operators.rounding import fast_two_sum, two_sum

# Number of elements and its error; the mean of each part (a complex number has two) and its error; the sum of squared
# distances from the mean.
Moments = tuple[Any, ...]
SPREADS = ("var", "std", "nanvar", "nanstd")


def _merge(p: Moments, q: Moments) -> Moments:
    """Return the moments of the union of two sets of elements.

    B. P. Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962),
    adds one element to a set; T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a pairwise algorithm
    for computing sample variances", Stanford STAN-CS-79-773 (1979), joins two sets.

    Counts and means carry their rounding errors: a float32 cannot count beyond 2**24, and near 1e6 it is rounded to
    1/16, which adds 0.4 % to noise of 1. Counts are exact up to 2**48. Every component has the dtype of the elements,
    so no device needs float64 or 64-bit integers. If squared distances overflow, the result is inf or nan.
    """
    (n, n_error, *means, squares), (m, m_error, *others, other_squares) = p, q
    count, left = two_sum(n, m)
    count, left = fast_two_sum(count, left + (n_error + m_error))
    weight = m / np.maximum(count, 1)
    nothing = n == 0  # then the other mean is exact, and inf - inf does not arise
    joined, moments = squares + other_squares, []
    for mean, mean_error, other, other_error in zip(means[::2], means[1::2], others[::2], others[1::2], strict=True):
        distance = (other - mean) + (other_error - mean_error)
        moved, rest = two_sum(mean, distance * weight)
        # In this order the n = 0 of an identity multiplies a distance, not its square, which may overflow.
        joined = joined + distance * (distance * (n * weight))
        moments += [np.where(nothing, other, moved), np.where(nothing, other_error, mean_error + rest)]
    return count, left, *moments, joined


def _narrow(elements: Dtypes, values: Dtypes) -> bool:
    """Return True for elements whose squares 64 bits add up, if the result is a float64."""
    return elements[0].kind in "biu" and elements[0].itemsize <= 2 and values[0] == FLOAT64


def _distances(total: Any, squares: Any, count: Any) -> Any:
    """Return the sum of squared distances from the mean, from exact sums of elements and of their squares.

    With the nearest integer m to the mean, the squared distances from m are ``squares - m * (total + rest)``, in
    integers and so exact. The mean is ``rest / count`` from m. What remains to subtract is at most half of the
    difference, because the distances are integers, so no digits are lost.
    """
    number = np.maximum(count, 1)
    near = (2 * total + number) // (2 * number)
    rest = total - near * number
    return (squares - near * (total + rest)) - rest * (rest / number)


@lru_cache(maxsize=256)
def spread(name: str, ddof: float) -> Op:
    """Return ``var``, the sum of squared distances from the mean divided by ``count - ddof``, or ``std``, its root.

    ``nanvar`` and ``nanstd`` are those of the elements that are not NaN. Each ``ddof`` has one operator, because plans
    are looked up by operator.
    """
    plain = spread(name.removeprefix("nan"), ddof) if name.startswith("nan") else None

    def divided(squares: Any, freedom: Any) -> Any:
        """Divide by the degrees of freedom: without any, NumPy divides by 0, or gives NaN if it leaves NaN out."""
        least = 0 if plain is None else np.where(freedom > 0, 0, np.nan)
        squared = squares / np.maximum(freedom, least)
        return np.sqrt(squared) if name.endswith("std") else squared

    exact = _exact_spread(name, ddof, divided)

    def moments(parts: int, prepare: Callable[[Any, Any], Moments], **more: Any) -> Op:
        components = 3 + 2 * parts
        return Op(
            _merge,
            (0,) * components,
            name=name,
            commutative=True,
            prepare=prepare,
            finish=lambda n, n_error, *folded: divided(folded[-2], n - ddof + n_error),
            dtypes=inexact(name, components=components),
            skips=None if plain is None else np.isnan,
            **more,
        )

    # inf - inf makes the result nan for infinite elements, as in NumPy.
    of_complex = moments(2, lambda z, index: (1, 0, z.real, 0, z.imag, 0, z.real - z.real + (z.imag - z.imag)))

    def instead(elements: Dtypes, values: Dtypes) -> Op | None:
        if elements[0].kind == "c":
            return of_complex
        if plain is not None:
            return plain if elements[0].kind in "biu" else None
        return exact if _narrow(elements, values) else None

    return moments(1, lambda x, index: (1, 0, x, 0, x - x), converts=True, instead=instead)


def _exact_spread(name: str, ddof: float, divided: Callable[[Any, Any], Any]) -> Op:
    """Return the operator of narrow integers and bools, which adds up elements and their squares in 64 bits."""

    def sums(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
        return (INT64, INT64), (FLOAT64,)

    def prepare(element: Any, index: Any) -> tuple[Any, Any]:
        wrapped = element.astype(np.uint32)  # modulo 2**32, in which the square of a negative element is right too
        return element.astype(np.int64), (wrapped * wrapped).astype(np.int64)

    return Op(
        lambda p, q: (p[0] + q[0], p[1] + q[1]),
        (0, 0),
        name=name,
        commutative=True,
        prepare=prepare,
        finish=lambda total, squares, count: divided(_distances(total, squares, count), count - ddof),
        dtypes=sums,
    )
