"""Exponential functions: exp(x) = 2**k * exp(r), with a polynomial for exp(r).

``k`` is the nearest integer to x / log(2), and ``r`` is less than 0.35 in magnitude (Cody and Waite, Software Manual
for the Elementary Functions, chapter 6).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.expressions.portable import coefficients as table
from gpuprims.expressions.portable.formats import Format
from gpuprims.expressions.portable.pairs import Pair, exact_sum, ordered_sum, polynomial, product_of_pairs, split
from gpuprims.expressions.portable.signs import or_nan

# Beyond these bounds, results are 0 or infinite.
LOWEST, HIGHEST = {"float32": -106.0, "float64": -750.0}, {"float32": 89.0, "float64": 711.0}


class Power(NamedTuple):
    """The number 2**whole * (1 + rest); ``rounded`` has the integer ``whole`` in its last bits."""

    rounded: Any
    whole: Any
    rest: Pair


def bounded(x: Any, low: float, high: float) -> Any:
    """Return the number, or the nearer of two bounds; ``low`` for NaN."""
    above = np.where(x > low, x, low)
    return np.where(above < high, above, high)


def power_of_e(x: Any, form: Format) -> Power:
    """Return exp(x) of a number of at most 2**10 in magnitude."""
    rounded = x * table.PER_LOG_2[form.name][0] + form.rounder
    whole = rounded - form.rounder
    high, low = table.LOG_2[form.name]
    first, second = x - whole * high, whole * low  # the first is exact: `high` has few digits
    r = first - second
    lost = (first - r) - second
    return Power(rounded, whole, ordered_sum(r, lost + r * r * polynomial(r, table.EXP[form.name])))


def power_of_2(high: Any, low: Any, form: Format) -> Power:
    """Return 2**(high + low) of a number of at most 2**11 in magnitude."""
    rounded = high + form.rounder
    whole = rounded - form.rounder
    r = exact_sum(high - whole, low)
    first, lost = product_of_pairs(r, table.LOG_2_PAIR[form.name], form)
    return Power(rounded, whole, ordered_sum(first, lost + first * first * polynomial(first, table.EXP[form.name])))


def scaled(x: Any, rounded: Any, form: Format, less: int = 0) -> Any:
    """Multiply by 2**(k - less), where ``rounded`` has the bits of ``k``, in two steps, which do not overflow."""
    lifted = bits_of(rounded) - (form.rounder_bits + less - 2 * form.bias)
    half = lifted >> 1
    return x * float_of(half << form.shift) * float_of((lifted - half) << form.shift)


def shrunk(power: Power, form: Format) -> Any:
    """Return 2**-whole, or another number that is too small to count beside 1."""
    most = form.digits + 4.0
    near = np.where(power.whole < most, power.rounded, form.rounder + most)
    return float_of(form.rounder_bits + form.bias - bits_of(near) << form.shift)


def exp(x: Any, form: Format) -> Any:
    """Return e to the power x."""
    low, high = LOWEST[form.name], HIGHEST[form.name]
    near = np.where(x > high, high, np.where(x < low, low, x))  # NaN stays
    power = power_of_e(near, form)
    return scaled(1 + power.rest[0], power.rounded, form)


def exp2(x: Any, form: Format) -> Any:
    """Return 2 to the power x; exact for integers."""
    near = bounded(x, -1.5 * form.bias, form.bias + 1.0)
    rounded = near + form.rounder
    r = near - (rounded - form.rounder)
    (r_high, r_low), (high, low) = split(r, form), table.LOG_2_HALVES[form.name]
    rest = r_low * high + r * low + r * r * polynomial(r, table.EXP2[form.name])
    return or_nan(x, scaled(1 + (r_high * high + rest), rounded, form))


def less_one(power: Power, form: Format) -> Pair:
    """Return the number less 1, divided by 2**whole."""
    high, low = exact_sum(1 - shrunk(power, form), power.rest[0])
    return ordered_sum(high, low + power.rest[1])


def expm1(x: Any, form: Format) -> Any:
    """Return e to the power x, less 1."""
    power = power_of_e(bounded(x, -0.75 * form.digits, HIGHEST[form.name]), form)
    high, _ = less_one(power, form)
    return np.where((x != 0) & (x == x), scaled(high, power.rounded, form), or_nan(x, x))
