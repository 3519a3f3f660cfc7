"""Exact sums in two float64, for floats whose bits lie in a window.

An element is split in two by adding 1.5 * 2^52 units of the upper part and subtracting them again (T. J. Dekker, "A
floating-point technique for extending the available precision", Numerische Mathematik 18, 1971; S. M. Rump, T. Ogita
and S. Oishi, "Accurate Floating-Point Summation Part I", SIAM Journal on Scientific Computing 31, 2008). Both parts are
integers of their units, and a float64 has 53 bits for the sums of all elements. If the lower part needs more, a fold
carries to the upper part. So each addition is exact, and a sum is rounded once: results have the bits of those by words
(:mod:`.exact_words`). Every device has vectors of such additions, and no integer is converted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuprims.operators.dtypes import FLOAT64, Dtype, Dtypes
from gpuprims.operators.rounding import can_turn, fast_two_sum, to_odd, turn_at, two_sum

# Bits that an upper part may have; a lower part that is not carried has one more for its sums. Elements that leave
# _DEFERRED bits may add up IN_RUN at a time before a fold carries.
_UPPER, _SUMMED, _DEFERRED = 52, 53, 47
IN_RUN = 1 << _SUMMED - _DEFERRED - 1


class Pair(NamedTuple):
    """How floats of a dtype add up that are multiples of 2^first; see :class:`gpuprims.operators.exact_words.Words`.

    An element leaves ``lower`` bits and a sign in the lower part. If it ``carries``, folds carry from the lower part to
    the upper one.
    """

    dtype: Dtype
    first: int
    lower: int
    carries: bool

    @property
    def dtypes(self) -> Dtypes:
        """The dtypes of a sum."""
        return FLOAT64, FLOAT64

    @property
    def defers(self) -> bool:
        """True if up to IN_RUN values may add up without carries before they fold."""
        return self.carries and self.lower <= _DEFERRED

    def _upper(self, number: Any) -> Any:
        """Return the multiple of the upper part's unit that is nearest to a number."""
        turn = turn_at(self.first + self.lower)
        return (number + turn) - turn

    def load(self, element: Any) -> tuple[Any, ...]:
        """Split a float in two."""
        whole = element.astype(np.float64)
        upper = self._upper(whole)
        return upper, whole - upper

    def add(self, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        """Add two sums without carries."""
        return [a[0] + b[0], a[1] + b[1]]

    def fold(self, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        """Add two sums."""
        upper, lower = self.add(a, b)
        if not self.carries:
            return [upper, lower]
        carry = self._upper(lower)
        return [upper + carry, lower - carry]

    def finish(self, parts: Sequence[Any]) -> Any:
        """Return the float nearest to a sum; of two, the even one."""
        if self.dtype == FLOAT64:
            return parts[0] + parts[1]
        # A lower part of fewer than 2^53 units has no bit below the upper part's, however large it is.
        add = fast_two_sum if self.carries else two_sum
        return to_odd(*add(*parts)).astype(np.float32)


class Guess(NamedTuple):
    """How floats add up that are thought to lie in a window; see :class:`Pair`.

    They are zero, or their magnitude is at least 2^least and below 2^end. Others become NaN, as does each sum that has
    one, so a result that is no NaN is right.
    """

    pair: Pair
    least: int
    end: int

    @property
    def dtypes(self) -> Dtypes:
        """The dtypes of a sum."""
        return self.pair.dtypes

    @property
    def defers(self) -> bool:
        """See :class:`Pair`."""
        return self.pair.defers

    def load(self, element: Any) -> tuple[Any, ...]:
        """Cut a float in two, or return NaN twice."""
        least, end, nan = (self.pair.dtype.type(one) for one in (2.0**self.least, 2.0**self.end, np.nan))
        size = np.abs(element)
        inside = (size < end) & ((size >= least) | (size == 0))
        return self.pair.load(np.where(inside, element, nan))

    def add(self, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        """See :class:`Pair`."""
        return self.pair.add(a, b)

    def fold(self, a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        """Add two sums."""
        return self.pair.fold(a, b)

    def finish(self, parts: Sequence[Any]) -> Any:
        """Return the float nearest to a sum, or NaN."""
        return self.pair.finish(parts)


def free_pair(dtype: Dtype, first: int, end: int, carries: int) -> Pair | None:
    """Return the pair without carries for sums of 2^carries multiples of 2^first below 2^end; None if there is none."""
    return _pair(dtype, first, end + carries, _SUMMED - carries, carries=False)


def deferring_pair(dtype: Dtype, first: int, end: int, carries: int) -> Pair | None:
    """Return the pair that may carry later for the same sums; None if there is none."""
    return _pair(dtype, first, end + carries, _DEFERRED, carries=True)


def carrying_pair(dtype: Dtype, first: int, end: int, carries: int) -> Pair | None:
    """Return the pair that carries in each fold for the same sums; None if there is none."""
    return _pair(dtype, first, end + carries, _SUMMED, carries=True)


def widest_pairs(dtype: Dtype, end: int, carries: int) -> list[Pair]:
    """Return the pairs that take the lowest bits, for sums of 2^carries floats below 2^end in order of cost."""
    whole, lowers = end + carries, (_SUMMED - carries, _DEFERRED, _SUMMED)
    found = [_pair(dtype, whole - lower - _UPPER, whole, lower, carries=k > 0) for k, lower in enumerate(lowers)]
    return [one for one in found if one is not None]


def _pair(dtype: Dtype, first: int, end: int, lower: int, *, carries: bool) -> Pair | None:
    fits = lower > 0 and end - first - lower <= _UPPER and can_turn(first + lower)
    return Pair(dtype, first, lower, carries) if fits else None
