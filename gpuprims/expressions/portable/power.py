"""Powers: x**y = 2**(y * log2(x)), with the logarithm as a pair of numbers.

Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, section 10.4; pairs from section 14.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.expressions.portable import coefficients as table
from gpuprims.expressions.portable.exponential import bounded, power_of_2, scaled
from gpuprims.expressions.portable.formats import Format
from gpuprims.expressions.portable.logarithm import mantissa
from gpuprims.expressions.portable.pairs import (
    Pair,
    exact_product,
    exact_sum,
    ordered_sum,
    polynomial,
    product_of_pairs,
    quotient_of_pairs,
    sum_of_pairs,
)
from gpuprims.expressions.portable.signs import magnitude, or_nan, sign_of, signed


def _log2(x: Any, form: Format) -> Pair:
    """Return the logarithm in base 2 of a positive number: of a mantissa, 2s + 2/3 s**3 + 2/5 s**5 + ...."""
    whole, near, _ = mantissa(x, form)
    f = near - 1
    s = quotient_of_pairs((f, 0.0), exact_sum(2.0, f), form)
    square = product_of_pairs(s, s, form)
    fifths, thirds = table.TWO_FIFTHS[form.name], table.TWO_THIRDS[form.name]
    high, low = ordered_sum(fifths[0], square[0] * polynomial(square[0], table.LOG_TAIL[form.name]))
    tail = product_of_pairs(square, (high, low + fifths[1]), form)
    tail = product_of_pairs(square, sum_of_pairs(thirds, tail), form)
    log = sum_of_pairs((s[0] + s[0], s[1] + s[1]), product_of_pairs(s, tail, form))
    return sum_of_pairs((whole, 0.0), product_of_pairs(log, table.PER_LOG_2[form.name], form))


def power(x: Any, y: Any, form: Format) -> Any:
    """Return x to the power y; special values are those of IEEE 754's pow."""
    size, exponent = magnitude(x, form), magnitude(y, form)
    log = _log2(size, form)
    product, lost = exact_product(y, log[0], form)
    most = 2.0 * form.bias
    lost = np.where(magnitude(product, form) < most, lost + y * log[1], 0.0)
    found = power_of_2(bounded(product, -most, most), lost, form)
    result = scaled(1 + found.rest[0], found.rounded, form)

    whole, half = np.floor(exponent) == exponent, exponent * 0.5
    odd = whole & (np.floor(half) != half)
    beyond = (size == 0) | (size == np.inf)
    grows = (size == np.inf) == (y > 0)
    result = np.where(beyond, np.where(grows, form.number(np.inf), 0.0), result)
    result = np.where(size == 1, 1.0, result)
    result = np.where((x < 0) & (size < np.inf) & ~whole, np.nan, result)
    result = signed(result, np.where(odd, sign_of(x, form), 0))
    result = or_nan(x, or_nan(y, result))
    return np.where((y == 0) | (x == 1), 1.0, result)
