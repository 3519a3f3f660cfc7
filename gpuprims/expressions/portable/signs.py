"""Magnitudes, signs and choices, with the same bits everywhere: a NaN counts as positive, and gives one NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.expressions.portable.formats import Format


def magnitude(x: Any, form: Format) -> Any:
    """Return the number without its sign."""
    return float_of(bits_of(x) & form.sign - 1)


def sign_of(x: Any, form: Format) -> Any:
    """Return the bit of the sign."""
    return bits_of(x) & form.sign


def signed(x: Any, sign: Any) -> Any:
    """Change the sign of a number if a bit is set."""
    return float_of(bits_of(x) ^ sign)


def or_nan(x: Any, result: Any) -> Any:
    """Return the result, or the NaN of NumPy if ``x`` is NaN."""
    return np.where(x == x, result, np.nan)


def plain(x: Any, form: Format) -> Any:
    """Return the number; NumPy's NaN for any NaN, because devices make NaN of different bits."""
    return or_nan(x, x)


def copysign(x: Any, y: Any, form: Format) -> Any:
    """Return a magnitude with the sign of another number; NaN counts as positive."""
    return float_of(bits_of(magnitude(x, form)) | np.where(y == y, sign_of(y, form), 0))


def signbit(x: Any, form: Format) -> Any:
    """Return True for a number with a sign, -0.0 among them; NaN counts as positive."""
    return (sign_of(x, form) != 0) & (x == x)


def maximum(x: Any, y: Any, form: Format) -> Any:
    """Return the larger number, the second one of two zeros; NaN if either is."""
    return np.where((x != x) | (x > y), x, y)


def minimum(x: Any, y: Any, form: Format) -> Any:
    """Return the smaller number, the second one of two zeros; NaN if either is."""
    return np.where((x != x) | (x < y), x, y)


def fmax(x: Any, y: Any, form: Format) -> Any:
    """Return the larger number, the second one of two zeros; the other one beside NaN."""
    return np.where((y != y) | (x > y), x, y)


def fmin(x: Any, y: Any, form: Format) -> Any:
    """Return the smaller number, the second one of two zeros; the other one beside NaN."""
    return np.where((y != y) | (x < y), x, y)
