"""Numbers of twice the digits as pairs: a rounded value, and the rest.

Each function is a text of IEEE operations alone, for NumPy arrays and for elements of a traced function. Results have
some 45 or 100 correct bits. Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, chapters 4 and 14.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.expressions.portable.formats import Format

Pair = tuple[Any, Any]


def split(x: Any, form: Format) -> Pair:
    """Cut a number in two halves of its digits."""
    if isinstance(x, float):
        x = form.number(x)
    high = float_of(bits_of(x) & (2 * form.sign - 1 - form.low_half))
    return high, x - high


def ordered_sum(a: Any, b: Any) -> Pair:
    """Add exactly, if ``a`` is 0 or no smaller than ``b`` (Dekker)."""
    total = a + b
    return total, b - (total - a)


def exact_sum(a: Any, b: Any) -> Pair:
    """Add exactly (Knuth)."""
    total = a + b
    added = total - a
    return total, (a - (total - added)) + (b - added)


def exact_product(a: Any, b: Any, form: Format) -> Pair:
    """Multiply exactly, but for underflow (Dekker)."""
    product, (a_high, a_low), (b_high, b_low) = a * b, split(a, form), split(b, form)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def exact_square(a: Any, form: Format) -> Pair:
    """Multiply a number by itself."""
    square, (high, low) = a * a, split(a, form)
    return square, ((high * high - square) + (high + high) * low) + low * low


def sum_of_pairs(a: Pair, b: Pair) -> Pair:
    """Add two pairs."""
    high, low = exact_sum(a[0], b[0])
    return ordered_sum(high, low + (a[1] + b[1]))


def product_of_pairs(a: Pair, b: Pair, form: Format) -> Pair:
    """Multiply two pairs."""
    high, low = exact_product(a[0], b[0], form)
    return ordered_sum(high, low + (a[0] * b[1] + a[1] * b[0]))


def quotient_of_pairs(a: Pair, b: Pair, form: Format) -> Pair:
    """Divide two pairs: a quotient of their first numbers, and what it leaves over the divisor."""
    inverse = 1 / b[0]
    quotient = a[0] * inverse
    high, low = exact_product(quotient, b[0], form)
    return ordered_sum(quotient, (((a[0] - high) - low) + (a[1] - quotient * b[1])) * inverse)


def root_of_pair(a: Pair, form: Format) -> Pair:
    """Take the square root of a pair whose first number is above 0."""
    root = np.sqrt(a[0])
    high, low = exact_square(root, form)
    return ordered_sum(root, (((a[0] - high) - low) + a[1]) / (root + root))


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Evaluate a polynomial by Horner's rule, the coefficient of the lowest power first."""
    total: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total
