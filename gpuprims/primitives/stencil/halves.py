"""Exact sums of 64-bit integers: sum the high and the low 32 bits, and join both sums.

Sums of halves fit in 64 bits; sums of whole elements may not. One function sums both halves of a few neighbours; for
more neighbours, the halves become arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.primitives.stencil.rounding import clipped

Dtype = np.dtype[Any]
# A function from the sums of high and of low halves to a result.
Join = Callable[[Any, Any], Any]

_BITS, _LOW = 32, 2**32 - 1
_INT64, _UINT64, _UINT32 = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.uint32)
# Largest sum of the weights' magnitudes for which sums of halves are exact.
MOST_WEIGHT = 2**30


def high_half(v: Any, element: Dtype) -> Any:
    """Return the high 32 bits of an element, with its sign."""
    return v >> element.type(_BITS)


def low_half(v: Any, element: Dtype) -> Any:
    """Return the low 32 bits of an element, without a sign."""
    return v & element.type(_LOW)


def half_dtypes(element: Dtype) -> tuple[Dtype, Dtype]:
    """Return the dtypes of the high and the low half."""
    return np.dtype(np.int32 if element.kind == "i" else np.uint32), np.dtype(np.uint32)


def joining_sums(result: Dtype) -> Join:
    """Return the function from sums of halves to a sum; out of range, it converts as :func:`.rounding.summed` does."""

    def join(high: Any, low: Any) -> Any:
        top = high + (low >> np.int64(_BITS))
        bits = (top.astype(_UINT64) << np.uint64(_BITS)) | low_half(low, _INT64).astype(_UINT64)
        if result.kind != "b" and result.itemsize < 4:
            return bits.astype(result)
        if result == _UINT32:
            return np.where(top > np.int64(0), np.uint32(_LOW), bits.astype(result))
        if result == _UINT64:
            return np.where(top > np.int64(2**32 - 1), np.uint64(2**64 - 1), bits)
        held = np.where(top < np.int64(-(2**31)), np.int64(-(2**63)), bits.astype(_INT64))
        held = np.where(top > np.int64(2**31 - 1), np.int64(2**63 - 1), held)
        return clipped(held, _INT64, result, None) if result.kind in "iu" else held.astype(result)

    return join


def joining_means(count: int, result: Dtype) -> Join:
    """Return the function from sums of halves to a mean, truncated towards zero, by a long division."""
    whole = np.int64(count)

    def join(high: Any, low: Any) -> Any:
        quotient = high // whole
        rest = ((high - quotient * whole) << np.int64(_BITS)) + low
        next_digit = rest.astype(_UINT64) // np.uint64(count)
        mean = ((quotient.astype(_UINT64) << np.uint64(_BITS)) + next_digit).astype(result)
        if result.kind == "u":
            return mean
        cut = next_digit * np.uint64(count) != rest.astype(_UINT64)
        return mean + ((mean < np.int64(0)) & cut).astype(_INT64)

    return join
