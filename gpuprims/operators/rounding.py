"""Sums that carry their rounding errors: error-free transformations, and compensated sum and mean.

They need no wider dtype, so float32 gets the accuracy of twice its digits on devices without float64. They rely on IEEE
additions in the given order, which CUDA and OpenCL keep unless a fast-math option is set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.errors import DtypeError
from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.operators.dtypes import Dtype, Dtypes
from gpuprims.operators.op import Op

# No float64 is as large as two to this power.
_HIGHEST = 1024


def two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the rounded sum and its exact rounding error, whichever operand is larger.

    TwoSum of D. E. Knuth, The Art of Computer Programming, volume 2, section 4.2.2.
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fast_two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the sum and its rounding error if ``abs(a) >= abs(b)``.

    FastTwoSum of T. J. Dekker, Numerische Mathematik 18 (1971).
    """
    total = a + b
    return total, b - (total - a)


def turn_at(power: int) -> Any:
    """Return 1.5 * 2^52 units of 2^power.

    A float64 becomes the nearest multiple of the unit if this is added and then subtracted.
    """
    return np.float64(1.5 * 2.0 ** (52 + power))


def can_turn(power: int) -> bool:
    """Return True if float64 hold these units, and the sums of a turn and what it cuts."""
    return power + 53 < _HIGHEST


def to_odd(total: Any, error: Any) -> Any:
    """Return a float64 sum towards zero of its exact value, with the last bit set if there is an ``error``.

    It can be rounded again: that is rounding to odd (S. Boldo and G. Melquiond, "Emulation of a FMA and Correctly
    Rounded Sums", IEEE Transactions on Computers 57, 2008).
    """
    bits, more = bits_of(total), (error != 0).astype(np.uint64)
    return float_of(bits - ((bits ^ bits_of(error)) >> 63 & more) | more)


def _merge(p: tuple[Any, Any], q: tuple[Any, Any]) -> tuple[Any, Any]:
    """Add two sums and their errors, with the rounding error of this addition.

    As A. Neumaier (ZAMM 54, 1974), and as Sum2 of T. Ogita, S. M. Rump and S. Oishi, "Accurate sum and dot product",
    SIAM Journal on Scientific Computing 26 (2005), on a tree.
    """
    total, error = two_sum(p[0], q[0])
    return total, p[1] + q[1] + error


def with_errors(plain: Op) -> Op:
    """Return a sum or a mean that folds (sum, error) pairs of floats; ``plain`` still folds integers and bools."""

    def finish(total: Any, error: Any, count: Any) -> Any:
        # The error of an infinite sum is NaN, and the result is inf or NaN, as in NumPy.
        corrected = np.where(np.isnan(error), total, total + error)
        return plain.finish(corrected, count) if plain.finish else corrected

    def dtypes(elements: Dtypes, dtype: Dtype | None) -> tuple[Dtypes, Dtypes]:
        values, results = plain.value_dtypes(elements, dtype)
        if values[0].kind == "c":
            raise DtypeError(f"{plain.name} with compensated=True: a real dtype; got {values[0]}")
        return values * 2, results

    return Op(
        _merge,
        (0, 0),
        name=plain.name,
        commutative=True,
        prepare=lambda element, index: (element, 0),
        finish=finish,
        dtypes=dtypes,
        instead=lambda elements, values: plain if values[0].kind in "biu" else None,
    )
