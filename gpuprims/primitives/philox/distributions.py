"""Functions from random words to random numbers, traced for kernels and for NumPy.

They consist of operations that every device rounds alike, so numbers have the same bits everywhere. A device's own
``log``, ``sin`` and ``cos`` differ in last bits, so normal numbers use polynomials instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.expressions.portable import coefficients as table
from gpuprims.expressions.portable.formats import FORMATS, Format
from gpuprims.expressions.portable.logarithm import mantissa
from gpuprims.expressions.portable.pairs import polynomial

# (-2 log(1 + f) + 2 f - f^2) / f^3 for 1 + f between the roots of 1/2 and 2. Of all such polynomials, the logarithm's
# largest relative error is the least, 3e-8: by Lawson's iteration of weighted least squares.
_Q = (
    *(-0.6666781902313232, 0.5000267624855042, -0.3992612659931183, 0.3315517008304596),
    *(-0.29829537868499756, 0.2853497266769409, -0.17400860786437988),
)


def bits(word: Any) -> Any:
    """Return the word."""
    return word


def uniform(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """Return the function that gives a multiple of 2^-24 or 2^-53 in [0, 1), each as often as any other."""
    shift, fraction = (8, 24) if dtype == np.float32 else (11, 53)
    return lambda word: (word >> shift).astype(dtype) * dtype.type(2.0**-fraction)


def integers(dtype: np.dtype[Any], low: int, count: int) -> Callable[[Any], Any]:
    """Return the function that gives an integer of ``count`` ones from ``low`` on: the high word of a product."""
    many, first = np.uint64(count), np.uint64(low % 2**64)

    def number(word: Any) -> Any:
        high, lower = (word >> 32) * many, ((word & np.uint64(2**32 - 1)) * many) >> 32
        return (((high + lower) >> 32) + first).astype(dtype)

    return number


def normal(dtype: np.dtype[Any]) -> Callable[[Any, Any], Any]:
    """Return the function that gives two normal numbers: a radius of a word, and a point of the circle of another.

    Box and Muller, "A note on the generation of random normal deviates" (1958).
    """
    form = FORMATS[dtype.name]

    def numbers(first: Any, second: Any) -> Any:
        radius = np.sqrt(_minus_twice_log(first, dtype, form))
        x, y = _on_circle(second, dtype, form)
        return radius * x, radius * y

    return numbers


def _minus_twice_log(word: Any, dtype: np.dtype[Any], form: Format) -> Any:
    """Return -2 log((word + 1/2) / 2^bits). Near 1 it comes from the distance to 1, which has more digits."""
    near_one = word >= int(np.sqrt(0.5) * 2**form.bits)
    x = np.where(near_one, ~word, word).astype(dtype) + dtype.type(0.5)
    whole, near, _ = mantissa(x, form, small=False)
    whole = np.where(near_one, 0.0, form.bits - whole)
    f = np.where(near_one, x * -(2.0**-form.bits), near - 1)
    return whole * (2 * float(np.log(2))) + _MINUS_TWICE_LOG_1P[form.name](f)


def _by_quotient(f: Any) -> Any:
    """Return -2 log(1 + f), by the polynomial in f / (2 + f) of :mod:`gpuprims.expressions.portable.logarithm`."""
    s, half = f / (2 + f), f * f * 0.5
    square = s * s
    return -2 * (f - (half - s * (half + square * polynomial(square, table.LOG["float64"]))))


def _by_polynomial(f: Any) -> Any:
    """Return -2 log(1 + f) of float32, as -2 f + f^2 + f^3 Q(f), which needs no division."""  # rows: normal
    square = f * f
    return square + square * f * polynomial(f, _Q) - (f + f)


_MINUS_TWICE_LOG_1P = {"float32": _by_polynomial, "float64": _by_quotient}


def _on_circle(word: Any, dtype: np.dtype[Any], form: Format) -> tuple[Any, Any]:
    """Return a point of the unit circle: two bits of the word choose a quarter, the others an angle within pi / 4."""
    signed, top = f"int{form.bits}", form.bits - 1
    angle = (word << 2).astype(signed).astype(dtype) * (np.pi / 4 * 2.0**-top)
    square = angle * angle
    sine = angle + angle * square * polynomial(square, table.SIN[form.name])
    cosine = 1 - square * 0.5 + square * square * polynomial(square, table.COS[form.name])
    cosine = float_of(bits_of(cosine) ^ (word >> top << top))
    swapped = (word >> top - 1 & 1) != 0
    return np.where(swapped, sine, cosine), np.where(swapped, cosine, sine)
