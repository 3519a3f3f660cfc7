"""Operators that add the sums of parts, and those of float weights that kernels add as integers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gpuprims.core.kernel_spec import Dtype
from gpuprims.operators import Op

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)
# Bits of the largest weight of a bin before the last: as gp_scaled of sums.h.
_BITS = 61


@cache
def adding(floats: bool, result: Dtype) -> Op:
    """Return the operator that adds parts and converts the sum to the result's dtype."""
    dtypes = (_FLOAT64 if floats else _INT64,), (result,)
    return Op("a + b", 0, name="sum", commutative=True, dtypes=lambda elements, dtype: dtypes)


@cache
def joining_planes(result: np.dtype[Any], *, single: bool) -> Op:
    """Return the operator that adds the two planes of scaled weights and joins them by the largest one's exponent.

    ``single`` is True for weights of float32, False for float64.
    """
    mask, bias = (0xFF, 127) if single else (0x7FF, 1023)

    def fold(p: Any, q: Any) -> Any:
        return (*(a + b for a, b in zip(p[:2], q[:2], strict=True)), np.maximum(p[2], q[2]))

    def join(low: Any, high: Any, peak: Any, count: Any) -> Any:
        carry = low >> 32
        bits, above = low - (carry << 32), high + carry  # 32 bits from 0 on, and those above
        power = peak.astype(np.int64) - (_BITS + bias)
        whole = above.astype(np.float64) * 2.0**32 + bits.astype(np.float64)
        half = power >> 1
        finite = whole * _power_of_two(half) * _power_of_two(power - half)
        # If the largest weight is not finite, bits 0 to 47 count infinities, and those above negative ones.
        infinities, negative = (bits > 0) | ((above & 0xFFFF) > 0), (above >> 16) > 0
        infinite = np.where(negative, np.where(infinities, np.nan, -np.inf), np.inf)
        return np.where(peak == mask, infinite, finite)

    return Op(
        fold,
        (0, 0, 0),
        name="sums of scaled weights",
        commutative=True,
        finish=join,
        dtypes=lambda elements, dtype: (elements, (result,)),
    )


def _power_of_two(power: Any) -> Any:
    """Return two to an integer power from -1023 to 1023; exp2 may round."""
    size: Any = abs(power)
    result: Any = 1.0
    for bit in range(10):
        factor = np.where(power < 0, 2.0 ** -(1 << bit), 2.0 ** (1 << bit))
        result = result * np.where((size >> bit) & 1 == 1, factor, 1.0)
    return result
