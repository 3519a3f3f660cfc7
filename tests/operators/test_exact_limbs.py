"""Exact sums by limbs of a window: the bits of sums by all words, and of fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from kernel_cases import bits

from gpuprims.operators.exact_limbs import Limbs, Window, packed_places, places_of, unpacked_places, window_of
from gpuprims.operators.exact_words import Words

FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
# Lowest bit of a float, and bits of its fraction.
LOWEST = {FLOATS[0]: -149, FLOATS[1]: -1074}
FRACTION = {FLOATS[0]: 23, FLOATS[1]: 52}


def window_for(x: np.ndarray, count: int | None = None) -> Window | None:
    """Return the window that a call would choose for elements."""
    exponents, below = places_of(x, x.dtype)
    packed = int(packed_places(exponents.max(), below.max()))
    return window_of(*unpacked_places(packed), count or x.size, x.dtype)


def sums_by(way: Limbs | Words, x: np.ndarray) -> np.ndarray:
    """Return the sums of the elements so far, folded one after the other."""
    folded = itertools.accumulate(zip(*way.load(x), strict=True), lambda a, b: tuple(way.fold(a, b)))
    with np.errstate(all="ignore"):
        sums: np.ndarray = way.finish([np.array(part, dtype) for part, dtype in zip(zip(*folded), way.dtypes)])  # noqa: B905
    return sums


def assert_alike(x: np.ndarray, count: int | None = None) -> int:
    """Compare sums by limbs with those by words, and return the number of limbs; 0 if the window is too wide."""
    window = window_for(x, count)
    if window is None:
        return 0
    assert bits(sums_by(Limbs(x.dtype, window), x)) == bits(sums_by(Words(x.dtype), x))
    return window.limbs


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_have_the_bits_of_words(rng: np.random.Generator, dtype: np.dtype[Any]) -> None:
    """Elements of spreads from one exponent to more than limbs have room for, near the ends of the range too."""
    seen = set()
    most = np.finfo(dtype).maxexp
    for spread, low in itertools.product((0, 3, 20, 45, 80, 110), (LOWEST[dtype], -30, most - 60, most - 120)):
        x = np.ldexp(rng.uniform(1, 2, 40) * rng.choice([-1, 1], 40), low + rng.integers(0, spread + 1, 40)).astype(
            dtype
        )
        x[~np.isfinite(x)] = 1
        x[20:39] = -x[18::-1]  # cancels
        x[5] = 0
        x[6] = -0.0
        for count in (None, 2**20, 2**30):
            seen.add(assert_alike(x, count))
    assert seen >= {0, 2, 3, 4}
    assert (1 in seen) == (dtype == np.float32)  # a float64 has more bits than an element may leave in a limb


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("limbs", [1, 2, 3, 4])
def test_windows_at_their_limits(dtype: np.dtype[Any], limbs: int) -> None:
    """One bit more needs one more limb; sums of as many of the largest elements as a window counts on are right."""
    for carries in (12, 20, 30):
        count = 2**carries
        last = min(50, 62 - carries)
        low = LOWEST[dtype] + 32
        end = low + 32 * (limbs - 1) + last
        if end > np.finfo(dtype).maxexp or end - FRACTION[dtype] - 1 < low:
            continue
        unit = math.ldexp(1.0, low)
        largest = math.ldexp(2.0 - 2.0 ** -FRACTION[dtype], end - 1)
        x = np.array([unit, largest, -unit, unit], dtype)
        exponent = low + FRACTION[dtype]  # of the smallest element whose last bit is the first of the window
        x[[0, 3]] = math.ldexp(1.0 + 2.0 ** -FRACTION[dtype], exponent)
        x[2] = -x[0]
        window = window_for(x, count)
        assert window is not None
        assert (window.first, window.limbs) == (low, limbs)
        wider = np.append(x, dtype.type(math.ldexp(1.0, end))) if end < np.finfo(dtype).maxexp else x[:0]
        beyond = window_for(wider, count) if wider.size else None
        assert beyond is None or beyond.limbs == limbs + 1
        own, words = Limbs(dtype, window), Words(dtype)
        for sign in (1, -1):
            element = sign * x[1:2]
            doubled, expected = own.load(element), words.load(element)
            for _ in range(carries):  # 2^carries elements
                doubled, expected = tuple(own.fold(doubled, doubled)), tuple(words.fold(expected, expected))
            with np.errstate(over="ignore"):
                assert bits(own.finish(doubled)) == bits(words.finish(expected))
            with_last = tuple(own.fold(doubled, own.load(x[:1])))
            expected = tuple(words.fold(expected, words.load(x[:1])))
            with np.errstate(over="ignore"):
                assert bits(own.finish(with_last)) == bits(words.finish(expected))


def test_ties_and_halves() -> None:
    """Sums between two floats, at all distances of the last bits."""
    one = np.float32(1)
    for below, sign in itertools.product(range(20, 60), (1, -1)):
        tie = np.float32(2.0**-24)
        tiny = np.float32(2.0**-below)
        for parts in ([one, tie], [one, tie, tiny], [one, tie, -tiny], [one, 3 * tie, tiny], [one, 3 * tie, -tiny]):
            x = sign * np.array(parts, np.float32)
            window = window_for(x)
            assert window is not None
            got = sums_by(Limbs(x.dtype, window), x)
            exact = sum(map(Fraction, x.astype(float).tolist()))
            near = min(
                (np.float32(float(exact)), *(np.nextafter(np.float32(float(exact)), np.float32(s)) for s in (2, -2))),
                key=lambda value: (abs(Fraction(float(value)) - exact), int(value.view(np.uint32)) & 1),
            )
            assert got[-1] == near


def test_float64_against_fsum(rng: np.random.Generator) -> None:
    x = rng.standard_normal(300) * 2.0 ** rng.integers(-12, 12, 300)
    x[150:] = -x[:150] * (1 + 2.0**-50)
    window = window_for(x)
    assert window is not None
    got = sums_by(Limbs(x.dtype, window), x)
    np.testing.assert_array_equal(got, [math.fsum(x[: k + 1]) for k in range(x.size)])


def test_windows_of_nothing_and_of_specials() -> None:
    assert window_for(np.zeros(3, np.float32)) == Window(-149, 1)
    for special in (np.inf, -np.inf, np.nan):
        assert window_for(np.array([1, special, 2], np.float32)) is None
    assert window_for(np.ones(1), 2**31) is None
    zeros = np.array([0.0, -0.0, 1.0, -1.0], np.float32)
    assert bits(sums_by(Limbs(zeros.dtype, Window(-32, 2)), zeros)) == bits(np.array([0, 0, 1, 0], np.float32))
