"""Functions from a random word to a random number, traced for kernels and for NumPy.

They consist of operations that every device rounds alike, so numbers have the same bits everywhere. For this reason
normal numbers come from the inverse of their distribution, and its logarithm from a series: a device's own ``log`` and
``cos``, which the method of Box and Muller needs, differ in last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Wichura, "Algorithm AS 241: the percentage points of the normal distribution" (1988), PPND7 and PPND16: coefficients
# of numerators and denominators, from the constant one on, in the middle, towards the ends, and at the ends.
Ratio = tuple[Sequence[float], Sequence[float]]
_MIDDLE: dict[str, Ratio] = {
    "float32": (
        (3.3871327179, 50.434271938, 159.29113202, 59.109374720),
        (1.0, 17.895169469, 78.757757664, 67.187563600),
    ),
    "float64": (
        (
            *(3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125),
            *(45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
        ),
        (
            *(1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077),
            *(21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
        ),
    ),
}
_OUTER: dict[str, Ratio] = {
    "float32": ((1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103), (1.0, 0.73700164250, 0.12021132975)),
    "float64": (
        (
            *(1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504),
            *(1.27045825245236838258, 0.241780725177450611770, 0.0227238449892691845833, 7.74545014278341407640e-4),
        ),
        (
            *(1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550),
            *(0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
        ),
    ),
}
_ENDS: dict[str, Ratio] = {  # probabilities below exp(-25), which 32 bits do not reach
    "float64": (
        (
            *(6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230),
            *(
                0.0265321895265761230930,
                1.24266094738807843860e-3,
                2.71155556874348757815e-5,
                2.01033439929228813265e-7,
            ),
        ),
        (
            *(1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525),
            *(
                7.86869131145613259100e-4,
                1.84631831751005468180e-5,
                1.42151175831644588870e-7,
                2.04426310338993978564e-15,
            ),
        ),
    )
}
# Terms of the series of a logarithm that the dtype can tell.
_TERMS = {"float32": 5, "float64": 11}


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


def normal(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """Return the function that gives a normal number: the inverse of the distribution at the word as a probability."""
    name, kind, word_bits = dtype.name, dtype.type, 32 if dtype == np.float32 else 64

    def number(word: Any) -> Any:
        upper = word >= 2 ** (word_bits - 1)
        below, unit = np.where(upper, ~word, word), kind(2.0**-word_bits)
        chance = (below.astype(dtype) + kind(0.5)) * unit  # in (0, 0.5]
        middle = ((2 ** (word_bits - 1) - below).astype(dtype) - kind(0.5)) * unit  # 0.5 less that, to the last bit
        near = middle * _ratio(_MIDDLE[name], kind(0.180625) - middle * middle, kind)
        depth = np.sqrt(_minus_log(chance, kind, word_bits, _TERMS[name]))
        far = _ratio(_OUTER[name], depth - kind(1.6), kind)
        if name in _ENDS:
            far = np.where(depth > 5, _ratio(_ENDS[name], depth - kind(5), kind), far)
        size = np.where(middle <= kind(0.425), near, far)
        return np.where(upper, size, -size)

    return number


def _ratio(ratio: Ratio, x: Any, kind: Callable[[float], Any]) -> Any:
    upper, lower = (_polynomial(one, x, kind) for one in ratio)
    return upper / lower


def _polynomial(coefficients: Sequence[float], x: Any, kind: Callable[[float], Any]) -> Any:
    total = kind(coefficients[-1])
    for one in coefficients[-2::-1]:
        total = total * x + kind(one)
    return total


def _minus_log(x: Any, kind: Callable[[float], Any], word_bits: int, terms: int) -> Any:
    """Return -log of a number from 2^-(word_bits + 1) to 0.5: a power of two, and the series of 2 artanh."""
    rest, power = x, kind(0)
    for shift in (2**k for k in reversed(range(word_bits.bit_length() - 1))):
        small = rest < kind(2.0**-shift)
        rest, power = np.where(small, rest * kind(2.0**shift), rest), np.where(small, power + kind(shift), power)
    small = rest < kind(0.5)
    rest, power = np.where(small, rest * kind(2), rest), np.where(small, power + kind(1), power)
    small = rest < kind(np.sqrt(0.5))
    rest, power = np.where(small, rest * kind(2), rest), np.where(small, power + kind(1), power)
    ratio = (rest - kind(1)) / (rest + kind(1))
    series = _polynomial([1 / (2 * k + 1) for k in range(terms)], ratio * ratio, kind)
    return power * kind(np.log(2)) - kind(2) * (ratio * series)
