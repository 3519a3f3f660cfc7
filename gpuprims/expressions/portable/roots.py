"""Roots and products of a few factors, with the error of the first result computed and added."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.expressions.portable.formats import Format
from gpuprims.expressions.portable.pairs import (
    exact_product,
    exact_square,
    product_of_pairs,
    root_of_pair,
    sum_of_pairs,
)
from gpuprims.expressions.portable.signs import magnitude, or_nan, sign_of, signed

# Exponents between which squares neither overflow nor lose digits, and what brings others there.
_SQUARED = {"float32": (-40, 60, 100, -66), "float64": (-400, 480, 700, -530)}
# Exponents, multiples of 3, that bring numbers below and above 1 where cubes are exact.
_CUBED = {"float32": (126, -24), "float64": (1020, -54)}
# Numbers below 2 to the first have powers that lose digits; the second brings them to where they do not.
_SMALL = {"float32": (10, 24), "float64": (100, 200)}
# A third of the bits of a number and this are those of a cube root, within some 3 %: two thirds of the bias, less 0.03.
_THIRD = {"float32": 0x2A5119F2, "float64": 0x2A9F7893}


def hypot(x: Any, y: Any, form: Format) -> Any:
    """Return sqrt(x**2 + y**2); infinite beside NaN too, as in IEEE 754."""
    a, b = magnitude(x, form), magnitude(y, form)
    largest = np.where(a > b, a, b)
    low, high, up, down = _SQUARED[form.name]
    few, many = largest < 2.0**low, largest > 2.0**high
    factor = np.where(few, 2.0**up, np.where(many, 2.0**down, form.number(1)))
    back = np.where(few, 2.0**-up, np.where(many, 2.0**-down, form.number(1)))
    first, rest = root_of_pair(sum_of_pairs(exact_square(a * factor, form), exact_square(b * factor, form)), form)
    result = np.where(largest == 0, largest, (first + rest) * back)
    return np.where((a == np.inf) | (b == np.inf), np.inf, or_nan(x, or_nan(y, result)))


def cbrt(x: Any, form: Format) -> Any:
    """Return the cube root: a guess from the bits, Halley's iterations, and Newton's for the exact remainder."""
    size = magnitude(x, form)
    below = size < 1
    up, down = _CUBED[form.name]
    near = np.where(below, size * 2.0**up, size * 2.0**down)
    near = np.where((size > 0) & (size < np.inf), near, 1.0)
    high = (bits_of(near) >> form.bits - 32).astype(np.uint32) // 3 + _THIRD[form.name]
    root = float_of(high.astype(f"uint{form.bits}") << form.bits - 32)
    for _ in range(2):
        ratio = root * root * root / near
        root = root * ((ratio + 2) / (2 * ratio + 1))
    square = exact_square(root, form)
    cube, lost = product_of_pairs(square, (root, 0.0), form)
    result = root + ((near - cube) - lost) / (3 * square[0])
    result = np.where(below, result * 2.0 ** (-up // 3), result * 2.0 ** (-down // 3))
    return or_nan(x, signed(np.where((size > 0) & (size < np.inf), result, size), sign_of(x, form)))


def _raised(x: Any, form: Format, factors: int) -> tuple[Any, Any]:
    """Return a number, multiplied by a power of 2 if its power could lose digits, and by what to multiply the power."""
    below, up = _SMALL[form.name]
    small = magnitude(x, form) < 2.0**-below
    return np.where(small, x * 2.0**up, x), np.where(small, 2.0 ** -(factors * up), form.number(1))


def _corrected(product: Any, lost: Any, form: Format) -> Any:
    """Add the error of a product, unless it overflows."""
    total = product + lost
    return np.where(magnitude(total, form) < np.inf, total, product)


def cube(x: Any, form: Format) -> Any:
    """Return the third power."""
    near, back = _raised(x, form, 3)
    square = exact_square(near, form)
    product, lost = exact_product(square[0], near, form)
    return or_nan(x, np.where(product == 0, product, _corrected(product, lost + square[1] * near, form) * back))


def fourth(x: Any, form: Format) -> Any:
    """Return the fourth power."""
    near, back = _raised(x, form, 4)
    square = exact_square(near, form)
    product, lost = exact_square(square[0], form)
    return or_nan(
        x, np.where(product == 0, product, _corrected(product, lost + 2 * square[0] * square[1], form) * back)
    )
