"""Exact sums of floats of any exponents, as integers of many bits.

A float is a multiple of the lowest bit of its format. So a sum is an integer of 320 bits for float32 and of 2176 for
float64, in two's complement, which has room for 2^40 elements (a superaccumulator: U. Kulisch, "Computer Arithmetic and
Validity", 2008). The components of a value are its words of 64 bits, the lowest first, and bits for infinities and NaN.
Integers add up the same in any order; the result is rounded once. Any kernel that folds or scans can run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.operators.dtypes import FLOAT32, FLOAT64, Dtype, Dtypes

_UINT64, _UINT32 = np.dtype(np.uint64), np.dtype(np.uint32)
_WORD = 64


class Format(NamedTuple):
    """Floats of a dtype: the bits after the first one, those of the exponent, and the words of a sum."""

    mantissa: int
    exponent: int
    words: int

    @property
    def specials(self) -> int:
        """The exponent of infinities and NaN."""
        return (1 << self.exponent) - 1

    @property
    def infinite(self) -> int:
        """The bits of infinity."""
        return self.specials << self.mantissa


_FORMATS = {FLOAT32: Format(23, 8, 5), FLOAT64: Format(52, 11, 34)}


def format_of(dtype: Dtype) -> Format:
    """Return the facts about a dtype that sums need."""
    return _FORMATS[dtype]


# The bits for infinities and NaN.
_PLUS, _MINUS, _NAN = 1, 2, 4


class Words(NamedTuple):
    """How floats of a dtype add up, whatever they are: in all words of a sum, and bits for infinities and NaN."""

    dtype: Dtype

    @property
    def dtypes(self) -> Dtypes:
        """The dtypes of a sum."""
        return (_UINT64,) * format_of(self.dtype).words + (_UINT32,)

    def load(self, element: Any) -> tuple[Any, ...]:
        """Return a float as a sum."""
        return _words_of(element, format_of(self.dtype))

    def fold(self, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        """Add two sums."""
        return [*added_words(a[:-1], b[:-1]), a[-1] | b[-1]]

    def finish(self, words: Sequence[Any]) -> Any:
        """Return the float nearest to a sum; of two, the even one."""
        return rounded_words(words[:-1], words[-1], format_of(self.dtype))


def _words_of(element: Any, form: Format) -> tuple[Any, ...]:
    """Return the words of a float, and a bit for infinity or NaN."""
    bits = bits_of(element).astype(np.uint64)
    field, fraction = bits >> form.mantissa & (1 << form.exponent) - 1, bits & (1 << form.mantissa) - 1
    negative, finite = bits >> form.mantissa + form.exponent != 0, field != (1 << form.exponent) - 1
    whole = np.where(finite, fraction | np.where(field > 0, np.uint64(1 << form.mantissa), np.uint64(0)), np.uint64(0))
    place = np.maximum(field, np.uint64(1)) - np.uint64(1)
    word, shift = place >> 6, place & 63
    low, high = whole << shift, whole >> 1 >> 63 - shift
    words = [np.where(word == k, low, np.where(word + 1 == k, high, np.uint64(0))) for k in range(form.words)]
    special = np.where(fraction != 0, np.uint32(_NAN), np.where(negative, np.uint32(_MINUS), np.uint32(_PLUS)))
    return *_negated(words, negative), np.where(finite, np.uint32(0), special)


def _negated(words: Sequence[Any], negative: Any) -> list[Any]:
    """Change the sign of a number in two's complement, if ``negative``."""
    carry, changed = np.where(negative, np.uint64(1), np.uint64(0)), list[Any]()
    mask = np.where(negative, np.uint64(2**_WORD - 1), np.uint64(0))
    for word in words:
        changed.append((word ^ mask) + carry)
        carry = np.where(changed[-1] < carry, np.uint64(1), np.uint64(0))
    return changed


def added_words(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """Add two numbers, modulo two to the power of their bits."""
    sums, carry = list[Any](), None
    for first, second in zip(a, b, strict=True):
        alone = first + second
        over = alone < first
        if carry is None:
            sums.append(alone)
            carry = over
            continue
        sums.append(alone + carry.astype(np.uint64))
        carry = over | (sums[-1] < alone)
    return sums


def rounded_words(words: Sequence[Any], special: Any, form: Format, first: int = 0) -> Any:
    """Return the float nearest to a number of units of bit ``first`` of a sum; of two, the even one."""
    zero, one = np.uint64(0), np.uint64(1)
    negative = words[-1] >> 63 != 0
    size = _negated(words, negative)
    # The highest nonzero word, the word below, if any bit below these is set, and the place of the first bit.
    top, below, more, place = size[0], size[0] & zero, size[0] != size[0], size[0] & zero
    sticky = more
    for k in range(1, len(size)):
        found = size[k] != 0
        top, place = np.where(found, size[k], top), np.where(found, np.uint64(_WORD * k), place)
        below, more = np.where(found, size[k - 1], below), np.where(found, sticky, more)
        sticky = sticky | (size[k - 1] != 0)
    left = top & zero  # zeros before the first bit that is set
    shifted = top
    for step in (32, 16, 8, 4, 2, 1):
        empty = shifted >> _WORD - step == 0
        left, shifted = np.where(empty, left + step, left), np.where(empty, shifted << step, shifted)
    whole = shifted | below >> 1 >> 63 - left  # 64 bits from the first one on
    more = more | (below << left != 0)
    highest = place + (_WORD - 1) - left
    drop = _WORD - 1 - form.mantissa
    fraction, half = whole & (1 << drop) - 1, 1 << drop - 1
    kept = whole >> drop
    up = (fraction > half) | ((fraction == half) & (more | (kept & one != 0)))
    highest = highest + first
    exponent = np.maximum(highest, np.uint64(form.mantissa)) - form.mantissa
    normal = kept + up.astype(np.uint64) + (exponent << form.mantissa)
    exact = (highest < form.mantissa) | (whole == 0)  # all bits of the sum, in a float of the least exponent
    finite = np.minimum(np.where(exact, size[0] << first, normal), np.uint64(form.infinite))
    minus = np.uint64(1 << form.mantissa + form.exponent)
    unlike = (special & _NAN != 0) | (special & (_PLUS | _MINUS) == _PLUS | _MINUS)
    infinite = np.where(special & _MINUS != 0, np.uint64(form.infinite) | minus, np.uint64(form.infinite))
    nan = np.uint64(form.infinite | 1 << form.mantissa - 1)
    bits = np.where(unlike, nan, np.where(special != 0, infinite, finite | np.where(negative, minus, zero)))
    return float_of(bits.astype(np.uint32) if form.mantissa < 32 else bits)
