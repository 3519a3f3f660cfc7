"""Foldings whose products of floats are the same for any order of the elements.

A float is a power of two, whose exponent has a fraction: ``|x| = 2**log2(|x|)``. The logarithm, with 76 bits after the
point, is an integer, and integers add up the same in any order. A value has the two words of this integer, and keeps
signs, zeros, infinities and NaN apart. A logarithm is off by some ``2**-60``, so the product of n elements by ``n *
2**-60`` of its size at most; it is then rounded once. Between the elements nothing overflows.

The logarithm is ``2 / ln(2) * atanh(s)`` for ``s = (m - 1) / (m + 1)`` of a mantissa ``m`` around 1. ``s`` and its
product with the factor are sums of two floats (T. J. Dekker, "A floating-point technique for extending the available
precision", Numerische Mathematik 18, 1971). The power of two is the nearest float of a portable ``exp2``, corrected by
the difference between its logarithm and the exponent.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.operators.dtypes import FLOAT32, FLOAT64, Dtypes
from gpuprims.operators.exact_words import added_words
from gpuprims.operators.folding import Folding, through

_UINT64, _UINT32 = np.dtype(np.uint64), np.dtype(np.uint32)
_VALUES: Dtypes = (_UINT64, _UINT64, _UINT32, _UINT32)
# Bits of a logarithm after the point, and those of its first part; 12 of them are in the upper word.
_BITS, _FIRST, _ABOVE = 76, 40, 12
_ZERO, _INFINITE, _NAN = 1, 2, 4
_FACTOR = 2.8853900817779268, 4.0710547481862066e-17  # 2 / ln(2), as a sum of two floats
_LN_2 = 0.6931471805599453
_TERMS = 12  # of the series of atanh(s) / s, in s**2 below 0.03
_TURN = 1.5 * 2**52
_SPLIT = 134217729.0  # 2**27 + 1


def multiplies(folding: Folding) -> bool:
    """Return True if a fold multiplies float32 or float64, values of one component."""
    names = [node.name for node in folding.op.nodes]
    return folding.values in ((FLOAT32,), (FLOAT64,)) and names == ["argument", "argument", "multiply"]


@lru_cache(maxsize=256)
def multiplied_exactly(folding: Folding) -> Folding:
    """Return a folding that adds logarithms; unchanged if its operator is not the product of floats."""
    if not multiplies(folding):
        return folding
    (value,) = folding.values

    def load(*given: Any) -> Any:
        (element,) = folding.map(*given)
        return _parts_of(element.astype(np.float64))

    def fold(*both: Any) -> Any:
        p, q = both[: len(_VALUES)], both[len(_VALUES) :]
        return (*added_words(p[:2], q[:2]), p[2] | q[2], p[3] ^ q[3])

    def finish(low: Any, high: Any, special: Any, sign: Any, number: Any) -> Any:
        return folding.finish(_power_of_two(low, high, special, sign).astype(value), number)

    return through(folding, _VALUES, load, fold, finish)


def _parts_of(x: Any) -> tuple[Any, Any, Any, Any]:
    """Return the words of the logarithm of a float64, a code for special values, and its sign."""
    bits = bits_of(x)
    small = bits << 1 >> 53 == 0  # zero, or subnormal
    normal = bits_of(np.where(small, x * 2.0**54, x))
    field, fraction = normal << 1 >> 53, normal & 2**52 - 1
    finite = bits << 1 >> 53 != 2047
    counts = finite & (x != 0)
    upper = fraction > 0x6A09E667F3BCD  # a mantissa above the root of 2 is halved
    mantissa = float_of(fraction | np.where(upper, np.uint64(1022 << 52), np.uint64(1023 << 52)))
    exponent = field.astype(np.int64) - np.where(small, 1023 + 54, 1023) + np.where(upper, 1, 0)
    words = _logarithm(np.where(counts, mantissa, 1.0), np.where(counts, exponent, 0))
    special = np.where(x == 0, np.uint32(_ZERO), np.uint32(0))
    special = np.where(finite, special, np.where(x == x, np.uint32(_INFINITE), np.uint32(_NAN)))
    return words[0], words[1], special, (bits >> 63).astype(np.uint32)


def _logarithm(m: Any, exponent: Any) -> list[Any]:
    """Return the words of log2(m) + exponent, for a mantissa m near 1."""
    over, under = m - 1.0, m + 1.0
    added = under - m
    lost = (m - (under - added)) + (1.0 - added)  # of the sum
    s = over / under
    product, error = _product(s, under)
    rest = (over - product - error - s * lost) / under
    z = s * s
    series = z * 0 + 1.0 / (2 * _TERMS + 1)
    for k in range(_TERMS - 1, 0, -1):
        series = series * z + 1.0 / (2 * k + 1)
    first, second = _product(s, s * 0 + _FACTOR[0])
    third = _FACTOR[0] * rest + _FACTOR[1] * s
    total = [exponent.astype(np.uint64) & 0, exponent.astype(np.uint64) << _ABOVE]
    for piece in (first, second, third, _FACTOR[0] * (s * z * series)):
        whole, upper = _rounded(piece * 2.0**_FIRST)
        lower, _ = _rounded((piece - upper * 2.0**-_FIRST) * 2.0**_BITS)
        shift = _BITS - _FIRST
        total = added_words(total, [(whole << shift).astype(np.uint64), (whole >> 64 - shift).astype(np.uint64)])
        total = added_words(total, [lower.astype(np.uint64), (lower >> 63).astype(np.uint64)])
    return total


def _rounded(x: Any) -> tuple[Any, Any]:
    """Return the integer nearest to a float below 2**50, as int64 and as a float."""
    turned = x + _TURN
    return (bits_of(turned) - np.float64(_TURN).view(np.uint64)).astype(np.int64), turned - _TURN


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a product of floats, and its rounding error."""
    whole = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return whole, ((a_high * b_high - whole) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Any) -> tuple[Any, Any]:
    scaled = a * _SPLIT
    high = scaled - (scaled - a)
    return high, a - high


def _power_of_two(low: Any, high: Any, special: Any, sign: Any) -> Any:
    """Return 2 to the power of a logarithm as a float64, with a sign; or a special value."""
    whole = high.astype(np.int64) >> _ABOVE
    fraction = (high & 2**_ABOVE - 1) << 40 | low >> 24
    near = np.exp2(fraction.astype(np.int64).astype(np.float64) * 2.0**-52)
    twice = near >= 2.0  # the nearest float of an exponent just below 1
    near, whole = np.where(twice, 1.0, near), whole + np.where(twice, 1, 0)
    upper = near > 1.4142135623730951
    log_low, _ = _logarithm(np.where(upper, near * 0.5, near), whole + np.where(upper, 1, 0))
    # The difference of words is far below a unit of the upper word.
    apart = (low - log_low).astype(np.int64).astype(np.float64) * 2.0**-_BITS * _LN_2
    mantissa = near + near * apart
    bounded = np.minimum(np.maximum(whole, -2040), 2040)
    half = bounded >> 1
    size = mantissa * _scale(half) * _scale(bounded - half)
    negative = (sign & 1) != 0
    zero, infinite = (special & _ZERO) != 0, (special & _INFINITE) != 0
    size = np.where(zero, 0.0, np.where(infinite, np.inf, size))
    nan = ((special & _NAN) != 0) | (zero & infinite)
    return np.where(nan, np.nan, np.where(negative, -size, size))


def _scale(exponent: Any) -> Any:
    return float_of((exponent + 1023).astype(np.uint64) << 52)
