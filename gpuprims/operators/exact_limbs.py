"""Exact sums in a few integers of 64 bits, for floats whose bits lie in a window.

Few data need all bits that a sum of floats can have (:mod:`.exact_words`). If all elements are multiples of 2^q and
below 2^t in magnitude, a sum is an integer of t - q bits, and a few more for carries. Limbs hold it: signed integers
with 32 bits between their units, which add up each by itself and have room for all carries. So a fold is as fast as
one of a few integers on every device. An element is cut by adding 1.5 * 2^52 units of a limb and subtracting them
again: then the bits of the float are the integer (J. Demmel and H. D. Nguyen, "Fast Reproducible Floating-Point
Summation", ARITH 2013, cut floats so too). A sum is rounded once, so results have the bits of those by words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.operators.dtypes import FLOAT64, INT64, Dtype, Dtypes
from gpuprims.operators.exact_words import Format, format_of

_UINT32 = np.dtype(np.uint32)
# Bits of the integer that an element leaves in the last limb, at most, and of the sums of a limb.
_HELD, _SUMMED = 50, 62
# Most limbs: more take as long as words.
_MOST = 4
# Bits between the units of limbs.
_BITS = 32
# Windows begin at multiples of so many bits if they may: each begin has a launch plan of its own.
_STEP = 16
# Above all exponents.
_ABOVE = 2048
_TURN = 1.5 * 2.0**52
# No float64 is as large as two to this power.
_HIGHEST = 1024


class Window(NamedTuple):
    """The bits of sums: ``first`` is the power of two of the lowest one."""

    first: int
    limbs: int


def lowest_power(form: Format) -> int:
    """Return the power of two of the lowest bit of a float."""
    return 2 - (1 << form.exponent - 1) - form.mantissa


class Limbs(NamedTuple):
    """How floats of a dtype add up in a window; see :class:`gpuprims.operators.exact_words.Words`."""

    dtype: Dtype
    window: Window

    @property
    def dtypes(self) -> Dtypes:
        """The dtypes of a sum."""
        return (INT64,) * self.window.limbs

    def load(self, element: Any) -> tuple[Any, ...]:
        """Cut a float into limbs."""
        rest, limbs = element.astype(np.float64), list[Any]()
        for limb in reversed(range(self.window.limbs)):
            turn = np.float64(_TURN * 2.0 ** (self.window.first + _BITS * limb))
            turned = rest + turn
            limbs.insert(0, (bits_of(turned) - turn.view(np.uint64)).astype(np.int64))
            if limb:
                rest = rest - (turned - turn)
        return tuple(limbs)

    def fold(self, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        """Add two sums."""
        return [first + second for first, second in zip(a, b, strict=True)]

    def finish(self, limbs: Sequence[Any]) -> Any:
        """Return the float nearest to a sum; of two, the even one."""
        # Digits between -2^31 and 2^31: those below a digit are together smaller than it, unless it is zero.
        digits = list[Any]()
        carry: Any = None
        for limb in limbs:
            own = limb if carry is None else limb + carry
            digits.append(own.astype(np.int32).astype(np.float64))
            carry = own + (1 << _BITS - 1) >> _BITS
        digits.append(carry.astype(np.int32).astype(np.float64))
        # The sum of digits from the lowest one on, and what its roundings lost.
        total, lost = digits[0], list[Any]()
        for k, digit in enumerate(digits[1:], 1):
            scaled = digit * 2.0 ** (_BITS * k)
            rounded = scaled + total
            lost.append(total - (rounded - scaled))
            total = rounded
        below = lost[0] + lost[1] if len(lost) > 1 else lost[0]  # integers below 2^53
        for one in lost[2:]:
            below = _odd_sum(one, below)
        unit = np.float64(2.0**self.window.first)
        if self.dtype == FLOAT64:
            return (total + below) * unit
        return (_odd(total, below) * unit).astype(np.float32)


def _odd(total: Any, below: Any) -> Any:
    """Return a float64 and what lies below its last bit, towards zero and with this bit set if that is not zero.

    It can be rounded again: that is rounding to odd (S. Boldo and G. Melquiond, "Emulation of a FMA and Correctly
    Rounded Sums", IEEE Transactions on Computers 57, 2008).
    """
    bits, more = bits_of(total), (below != 0).astype(np.uint64)
    return float_of(bits - ((bits ^ bits_of(below)) >> 63 & more) | more)


def _odd_sum(a: Any, b: Any) -> Any:
    """Return a sum of float64, rounded to odd."""
    total = a + b
    added = total - a
    return _odd(total, (a - (total - added)) + (b - added))  # Knuth


def places_of(element: Any, dtype: Dtype) -> tuple[Any, Any]:
    """Return the exponent of a float as it is stored, and how far it is below ``_ABOVE``; 0 for zero."""
    form = format_of(dtype)
    bits = bits_of(element)
    exponent = (bits >> form.mantissa).astype(_UINT32) & form.specials
    return exponent, np.where(element == 0, np.uint32(0), _ABOVE - exponent)


def packed_places(exponent: Any, below: Any) -> Any:
    """Return the maxima of both numbers of :func:`places_of` as one integer."""
    return exponent.astype(np.uint64) << 32 | below.astype(np.uint64)


def unpacked_places(packed: int) -> tuple[int, int]:
    """Return what :func:`packed_places` packed."""
    return packed >> 32, packed & 0xFFFFFFFF


def window_of(exponent: int, below: int, count: int, dtype: Dtype) -> Window | None:
    """Return the window of ``count`` elements, from the maxima that :func:`places_of` gives; None if it is too wide."""
    form = format_of(dtype)
    carries = max(count - 1, 1).bit_length()
    if exponent == form.specials or carries > _SUMMED - _BITS:
        return None
    lowest = lowest_power(form)
    first = lowest + max(_ABOVE - below - 1, 0) if below else lowest
    end = lowest + form.mantissa + max(exponent, 1)
    last = min(_HELD, _SUMMED - carries)
    for start in (first - (first - lowest) % _STEP, first):
        limbs = max(-(-(end - start - last) // _BITS), 0) + 1
        highest = start + (limbs - 1) * _BITS + 53  # of the numbers that elements are cut by
        if limbs <= _MOST and highest < _HIGHEST:
            return Window(start, limbs)
    return None
