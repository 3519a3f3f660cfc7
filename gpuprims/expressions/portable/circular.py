"""Sine, cosine and tangent: x = n * pi / 2 + r, with polynomials for r, which is at most pi / 4 in magnitude.

Integers compute the quotient by pi / 2. Digits of 2 / pi that contribute multiples of 4 to it are left out, so no ``x``
is too large (Payne and Hanek; Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, section 11.4).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gpuprims.expressions.bits import bits_of, float_of
from gpuprims.expressions.portable import coefficients as table
from gpuprims.expressions.portable.formats import Format
from gpuprims.expressions.portable.pairs import Pair, ordered_sum, polynomial, product_of_pairs, quotient_of_pairs
from gpuprims.expressions.portable.signs import magnitude, sign_of, signed

# 32-bit words of zeros before those of 2 / pi, and words of both that a quotient needs.
_ZEROS, _WORDS = {"float32": 1, "float64": 2}, {"float32": 3, "float64": 6}
_LOW_WORD = 0xFFFFFFFF
_QUARTER_PI = 0.78539816


class Angle(NamedTuple):
    """The number quarter * pi / 2 + rest, up to multiples of 2 * pi."""

    quarter: Any
    rest: Pair


def angle(x: Any, form: Format) -> Angle:
    """Reduce a finite number that is not negative."""
    digits = _quotient(x, form)
    quarter = (digits[0] + (1 << 29)) >> 30
    fraction = [a << 2 | b >> 30 for a, b in pairwise(digits)]
    over = fraction[0] >> 31  # 1 above 1/2, where the fraction less 1 is meant: all bits change, and the sign
    pieces = _pieces([word ^ (over * _LOW_WORD) for word in fraction], form)
    total, lost = pieces[-1], list[Any]()
    for piece in reversed(pieces[:-1]):
        total, rest = ordered_sum(piece, total)
        lost.append(rest)
    rest = product_of_pairs(ordered_sum(total, sum(lost[1:], lost[0])), table.HALF_PI[form.name], form)
    sign = over.astype(f"uint{form.bits}") << form.bits - 1
    small = x < _QUARTER_PI
    return Angle(
        np.where(small, 0, quarter),
        (np.where(small, x, signed(rest[0], sign)), np.where(small, 0.0, signed(rest[1], sign))),
    )


def _quotient(x: Any, form: Format) -> list[Any]:
    """Return x * 2 / pi up to multiples of 4, in 32-bit words; the first has two bits before the point."""
    zeros = _ZEROS[form.name]
    exponent = (bits_of(x) >> form.shift).astype(np.uint32)
    words = _window(exponent - (form.bias + form.shift + 2 - 32 * zeros), form)
    fraction = bits_of(x) & (1 << form.shift) - 1 | 1 << form.shift
    limbs = [fraction] if form.bits == 32 else [fraction & _LOW_WORD, fraction >> 32]
    columns: list[list[Any]] = [[] for _ in words]
    for k, limb in enumerate(limbs):
        for place in range(k, len(words)):
            product = limb.astype(np.uint64) * words[place].astype(np.uint64)
            columns[place - k].append(product & _LOW_WORD)
            if place > k:
                columns[place - k - 1].append(product >> 32)
    found, carry = list[Any](), list[Any]()
    for column in reversed(columns):
        total = sum([*column[1:], *carry], column[0])
        found.append((total & _LOW_WORD).astype(np.uint32))
        carry = [total >> 32]
    return found[::-1]


def _window(first: Any, form: Format) -> list[Any]:
    """Return words of zeros and 2 / pi, from bit ``first`` on: chosen by each bit of its number in turn."""
    wanted, place, bits = _WORDS[form.name], first >> 5, first & 31
    words: list[Any] = [np.uint32(0)] * _ZEROS[form.name] + [np.uint32(word) for word in table.TWO_OVER_PI]
    last = form.bias - 1 - form.shift + 32 * _ZEROS[form.name] >> 5
    step = 1 << last.bit_length() - 1
    words = words[: last + wanted + 1]
    while step:
        moves = (place & step) != 0
        kept = min(step + wanted, len(words))
        words = [np.where(moves, words[k + step], words[k]) if k + step < len(words) else words[k] for k in range(kept)]
        step >>= 1
    return [a << bits | b >> 1 >> 31 - bits for a, b in pairwise(words)]


def _pieces(words: list[Any], form: Format) -> list[Any]:
    """Return a fraction of a few words as exact floats that add up to it."""
    if form.bits == 32:
        first, second = words[:2]
        integers = [first >> 8, (first & 0xFF) << 15 | second >> 17, second & 0x1FFFF]
        places: tuple[int, ...] = (24, 47, 64)
    else:
        integers = [word.astype(np.uint64) for word in words[:4]]
        places = (32, 64, 96, 128)
    lead = form.bias + form.shift << form.shift  # the bits of 2**shift; an integer takes the last ones
    floats = [float_of(one | lead) - 2.0**form.shift for one in integers]
    return [one * 2.0**-place for one, place in zip(floats, places, strict=True)]


def _sine(rest: Pair, form: Format) -> Pair:
    r, low = rest
    square = r * r
    return r, low - 0.5 * square * low + r * square * polynomial(square, table.SIN[form.name])


def _cosine(rest: Pair, form: Format) -> Pair:
    r, low = rest
    square = r * r
    half = 0.5 * square
    near = 1 - half
    return near, ((1 - near) - half) + (square * square * polynomial(square, table.COS[form.name]) - r * low)


def _of(quarter: Any, rest: Pair, form: Format) -> Any:
    """Return the sine of quarter * pi / 2 + rest."""
    sine, cosine = _sine(rest, form), _cosine(rest, form)
    odd = (quarter & 1) != 0
    result = np.where(odd, cosine[0] + cosine[1], sine[0] + sine[1])
    return signed(result, (quarter >> 1 & 1).astype(f"uint{form.bits}") << form.bits - 1)


def sin(x: Any, form: Format) -> Any:
    """Return the sine; NaN for infinities."""
    size = magnitude(x, form)
    found = angle(size, form)
    return np.where(size < np.inf, signed(_of(found.quarter, found.rest, form), sign_of(x, form)), np.nan)


def cos(x: Any, form: Format) -> Any:
    """Return the cosine; NaN for infinities."""
    size = magnitude(x, form)
    found = angle(size, form)
    return np.where(size < np.inf, _of(found.quarter + 1, found.rest, form), np.nan)


def tan(x: Any, form: Format) -> Any:
    """Return the tangent, the quotient of sine and cosine; NaN for infinities."""
    size = magnitude(x, form)
    found = angle(size, form)
    sine, cosine = _sine(found.rest, form), _cosine(found.rest, form)
    odd = (found.quarter & 1) != 0
    over = np.where(odd, -cosine[0], sine[0]), np.where(odd, -cosine[1], sine[1])
    under = np.where(odd, sine[0], cosine[0]), np.where(odd, sine[1], cosine[1])
    high, low = quotient_of_pairs(ordered_sum(*over), ordered_sum(*under), form)
    result = np.where(size < 2.0 ** -(form.digits // 2 + 1), size, high + low)
    return np.where(size < np.inf, signed(result, sign_of(x, form)), np.nan)
