"""Convert a sum or a mean to the result's dtype: truncate towards zero, and saturate at the ends of its range.

SciPy computes in double precision and converts by a C cast, which is undefined for numbers out of range. Here all
devices agree: see :func:`summed` for sums, and :func:`averaged` for means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions import TypedExpr, trace, typed

Dtype = np.dtype[Any]

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
# A float mean this little below an integer becomes that integer: rounding may have moved it.
_ROUNDING = 2.0**-8


class Ends(NamedTuple):
    """The smallest and largest value of a sum, as Python numbers, and its number of terms."""

    low: float
    high: float
    terms: int

    def within(self, low: float, high: float, value: Dtype) -> bool:
        """Return True if the sum, computed in a dtype, lies strictly between two numbers in spite of rounding."""
        if value.kind != "f":
            return low < self.low and self.high < high
        largest = max(abs(self.low), abs(self.high))
        rounding = self.terms * float(np.finfo(value).eps) * largest + _ROUNDING
        return low < self.low - rounding and self.high + rounding < high


def _finish(value: Dtype, result: Dtype, convert: Callable[[Any], Any]) -> TypedExpr:
    """Type a function from a value, and an unused number, to a result."""
    return typed(trace(lambda v, n: convert(v), 2), (value, _INT64), (result,))


def finishing(value: Dtype, result: Dtype) -> TypedExpr:
    """Return NumPy's conversion of a value to a result, except from float to integer: see :func:`summed`."""
    if value.kind == "f" and result.kind in "iu":
        return summed(value, result, None)
    return _finish(value, result, lambda v: v)


def summed(value: Dtype, result: Dtype, ends: Ends | None) -> TypedExpr:
    """Return the function from a sum to a result, with SciPy's meaning where that is defined.

    Integer results are truncated towards zero. Out of range, 8 and 16 bits keep the low bits of a sum, and unsigned
    integers keep the low bits of a negative sum, as in SciPy; all others saturate. NaN becomes the smallest number.
    ``ends`` is the range of the sum, None if unknown.
    """
    if result.kind not in "iu":
        return finishing(value, result)
    convert = _cut if value.kind == "f" else clipped
    return _finish(value, result, lambda v: convert(v, value, result, ends))


def averaged(value: Dtype, result: Dtype, ends: Ends) -> TypedExpr:
    """Return the function from a float mean to an integer: correct rounding errors, truncate, and saturate."""
    little = value.type(_ROUNDING)
    return _finish(value, result, lambda v: _saturated(v + np.where(v < 0, -little, little), value, result, ends))


def averaging(value: Dtype, count: int, result: Dtype) -> TypedExpr:
    """Return the function from a sum to a mean, exact for integers and truncated towards zero."""
    if value.kind == "f":
        factor = value.type(1 / count)
        return _finish(value, result, lambda v: v * factor)
    return _finish(value, result, mean_of_whole(value, count, result))


def mean_of_whole(value: Dtype, count: int, result: Dtype) -> Callable[[Any], Any]:
    """Return the function from a sum of integers to their mean, truncated towards zero."""
    unsigned = np.dtype(f"u{value.itemsize}")
    whole, none = unsigned.type(count), unsigned.type(0)
    if result.kind == "u":
        return lambda v: v.astype(unsigned) // whole

    def convert(v: Any) -> Any:  # unsigned division takes the fewest instructions
        bits = v.astype(unsigned)
        mean = np.where(v < 0, none - bits, bits) // whole
        return np.where(v < 0, none - mean, mean).astype(value)

    return convert


def divided(value: Dtype, count: int, result: Dtype) -> TypedExpr:
    """Return the function from a float sum to a mean, converted as :func:`summed` converts sums."""
    if result.kind == "b":
        return _finish(value, result, lambda v: _is_whole(v / value.type(count), value))
    return _finish(value, result, lambda v: _cut(v / value.type(count), value, result, None))


def nonzero(value: Dtype) -> TypedExpr:
    """Return the function from a sum to a bool: False if the sum truncates to 0."""
    return _finish(value, np.dtype(bool), lambda v: _is_whole(v, value))


def _is_whole(v: Any, value: Dtype) -> Any:
    return (v >= value.type(1)) | (v <= value.type(-1)) if value.kind in "if" else v != value.type(0)


def clipped(v: Any, value: Dtype, result: Dtype, ends: Ends | None) -> Any:
    """Convert an integer to another dtype; 32 and 64 bits saturate, except negative numbers in unsigned dtypes."""
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
    """Convert a float to an integer, and saturate. The number that C casts is always in range."""
    info = np.iinfo(result)
    if ends is not None and ends.within(info.min - 1, info.max + 1, value):
        return v.astype(result)
    bottom, top = value.type(info.min), value.type(float(info.max + 1))
    risen = np.where(v > bottom, v, bottom)  # False for NaN
    inside = risen < top
    return np.where(inside, np.where(inside, risen, value.type(0)).astype(result), result.type(info.max))
