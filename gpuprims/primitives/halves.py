"""float16 of the host as int16 in the same order, which NumPy and C order as integers.

NumPy compares float16 one by one, and its sort of many leaves some out of order on processors with AVX-512 (2.4.6).
"""

from __future__ import annotations

from typing import Any

import numpy as np

HALF, WORD = np.dtype(np.float16), np.dtype(np.int16)
_MAGNITUDE, _INFINITY, _SIGN = np.int16(0x7FFF), np.int16(0x7C00), np.int16(-0x8000)
_SIGN_BIT = 15
_NAN = _MAGNITUDE  # of all NaN


def words_of(x: np.ndarray) -> np.ndarray:
    """Return integers in the order of float16: equal for zeros of both signs, the largest for all NaN."""
    bits = x.view(WORD)
    words, signs = bits & _MAGNITUDE, bits >> _SIGN_BIT
    nan = words > _INFINITY if np.maximum.reduce(words, None) > _INFINITY else None
    words ^= signs
    words -= signs
    if nan is not None:
        words[nan] = _NAN
    return words


def has_others(x: np.ndarray, words: np.ndarray) -> bool:
    """Return True if some float16 differ from :func:`halves_of` their words: NaN and negative zeros."""
    return bool(np.maximum.reduce(words, None) == _NAN or np.minimum.reduce(x.view(WORD), None) == _SIGN)


def halves_of(words: Any) -> Any:
    """Return the float16 of some words, without NaN and negative zeros."""
    signs = words >> _SIGN_BIT
    return (((words ^ signs) - signs) | (signs & _SIGN)).view(HALF)
