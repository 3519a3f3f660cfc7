"""From a sum or a mean to an element of the result: cut towards zero, and at the ends of the result's range.

SciPy computes in double precision and converts as C does, which leaves undefined what a number becomes that the result
does not hold. Here every device gives the same: see :func:`summed` for sums, and :func:`averaged` for means.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions import TypedExpr, trace, typed

Dtype = np.dtype[Any]

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
# A float mean that is this close below an integer is that integer, missed by rounding.
_ROUNDING = 2.0**-8


class Ends(NamedTuple):
    """The least and the greatest value of a sum, as Python numbers, and how many terms it has."""

    low: float
    high: float
    terms: int

    def within(self, low: float, high: float, value: Dtype) -> bool:
        """Return whether the sum, computed in a dtype, lies strictly between two numbers whatever rounding does."""
        if value.kind != "f":
            return low < self.low and self.high < high
        largest = max(abs(self.low), abs(self.high))
        rounding = self.terms * float(np.finfo(value).eps) * largest + _ROUNDING
        return low < self.low - rounding and self.high + rounding < high


def finishing(value: Dtype, result: Dtype) -> TypedExpr:
    """Return the function from a value to a result, as NumPy converts it; from a float to an integer as a sum."""
    if value.kind == "f" and result.kind in "iu":
        return summed(value, result, None)
    return typed(trace(lambda v, n: v.astype(result), 2), (value, _INT64), (result,))


def summed(value: Dtype, result: Dtype, ends: Ends | None) -> TypedExpr:
    """Return the function from a sum to a result, where SciPy's meaning is defined that.

    An integer result is cut towards zero. One of 8 or 16 bits keeps the low bits of a sum that it does not hold, and
    an unsigned one those of a negative sum, as SciPy's do; every other saturates. NaN becomes the least number.

    Parameters
    ----------
    value, result : dtype
    ends : Ends or None
        What the sum lies between; None where it may be anything.
    """

    def store(v: Any, n: Any) -> Any:
        if result.kind not in "iu":
            return v.astype(result)
        return _cut(v, value, result, ends) if value.kind == "f" else clipped(v, value, result, ends)

    return typed(trace(store, 2), (value, _INT64), (result,))


def averaged(value: Dtype, result: Dtype, ends: Ends) -> TypedExpr:
    """Return the function from a float mean to an integer: cut towards zero, where rounding alone is no part of it.

    A mean of integers lies in their range; what rounding adds beyond its ends saturates.
    """
    little = value.type(_ROUNDING)

    def store(v: Any, n: Any) -> Any:
        return _saturated(v + np.where(v < 0, -little, little), value, result, ends)

    return typed(trace(store, 2), (value, _INT64), (result,))


def averaging(value: Dtype, count: int, result: Dtype) -> TypedExpr:
    """Return the function from a sum to a mean: of integers exact, cut towards zero."""
    if value.kind == "f":
        share = value.type(1 / count)
        return typed(trace(lambda v, n: (v * share).astype(result), 2), (value, _INT64), (result,))
    if result.kind == "u":
        unsigned = np.dtype(f"u{value.itemsize}")
        mean = trace(lambda v, n: (v.astype(unsigned) // unsigned.type(count)).astype(result), 2)
    else:
        whole = value.type(count)
        mean = trace(lambda v, n: np.where(v < 0, -(-v // whole), v // whole).astype(result), 2)
    return typed(mean, (value, _INT64), (result,))


def clipped(v: Any, value: Dtype, result: Dtype, ends: Ends | None) -> Any:
    """Convert an integer to another: saturate in 32 and 64 bits, but for negative numbers in unsigned ones."""
    info = np.iinfo(result)
    if result.itemsize >= 4 and info.max < np.iinfo(value).max and not (ends and ends.high <= info.max):
        most = value.type(info.max)
        v = np.where(v > most, most, v)
    if result == _INT32 and value == _INT64 and not (ends and ends.low >= info.min):
        least = value.type(info.min)
        v = np.where(v < least, least, v)
    return v.astype(result)


def _cut(v: Any, value: Dtype, result: Dtype, ends: Ends | None) -> Any:
    """Convert a float sum to an integer; see :func:`summed`."""
    if value.itemsize == 2:
        v, value = v.astype(np.float32), np.dtype(np.float32)
    info = np.iinfo(result)
    if ends is not None and ends.within(info.min - 1, info.max + 1, value):
        return v.astype(result)
    if result.itemsize < 4:
        return _saturated(v, value, _INT32, ends).astype(result)
    above = _saturated(v, value, result, ends)
    if result.kind == "i" or (ends is not None and ends.low >= 0):
        return above
    below = _saturated(v, value, _INT64, ends).astype(result)
    return np.where(v < value.type(0), below, above)


def _saturated(v: Any, value: Dtype, result: Dtype, ends: Ends | None) -> Any:
    """Convert a float to an integer, the nearest where there is none. The conversion itself is always in range."""
    info = np.iinfo(result)
    if ends is not None and ends.within(info.min - 1, info.max + 1, value):
        return v.astype(result)
    bottom, top = value.type(info.min), value.type(float(info.max + 1))
    risen = np.where(v > bottom, v, bottom)  # which NaN is not
    inside = risen < top
    return np.where(inside, np.where(inside, risen, value.type(0)).astype(result), result.type(info.max))
