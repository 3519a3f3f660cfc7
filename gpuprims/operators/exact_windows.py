"""Exact sums of floats whose bits lie in a window: the way to hold them, chosen by the exponents of the elements.

Few data need all bits that a sum of floats can have (:mod:`.exact_words`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.expressions.bits import bits_of
from gpuprims.operators.dtypes import FLOAT32, Dtype
from gpuprims.operators.exact_limbs import Limbs, limbs_of
from gpuprims.operators.exact_pairs import Guess, Pair, carrying_pair, deferring_pair, free_pair, widest_pairs
from gpuprims.operators.exact_words import Format, format_of

_UINT32 = np.dtype(np.uint32)
# All bits of a float's upper word but the sign.
_MAGNITUDE = 0x7FFFFFFF
# Windows begin at multiples of this many bits where possible, because each beginning has its own launch plan.
_STEP = 16
# A guess ends so many bits, and at most _GUESSED more, above the largest float of a sample. Guesses end at multiples of
# _GUESSED. If the sample spans more than _NARROW powers of two, its floats seem to have a density at zero, and the
# smallest of n times as many floats is about n times smaller; with _BELOW bits more.
_ROOM, _GUESSED, _NARROW, _BELOW = 4, 8, 10, 4
# Above all exponents.
_ABOVE = 2048

# How the elements of a call add up, if their bits are known.
Window = Pair | Limbs | Guess


def magnitudes_of(element: Any, dtype: Dtype) -> tuple[Any, Any]:
    """Return 32 bits that rise with the magnitude of a float, and their negative; zeros for zero.

    Maxima of both, over many floats, are those of the largest float and of the smallest that is not zero.
    """
    if dtype == FLOAT32:
        upper = bits_of(element) & _MAGNITUDE
    else:
        upper = (bits_of(element) >> 32).astype(_UINT32) & _MAGNITUDE
        upper = np.where(element == 0, np.uint32(0), upper | 1)
    return upper, ~upper + 1


def packed_exponents(largest: Any, smallest: Any, dtype: Dtype) -> Any:
    """Return two exponents as one integer, for the maxima of both numbers of :func:`magnitudes_of`.

    The largest float's as it is stored, and the distance of the smallest float's from ``_ABOVE``; 0 if all are zero.
    """
    mantissa = format_of(dtype).mantissa % 32
    exponent = (~smallest + 1) >> mantissa
    below = np.where(smallest == 0, np.uint32(0), _ABOVE - exponent)
    return (largest >> mantissa).astype(np.uint64) << 32 | below.astype(np.uint64)


def unpacked_exponents(packed: int) -> tuple[int, int]:
    """Unpack the two numbers of :func:`packed_exponents`."""
    return packed >> 32, packed & 0xFFFFFFFF


def lowest_power(form: Format) -> int:
    """Return the power of two of the lowest bit of a float."""
    return 2 - (1 << form.exponent - 1) - form.mantissa


def window_of(exponent: int, below: int, count: int, dtype: Dtype) -> Window | None:
    """Return how ``count`` elements add up, from what :func:`packed_exponents` packs; None if only words hold sums.

    Two floats without carries take the least time, and limbs the most (docs/decisions/0041).
    """
    form = format_of(dtype)
    if exponent == form.specials:
        return None
    carries = max(count - 1, 1).bit_length()
    lowest = lowest_power(form)
    first = lowest + max(_ABOVE - below - 1, 0) if below else lowest
    end = lowest + form.mantissa + max(exponent, 1)
    starts = first - (first - lowest) % _STEP, first
    ways = free_pair, deferring_pair, carrying_pair, limbs_of
    found = (way(dtype, start, end, carries) for way in ways for start in starts)
    return next((window for window in found if window is not None), None)


def guess_of(exponent: int, below: int, sampled: int, count: int, dtype: Dtype) -> Guess | None:
    """Return how ``count`` elements may add up, from what :func:`packed_exponents` packs for ``sampled`` of them."""
    form = format_of(dtype)
    if exponent == form.specials or not below:
        return None
    lowest = lowest_power(form) + form.mantissa
    smallest, largest = lowest + max(_ABOVE - below - 1, 0), lowest + max(exponent, 1)
    end = -(-(largest + _ROOM) // _GUESSED) * _GUESSED
    room = _BELOW + ((count // sampled).bit_length() if largest - smallest > _NARROW else 0)
    for pair in widest_pairs(dtype, end, max(count - 1, 1).bit_length()):
        least = pair.first + form.mantissa
        if lowest <= least <= smallest - room and end < lowest + form.specials - 1:
            return Guess(pair, least, end)
    return None
