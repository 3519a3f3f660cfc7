"""Logarithms: log(x) = k * log(2) + log(1 + f), with a polynomial in s = f / (2 + f).

``1 + f`` lies between the roots of 1/2 and 2, and log(1 + f) = f - f**2 / 2 + s * (f**2 / 2 + P(s**2)), as in Sun's
fdlibm. Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, section 10.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.expressions.portable import coefficients as table
from gpuprims.expressions.portable.formats import Format
from gpuprims.expressions.portable.pairs import Pair, exact_sum, ordered_sum, polynomial, split

# The bits of the root of 1/2.
_ROOT_OF_HALF = {"float32": 0x3F3504F3, "float64": 0x3FE6A09E667F3BCC}


class Reduced(NamedTuple):
    """A number 2**whole * (1 + f), with s = f / (2 + f), and log(1 + f) as a pair."""

    whole: Any
    s: Any
    log: Pair
    lifted: Any  # has the biased exponent in its first bits


def mantissa(x: Any, form: Format, *, small: bool = True) -> tuple[Any, Any, Any]:
    """Split a positive number in an exponent and a number between the roots of 1/2 and 2; return lifted bits too.

    Denormals need ``small``.
    """
    root, tiny = _ROOT_OF_HALF[form.name], x < 2.0 ** (1 - form.bias)
    lifted = bits_of(np.where(tiny, x * 2.0**form.digits, x) if small else x) + (form.one - root)
    whole = float_of(lifted >> form.shift | form.bias + form.shift << form.shift) - (2.0**form.shift + form.bias)
    whole = np.where(tiny, whole - form.digits, whole) if small else whole
    return whole, float_of((lifted & (1 << form.shift) - 1) + root), lifted


def reduced(x: Any, form: Format, *, small: bool = True) -> Reduced:
    """Reduce a positive number."""
    whole, near, lifted = mantissa(x, form, small=small)
    f = near - 1
    s, half = f / (2 + f), f * f * 0.5
    square = s * s
    rest = s * (half + square * polynomial(square, table.LOG[form.name]))
    return Reduced(whole, s, ordered_sum(f, rest - half), lifted)


def reduced_pair(high: Any, low: Any, form: Format) -> Reduced:
    """Reduce a pair whose first number is normal; beyond 2**(digits + 2), the second one does not count."""
    found = reduced(high, form, small=False)
    scale = float_of(2 * form.bias - (found.lifted >> form.shift) << form.shift)
    more = low * scale * (1 - 2 * found.s + 2 * (found.s * found.s))  # divided by 1 + f
    counted = np.where(high < 2.0 ** (form.digits + 2), more, 0.0)
    return found._replace(log=ordered_sum(found.log[0], found.log[1] + counted))


def natural(number: Reduced, form: Format) -> Pair:
    """Return the natural logarithm of a reduced number."""
    whole, (high, low) = number.whole, table.LOG_2[form.name]
    first, lost = ordered_sum(whole * high, number.log[0])
    return first, lost + (whole * low + number.log[1])


def in_domain(x: Any, result: Any, pole: float = 0.0) -> Any:
    """Return the result for numbers above a pole, -infinity at it, infinity for infinity, and NaN for others."""
    inside = np.where(x > pole, np.where(x < np.inf, result, x), np.nan)
    return np.where(x == pole, -np.inf, inside)


def log(x: Any, form: Format) -> Any:
    """Return the natural logarithm."""
    high, low = natural(reduced(x, form), form)
    return in_domain(x, high + low)


def _in_base(x: Any, form: Format, factor: Pair, whole: Pair) -> Any:
    number = reduced(x, form)
    high, low = split(number.log[0], form)
    first, lost = ordered_sum(number.whole * whole[0], high * factor[0])
    rest = low * factor[0] + number.log[0] * factor[1] + number.log[1] * factor[0] + number.whole * whole[1]
    return in_domain(x, first + (lost + rest))


def log2(x: Any, form: Format) -> Any:
    """Return the logarithm in base 2; exact for powers of 2."""
    return _in_base(x, form, table.PER_LOG_2_HALVES[form.name], (1.0, 0.0))


def log10(x: Any, form: Format) -> Any:
    """Return the logarithm in base 10."""
    return _in_base(x, form, table.PER_LOG_10[form.name], table.LOG10_2[form.name])


def log1p(x: Any, form: Format) -> Any:
    """Return the natural logarithm of 1 + x."""
    high, low = natural(reduced_pair(*exact_sum(x, 1.0), form), form)
    return np.where(x == 0, x, in_domain(x, high + low, -1.0))
