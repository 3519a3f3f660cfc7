"""Write the polynomials of gpuprims/expressions/portable/coefficients.py: ``python -m bench.coefficients``.

Each approximates a power series on an interval. It passes through the series at the zeros of a Chebyshev polynomial,
which is nearly the best that a polynomial of its degree can do (Muller et al., Handbook of Floating-Point Arithmetic,
2nd edition, section 10.3). Arithmetic has 60 decimal digits; coefficients are rounded to their format once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from textwrap import wrap
from typing import NamedTuple

import numpy as np

_DIGITS, _TERMS = 60, 90


class Series(NamedTuple):
    """A power series, by its n-th coefficient, between two ends, and how small its error must be.

    The polynomial's error is at most 2**-(digits of the format + ``guard``).
    """

    term: Callable[[int], Fraction]
    low: float
    high: float
    guard: int


@cache
def _log_2() -> Decimal:
    with localcontext() as context:
        context.prec = _DIGITS
        return Decimal(2).ln()


def _exp(n: int) -> Fraction:
    """(exp(r) - 1 - r) / r**2."""
    return Fraction(1, math.factorial(n + 2))


def _exp2(n: int) -> Fraction:
    """(2**r - 1 - r * log(2)) / r**2."""
    return Fraction(_log_2()) ** (n + 2) / math.factorial(n + 2)


def _log(n: int) -> Fraction:
    """(log((1 + s) / (1 - s)) / s - 2) / s**2, in s**2."""
    return Fraction(2, 2 * n + 3)


def _log_tail(n: int) -> Fraction:
    """((log((1 + s) / (1 - s)) / s - 2) / s**2 - 2/3 - 2/5 s**2) / s**4, in s**2."""
    return Fraction(2, 2 * n + 7)


def _sin(n: int) -> Fraction:
    """(sin(r) - r) / r**3, in r**2."""
    return Fraction(-((-1) ** n), math.factorial(2 * n + 3))


def _cos(n: int) -> Fraction:
    """(cos(r) - 1 + r**2 / 2) / r**4, in r**2."""
    return Fraction((-1) ** n, math.factorial(2 * n + 4))


def _arctan(n: int) -> Fraction:
    """(arctan(t) / t - 1) / t**2, in t**2."""
    return Fraction(-((-1) ** n), 2 * n + 3)


def _arcsin(n: int) -> Fraction:
    """(arcsin(t) / t - 1) / t**2, in t**2."""
    return Fraction(math.comb(2 * n + 2, n + 1), 4 ** (n + 1) * (2 * n + 3))


SERIES = {
    "EXP": Series(_exp, -0.3467, 0.3467, 2),
    "EXP2": Series(_exp2, -0.5, 0.5, 0),
    "LOG": Series(_log, 0, 0.0295, -2),
    "LOG_TAIL": Series(_log_tail, 0, 0.0295, 0),
    "SIN": Series(_sin, 0, 0.6170, 2),
    "COS": Series(_cos, 0, 0.6170, 2),
    "ARCTAN": Series(_arctan, 0, 0.1915, 1),
    "ARCSIN": Series(_arcsin, 0, 0.2501, 1),
}
FORMATS = {"float32": 24, "float64": 53}


def polynomial(series: Series, count: int) -> list[Decimal]:
    """Return the coefficients of the polynomial through a series at some of Chebyshev's zeros, lowest power first."""
    with localcontext() as context:
        context.prec = _DIGITS
        low, high = Decimal(series.low), Decimal(series.high)
        zeros = [Decimal(math.cos(math.pi * (2 * k + 1) / (2 * count))) for k in range(count)]
        places = [(low + high) / 2 + (high - low) / 2 * zero for zero in zeros]
        differences = [value(series, place) for place in places]  # Newton's divided differences
        for step in range(1, count):
            for k in reversed(range(step, count)):
                differences[k] = (differences[k] - differences[k - 1]) / (places[k] - places[k - step])
        powers: list[Decimal] = []
        for difference, place in zip(reversed(differences), reversed(places), strict=True):
            shifted = [Decimal(0), *powers]
            powers = [a - place * b for a, b in zip(shifted, [*powers, Decimal(0)], strict=True)]
            powers[0] += difference
        return powers


def value(series: Series, place: Decimal) -> Decimal:
    """Return the series at a place."""
    total = Decimal(0)
    for term in reversed(_terms(series)):
        total = total * place + term
    return total


@cache
def _terms(series: Series) -> tuple[Decimal, ...]:
    terms = map(series.term, range(_TERMS))
    return tuple(Decimal(term.numerator) / Decimal(term.denominator) for term in terms)


def rounded(powers: Sequence[Decimal], name: str) -> tuple[float, ...]:
    """Round coefficients to a format."""
    to = np.float32 if name == "float32" else np.float64
    return tuple(float(to(float(power))) for power in powers)


def error(series: Series, powers: Sequence[Decimal]) -> float:
    """Return the largest error of a polynomial at 100 places of the interval."""
    with localcontext() as context:
        context.prec = _DIGITS
        low, high = Decimal(series.low), Decimal(series.high)
        worst = Decimal(0)
        for k in range(101):
            place = low + (high - low) * k / 100
            total = Decimal(0)
            for power in reversed(powers):
                total = total * place + power
            worst = max(worst, abs(total - value(series, place)))
        return float(worst)


