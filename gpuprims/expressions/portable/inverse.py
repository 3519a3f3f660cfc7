"""Inverse circular functions, by polynomials on short intervals.

arctan(t) = arctan(c) + arctan((t - c) / (1 + c * t)) for a c of 0, 1/2, 1, 3/2 or infinity, as in Sun's fdlibm. The
arcsine of more than 1/2 is that of sqrt((1 - x) / 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.expressions.portable import coefficients as table
from gpuprims.expressions.portable.formats import Format
from gpuprims.expressions.portable.pairs import (
    Pair,
    exact_product,
    exact_sum,
    ordered_sum,
    polynomial,
    quotient_of_pairs,
    root_of_pair,
)
from gpuprims.expressions.portable.signs import magnitude, or_nan, sign_of, signed

# Quotients from which on each center is taken, and the centers. The last stands for infinity.
_BOUNDS, _CENTERS = (0.4375, 0.6875, 1.1875, 2.4375), (0.0, 0.5, 1.0, 1.5, 0.0)


def _arctan_of(y: Any, x: Any, form: Format) -> Pair:
    """Return arctan(y / x) of numbers that are not negative; only ``y`` may be so large that 2 * y overflows."""
    steps = [y >= bound * x for bound in _BOUNDS]
    zero = (0.0, 0.0)
    angles = (zero, *(one[form.name] for one in (table.ARCTAN_HALF, table.QUARTER_PI, table.ARCTAN_THREE_HALVES)))
    angles = (*angles, table.HALF_PI[form.name])
    center = _chosen(steps, _CENTERS, form)
    moved, lost = exact_product(center, x, form)
    over, less = exact_sum(y, -moved)
    added, more = exact_product(center, y, form)
    under, rest = exact_sum(x, added)
    far = steps[-1]
    dividend = np.where(far, -x, over), np.where(far, 0.0, less - lost)
    divisor = np.where(far, y, under), np.where(far, 0.0, rest + more)
    high, low = quotient_of_pairs(dividend, divisor, form)
    square = high * high
    tail = low + high * square * polynomial(square, table.ARCTAN[form.name])
    first, lost = ordered_sum(_chosen(steps, [angle[0] for angle in angles], form), high)
    return first, lost + (tail + _chosen(steps, [angle[1] for angle in angles], form))


def _chosen(steps: list[Any], values: Any, form: Format) -> Any:
    """Return the value after the last true step."""
    found = form.number(values[0])
    for step, value in zip(steps, values[1:], strict=True):
        found = np.where(step, form.number(value), found)
    return found


def arctan(x: Any, form: Format) -> Any:
    """Return the inverse tangent."""
    size, far = magnitude(x, form), 2.0**60
    near = np.where(size < far, size, far)
    high, low = _arctan_of(near, form.number(1), form)
    result = np.where(size < 2.0 ** -(form.digits // 2 + 1), size, high + low)
    return or_nan(x, signed(result, sign_of(x, form)))


def arctan2(y: Any, x: Any, form: Format) -> Any:
    """Return the angle of the point (x, y); special values are those of IEEE 754's atan2."""
    ordinate, abscissa = magnitude(y, form), magnitude(x, form)
    largest = np.where(ordinate > abscissa, ordinate, abscissa)
    infinite = largest == np.inf
    up = np.where(infinite, np.where(ordinate == np.inf, 1.0, form.number(0)), ordinate)
    across = np.where(infinite, np.where(abscissa == np.inf, 1.0, form.number(0)), abscissa)
    exponent = np.minimum(bits_of(np.where(infinite, 1.0, largest)) >> form.shift, 2 * form.bias - 1)
    factor = float_of(2 * form.bias - exponent << form.shift)
    up, across = up * factor, np.where(largest == 0, 1.0, across * factor)
    high, low = _arctan_of(up, across, form)
    slight = up < across * 2.0 ** -(form.digits // 2 + 1)
    ahead = np.where(slight, up / across, high + low)
    turn = table.PI[form.name]
    first, lost = ordered_sum(turn[0], -high)
    behind = first + (lost + (turn[1] - low))
    result = signed(np.where(sign_of(x, form) != 0, behind, ahead), sign_of(y, form))
    return or_nan(x, or_nan(y, result))


def _arcsin_parts(size: Any, form: Format) -> tuple[Any, Pair]:
    """Return where a number is above 1/2, and the arcsine of it, or there that of sqrt((1 - size) / 2)."""
    above, half = size > 0.5, (1 - size) * 0.5
    root = root_of_pair((np.where(half > 0, half, 1.0), 0.0), form)
    ends = above & (half == 0)
    t = np.where(above, np.where(ends, 0.0, root[0]), size)
    square = np.where(above, half, size * size)
    low = np.where(above & ~ends, root[1], 0.0)
    return above, (t, low + t * square * polynomial(square, table.ARCSIN[form.name]))


def _away_from(angle: Pair, t: Any, rest: Any) -> Any:
    """Return an angle less t + rest."""
    high, low = ordered_sum(angle[0], -t)
    return high + (low + (angle[1] - rest))


def arcsin(x: Any, form: Format) -> Any:
    """Return the inverse sine; NaN beyond 1."""
    size = magnitude(x, form)
    above, (t, rest) = _arcsin_parts(size, form)
    result = np.where(above, _away_from(table.HALF_PI[form.name], t + t, rest + rest), t + rest)
    return np.where(size <= 1, signed(result, sign_of(x, form)), np.nan)


def arccos(x: Any, form: Format) -> Any:
    """Return the inverse cosine; NaN beyond 1."""
    size, sign = magnitude(x, form), sign_of(x, form)
    above, (t, rest) = _arcsin_parts(size, form)
    twice = t + t, rest + rest
    near = _away_from(table.HALF_PI[form.name], signed(t, sign), signed(rest, sign))
    far = np.where(sign != 0, _away_from(table.PI[form.name], *twice), twice[0] + twice[1])
    return np.where(size <= 1, np.where(above, far, near), np.nan)
