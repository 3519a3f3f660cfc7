"""Hyperbolic functions and their inverses, by exponentials and logarithms as pairs of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.expressions.portable.exponential import Power, bounded, less_one, power_of_e, scaled, shrunk
from gpuprims.expressions.portable.formats import Format
from gpuprims.expressions.portable.logarithm import natural, reduced_pair
from gpuprims.expressions.portable.pairs import (
    Pair,
    exact_square,
    exact_sum,
    ordered_sum,
    quotient_of_pairs,
    root_of_pair,
    sum_of_pairs,
)
from gpuprims.expressions.portable.signs import magnitude, or_nan, sign_of, signed

# Below, sinh(x), tanh(x) and their inverses are x.
_SMALL = {"float32": 2.0**-13, "float64": 2.0**-27}
# Beyond, sinh(x) and cosh(x) are infinite.
_MOST = {"float32": 90.0, "float64": 712.0}
# From here on, 1 + x**2 is x**2.
_LARGE = {"float32": 2.0**14, "float64": 2.0**28}


def _factor(power: Power) -> Pair:
    """Return a power, divided by 2**whole."""
    high, low = ordered_sum(1.0, power.rest[0])
    return high, low + power.rest[1]


def tanh(x: Any, form: Format) -> Any:
    """Return the hyperbolic tangent."""
    size = magnitude(x, form)
    power = power_of_e(bounded(size + size, 0.0, float(form.digits)), form)
    high, low = less_one(power, form)
    # Both of exp(2x) - 1 and exp(2x) + 1, divided by 2**whole.
    divisor = sum_of_pairs((high, low), (2 * shrunk(power, form), 0.0))
    quotient = quotient_of_pairs((high, low), divisor, form)
    result = np.where(size < _SMALL[form.name], size, quotient[0] + quotient[1])
    return or_nan(x, signed(np.where(size < 0.5 * form.digits, result, 1.0), sign_of(x, form)))


def sinh(x: Any, form: Format) -> Any:
    """Return the hyperbolic sine, (E + E / (E + 1)) / 2 with E = exp(x) - 1."""
    size = magnitude(x, form)
    power = power_of_e(bounded(size, 0.0, _MOST[form.name]), form)
    less, small = less_one(power, form), shrunk(power, form)
    ratio = quotient_of_pairs(less, _factor(power), form)
    high, low = sum_of_pairs(less, (ratio[0] * small, ratio[1] * small))
    result = np.where(size < _SMALL[form.name], size, scaled(high + low, power.rounded, form, 1))
    return or_nan(x, signed(result, sign_of(x, form)))


def cosh(x: Any, form: Format) -> Any:
    """Return the hyperbolic cosine, (exp(x) + 1 / exp(x)) / 2."""
    power = power_of_e(bounded(magnitude(x, form), 0.0, _MOST[form.name]), form)
    factor, small = _factor(power), shrunk(power, form)
    inverse = quotient_of_pairs((small * small, 0.0), factor, form)
    high, low = sum_of_pairs(factor, inverse)
    return or_nan(x, scaled(high + low, power.rounded, form, 1))


def arcsinh(x: Any, form: Format) -> Any:
    """Return log(x + sqrt(x**2 + 1)) = log1p(x + x**2 / (1 + sqrt(x**2 + 1)))."""
    size = magnitude(x, form)
    large = size > _LARGE[form.name]
    near = np.where(large, 1.0, size)
    square = exact_square(near, form)
    root = root_of_pair(sum_of_pairs((square[0], square[1]), (1.0, 0.0)), form)
    more = quotient_of_pairs(square, sum_of_pairs(root, (1.0, 0.0)), form)
    log = _log1p_or_log(sum_of_pairs((near, 0.0), more), size, large, form)
    result = np.where(size < _SMALL[form.name], size, log)
    return or_nan(x, signed(np.where(size < np.inf, result, size), sign_of(x, form)))


def arccosh(x: Any, form: Format) -> Any:
    """Return log(x + sqrt(x**2 - 1)) = log1p(t + sqrt(t**2 + 2 t)) with t = x - 1."""
    large = x > _LARGE[form.name]
    t = exact_sum(np.where((x > 1) & (x <= _LARGE[form.name]), x, 2.0), -1.0)
    square = exact_square(t[0], form)
    under = sum_of_pairs((t[0] + t[0], t[1] + t[1]), (square[0], square[1] + 2 * (t[0] * t[1])))
    log = _log1p_or_log(sum_of_pairs(t, root_of_pair(under, form)), x, large, form)
    return np.where(x > 1, np.where(x < np.inf, log, x), np.where(x == 1, x - 1, np.nan))


def _log1p_or_log(more: Pair, x: Any, large: Any, form: Format) -> Any:
    """Return log1p of a pair, or log(2x) of a large x."""
    one = sum_of_pairs((1.0, 0.0), more)
    high, low = np.where(large, x, one[0]), np.where(large, 0.0, one[1])
    number = reduced_pair(high, low, form)
    number = number._replace(whole=np.where(large, number.whole + 1, number.whole))
    first, rest = natural(number, form)
    return first + rest


def arctanh(x: Any, form: Format) -> Any:
    """Return log1p(2x / (1 - x)) / 2."""
    size = magnitude(x, form)
    near = np.where(size < 1, size, 0.5)
    ratio = quotient_of_pairs((near + near, 0.0), exact_sum(1.0, -near), form)
    high, low = natural(reduced_pair(*sum_of_pairs((1.0, 0.0), ratio), form), form)
    result = np.where(size < _SMALL[form.name], size, 0.5 * (high + low))
    within = np.where(size < 1, result, np.inf)
    return np.where(size <= 1, signed(within, sign_of(x, form)), np.nan)
