"""Exact sums in a few integers of 64 bits, for floats whose bits lie in a wide window.

If all elements are multiples of 2^q and below 2^t in magnitude, a sum is an integer of t - q bits, and a few more for
carries. Limbs hold it: signed integers with 32 bits between their units, which add up separately and have room for all
carries. So a fold is as fast as one of a few integers on every device. An element is split by adding 1.5 * 2^52 units
of a limb and subtracting them again: then the bits of the float are the integer (J. Demmel and H. D. Nguyen, "Fast
Reproducible Floating-Point Summation", ARITH 2013, also split floats so). A sum is rounded once, so results have the
bits of those by words (:mod:`.exact_words`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions.bits import bits_of
from gpuprims.operators.dtypes import FLOAT64, INT64, Dtype, Dtypes
from gpuprims.operators.rounding import can_turn, to_odd, turn_at, two_sum

# Bits of the integer that an element leaves in the last limb, at most, and of the sums of a limb.
_HELD, _SUMMED = 50, 62
# Most limbs; more would take as long as words.
_MOST = 4
# Bits between the units of limbs.
_BITS = 32


class Limbs(NamedTuple):
    """How floats of a dtype add up that are multiples of 2^first; see :class:`gpuprims.operators.exact_words.Words`."""

    dtype: Dtype
    first: int
    limbs: int

    @property
    def dtypes(self) -> Dtypes:
        """The dtypes of a sum."""
        return (INT64,) * self.limbs

    def load(self, element: Any) -> tuple[Any, ...]:
        """Split a float into limbs."""
        rest, limbs = element.astype(np.float64), list[Any]()
        for limb in reversed(range(self.limbs)):
            turn = turn_at(self.first + _BITS * limb)
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
        # The sum of digits from the lowest one on, and its rounding errors.
        total, lost = digits[0], list[Any]()
        for k, digit in enumerate(digits[1:], 1):
            scaled = digit * 2.0 ** (_BITS * k)
            rounded = scaled + total
            lost.append(total - (rounded - scaled))
            total = rounded
        below = lost[0] + lost[1] if len(lost) > 1 else lost[0]  # integers below 2^53
        for one in lost[2:]:
            below = to_odd(*two_sum(one, below))
        unit = np.float64(2.0**self.first)
        if self.dtype == FLOAT64:
            return (total + below) * unit
        return (to_odd(total, below) * unit).astype(np.float32)


def limbs_of(dtype: Dtype, first: int, end: int, carries: int) -> Limbs | None:
    """Return the limbs that hold sums of 2^carries multiples of 2^first below 2^end; None if there are too many."""
    limbs = max(-(-(end - first - min(_HELD, _SUMMED - carries)) // _BITS), 0) + 1
    fits = carries <= _SUMMED - _BITS and limbs <= _MOST and can_turn(first + (limbs - 1) * _BITS)
    return Limbs(dtype, first, limbs) if fits else None
