"""Sums of float weights that kernels cut into integers, which add up to the same sum in any order."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gpuprims.operators import Op

# Bits of an integer: LIMB_BITS of binning.h.
_BITS = 30


@cache
def joining_limbs(result: np.dtype[Any], *, single: bool) -> Op:
    """Return the operator that adds the three integers of weights and joins them by the largest weight's exponent.

    ``single`` is True for weights of float32, False for float64.
    """
    mask, bias = (0xFF, 127) if single else (0x7FF, 1023)

    def fold(p: Any, q: Any) -> Any:
        return (*(a + b for a, b in zip(p[:3], q[:3], strict=True)), np.maximum(p[3], q[3]))

    def join(high: Any, middle: Any, low: Any, peak: Any, count: Any) -> Any:
        power = peak.astype(np.int64) - (_BITS - 1 + bias)
        parts = [part.astype(np.float64) for part in (high, middle, low)]
        whole = parts[0] + (parts[1] * 2.0**-_BITS + parts[2] * 2.0 ** (-2 * _BITS))
        half = power >> 1
        finite = whole * _power_of_two(half) * _power_of_two(power - half)
        # If the largest weight is not finite, the integers count infinities, negative infinities and NaN.
        infinite = np.where(high > 0, np.inf, -np.inf)
        other = np.where((low > 0) | ((high > 0) & (middle > 0)), np.nan, infinite)
        return np.where(peak == mask, other, finite)

    return Op(
        fold,
        (0, 0, 0, 0),
        name="sums of integers that weights are cut into",
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