def coefficients(name: str, form: str) -> tuple[float, ...]:
    """Return the shortest polynomial of a series that is close enough for a format."""
    series = SERIES[name]
    for count in range(2, 24):
        powers = polynomial(series, count)
        if error(series, powers) < 2.0 ** -(FORMATS[form] + series.guard):
            return rounded(powers, form)
    raise ValueError(f"{name} of {form}: a polynomial of at most 23 coefficients; got none")


def pi() -> Decimal:
    """Return pi, by Machin's formula, in 400 decimal digits."""
    with localcontext() as context:
        context.prec = 400

        def inverse_tangent(of: int) -> Decimal:
            total, power, n = Decimal(0), Decimal(1) / of, 0
            while abs(power) > Decimal(10) ** -405:
                total += power / (2 * n + 1) * (-1) ** n
                power, n = power / (of * of), n + 1
            return total

        return 4 * (4 * inverse_tangent(5) - inverse_tangent(239))


def parts(number: Decimal, form: str, bits: int) -> tuple[float, float]:
    """Cut a number in one of so many bits and the rest of it, rounded to a format."""
    with localcontext() as context:
        context.prec = _DIGITS
        exponent = math.frexp(float(number))[1]
        scale = Decimal(2) ** (bits - exponent)
        high = (number * scale).to_integral_value() / scale
        low = number - high
    return float(high), float(np.float32(float(low)) if form == "float32" else float(low))


def constants(form: str) -> dict[str, tuple[float, float]]:
    """Return numbers in two parts: of few digits, of half of them, or as the nearest number and what it lacks."""
    digits = FORMATS[form]
    short, half = (15, 12) if digits == 24 else (42, 26)
    with localcontext() as context:
        context.prec = _DIGITS
        log_2, log_10, turn = Decimal(2).ln(), Decimal(10).ln(), pi()
        angles = {f"ARCTAN_{name}": _inverse_tangent(Decimal(value)) for name, value in _ANGLES.items()}
        found = {"LOG_2": (log_2, short), "LOG10_2": (log_2 / log_10, short)}
        found |= {
            "LOG_2_HALVES": (log_2, half),
            "PER_LOG_2_HALVES": (1 / log_2, half),
            "PER_LOG_10": (1 / log_10, half),
        }
        found |= {"LOG_2_PAIR": (log_2, digits), "PER_LOG_2": (1 / log_2, digits), "HALF_PI": (turn / 2, digits)}
        found |= {"PI": (turn, digits), "QUARTER_PI": (turn / 4, digits)}
        found |= {"TWO_THIRDS": (Decimal(2) / 3, digits), "TWO_FIFTHS": (Decimal(2) / 5, digits)}
        found |= {name: (angle, digits) for name, angle in angles.items()}
        return {name: parts(number, form, bits) for name, (number, bits) in found.items()}


_ANGLES = {"HALF": "0.5", "THREE_HALVES": "1.5"}


def _inverse_tangent(number: Decimal) -> Decimal:
    """Return arctan, after two halvings of the angle, which make its series short."""
    for _ in range(8):
        number = number / (1 + (1 + number * number).sqrt())
    square, total, power = number * number, Decimal(0), number
    for n in range(60):
        total += power / (2 * n + 1) * (-1) ** n
        power *= square
    return total * 256


def two_over_pi(words: int) -> tuple[int, ...]:
    """Return the bits of 2 / pi after the point, 32 in each word."""
    with localcontext() as context:
        context.prec = 400
        left = int(2 / pi() * Decimal(2) ** (32 * words))
    return tuple(left >> (32 * k) & 0xFFFFFFFF for k in reversed(range(words)))


def page() -> str:
    """Write the module of coefficients."""
    lines = [_HEAD]
    for name, number in (("TWO_OVER_PI", two_over_pi(37)),):
        words = [f"0x{word:08X}," for word in number]
        lines += ["# The bits of 2 / pi after the point.", f"{name} = (", *_wrapped(words, "    "), ")  # fmt: skip"]
    tables = {name: {form: coefficients(name, form) for form in FORMATS} for name in SERIES}
    pairs = {form: constants(form) for form in FORMATS}
    tables |= {name: {form: pairs[form][name] for form in FORMATS} for name in pairs["float32"]}
    for name, table in tables.items():
        about = SERIES[name].term.__doc__ if name in SERIES else None
        lines += ["", *([f"# {about}"] if about else []), f"{name} = {{"]
        for form, numbers in table.items():
            lines += [f'    "{form}": (', *_wrapped([f"{number!r}," for number in numbers], "        "), "    ),"]
        lines.append("}  # fmt: skip")
    return "\n".join(lines) + "\n"


def _wrapped(words: Sequence[str], indent: str) -> list[str]:
    return wrap(" ".join(words), 116, initial_indent=indent, subsequent_indent=indent)


_HEAD = '''"""Coefficients of portable functions, by format; ``python -m bench.coefficients`` writes this file.

Polynomials have the coefficient of the lowest power first. Other numbers are in two parts: LOG_2 and LOG10_2 have few
digits in the first, ``..._HALVES`` and PER_LOG_10 half of the digits, and the others as many as the format has.
"""
'''

if __name__ == "__main__":
    print(page(), end="")
