"""Exact sums in a window: the bits of sums by all words, and of fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from kernel_cases import bits

from gpuprims.operators.exact_limbs import Limbs, limbs_of
from gpuprims.operators.exact_pairs import IN_RUN, Guess, Pair, carrying_pair, deferring_pair, free_pair
from gpuprims.operators.exact_windows import Window, magnitudes_of, packed_exponents, unpacked_exponents, window_of
from gpuprims.operators.exact_words import Words

FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]
# Lowest bit of a float, and bits of its fraction.
LOWEST = {FLOATS[0]: -149, FLOATS[1]: -1074}
FRACTION = {FLOATS[0]: 23, FLOATS[1]: 52}


def window_for(x: np.ndarray, count: int | None = None) -> Window | None:
    """Return the window that a call would choose for elements."""
    largest, smallest = (number.max(keepdims=True) for number in magnitudes_of(x, x.dtype))
    packed = packed_exponents(largest, smallest, x.dtype).item()
    return window_of(*unpacked_exponents(packed), count or x.size, x.dtype)


def kind_of(window: Window | None) -> str:
    """Name how a window holds sums: by a pair that carries or not, or by so many limbs."""
    if isinstance(window, Limbs):
        return f"{window.limbs} limbs"
    assert not isinstance(window, Guess)
    if window is None:
        return "words"
    return "deferring pair" if window.defers else "carrying pair" if window.carries else "free pair"


def sums_by(way: Window | Words, x: np.ndarray) -> np.ndarray:
    """Return the sums of the elements so far, folded one after the other; as runs do, if they may carry later."""
    numbers = itertools.cycle(range(IN_RUN))

    def fold(a: Any, b: Any) -> tuple[Any, ...]:
        in_run = isinstance(way, Pair) and way.defers and next(numbers) > 0
        return tuple(way.add(a, b) if isinstance(way, Pair) and in_run else way.fold(a, b))

    folded = itertools.accumulate(zip(*way.load(x), strict=True), fold)
    with np.errstate(all="ignore"):
        sums: np.ndarray = way.finish([np.array(part, dtype) for part, dtype in zip(zip(*folded), way.dtypes)])  # noqa: B905
    return sums


def assert_alike(x: np.ndarray, count: int | None = None) -> str:
    """Compare sums in a window with those by words, and return how the window holds them."""
    window = window_for(x, count)
    if window is not None:
        assert bits(sums_by(window, x)) == bits(sums_by(Words(x.dtype), x))
    return kind_of(window)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_have_the_bits_of_words(rng: np.random.Generator, dtype: np.dtype[Any]) -> None:
    """Elements of spreads from one exponent to more than a window has room for, near the ends of the range too."""
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
    assert seen == {"free pair", "deferring pair", "carrying pair", "3 limbs", "4 limbs", "words"}


# How windows are chosen, and how many bits they have for 2^carries elements.
WAYS: dict[str, tuple[Callable[..., Window | None], Callable[[int], int]]] = {
    "free pair": (free_pair, lambda carries: 52 + 53 - 2 * carries),
    "deferring pair": (deferring_pair, lambda carries: 52 + 47 - carries),
    "carrying pair": (carrying_pair, lambda carries: 52 + 53 - carries),
    "1 limbs": (limbs_of, lambda carries: min(50, 62 - carries)),
    "2 limbs": (limbs_of, lambda carries: 32 + min(50, 62 - carries)),
    "3 limbs": (limbs_of, lambda carries: 64 + min(50, 62 - carries)),
    "4 limbs": (limbs_of, lambda carries: 96 + min(50, 62 - carries)),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", WAYS)
def test_windows_at_their_limits(dtype: np.dtype[Any], name: str) -> None:
    """One bit more does not fit; sums of as many of the largest elements as a window counts on are right."""
    for carries in (12, 20, 25, 30):
        choose, room = WAYS[name][0], WAYS[name][1](carries)
        low = LOWEST[dtype] + 32
        end = low + room
        if end > np.finfo(dtype).maxexp or room < FRACTION[dtype] + 1:
            continue
        own = choose(dtype, low, end, carries)
        assert own is not None
        assert kind_of(own) == name
        assert kind_of(choose(dtype, low, end + 1, carries)) != name
        largest = dtype.type(math.ldexp(2.0 - 2.0 ** -FRACTION[dtype], end - 1))
        smallest = dtype.type(math.ldexp(1.0 + 2.0 ** -FRACTION[dtype], low + FRACTION[dtype]))
        assert_limits(own, np.array([largest, smallest], dtype), carries)


def assert_limits(own: Any, ends: np.ndarray, carries: int) -> None:
    """Compare 2^carries of the largest element, and these with the smallest, with sums by words."""
    words = Words(ends.dtype)
    for sign, other in itertools.product((1, -1), (1, -1)):
        elements = sign * ends[:1], other * ends[1:]
        doubled, expected = own.load(elements[0]), words.load(elements[0])
        for _ in range(carries):
            doubled, expected = tuple(own.fold(doubled, doubled)), tuple(words.fold(expected, expected))
        with np.errstate(over="ignore"):
            assert bits(own.finish(doubled)) == bits(words.finish(expected))
            last = tuple(own.fold(doubled, own.load(elements[1])))
            expected = tuple(words.fold(expected, words.load(elements[1])))
            assert bits(own.finish(last)) == bits(words.finish(expected))


@pytest.mark.parametrize("count", [None, 2**26])
def test_ties_and_halves(count: int | None) -> None:
    """Sums between two floats, at all distances of the last bits."""
    one, kinds = np.float32(1), set()
    for below, sign in itertools.product(range(20, 60), (1, -1)):
        tie = np.float32(2.0**-24)
        tiny = np.float32(2.0**-below)
        for parts in ([one, tie], [one, tie, tiny], [one, tie, -tiny], [one, 3 * tie, tiny], [one, 3 * tie, -tiny]):
            x = sign * np.array(parts, np.float32)
            window = window_for(x, count)
            assert window is not None
            kinds.add(kind_of(window))
            got = sums_by(window, x)
            exact = sum(map(Fraction, x.astype(float).tolist()))
            near = min(
                (np.float32(float(exact)), *(np.nextafter(np.float32(float(exact)), np.float32(s)) for s in (2, -2))),
                key=lambda value: (abs(Fraction(float(value)) - exact), int(value.view(np.uint32)) & 1),
            )
            assert got[-1] == near
    assert kinds == ({"free pair", "deferring pair", "carrying pair", "3 limbs"} if count else {"free pair"})


def test_float64_against_fsum(rng: np.random.Generator) -> None:
    x = rng.standard_normal(300) * 2.0 ** rng.integers(-12, 12, 300)
    x[150:] = -x[:150] * (1 + 2.0**-50)
    window = window_for(x)
    assert isinstance(window, Pair)
    got = sums_by(window, x)
    np.testing.assert_array_equal(got, [math.fsum(x[: k + 1]) for k in range(x.size)])


def test_windows_of_nothing_and_of_specials() -> None:
    assert window_for(np.zeros(3, np.float32)) == Pair(np.dtype(np.float32), -149, 51, carries=False)
    for special in (np.inf, -np.inf, np.nan):
        assert window_for(np.array([1, special, 2], np.float32)) is None
    assert window_for(np.array([1, 2.0**60], np.float32), 2**31) is None
    zeros = np.array([0.0, -0.0, 1.0, -1.0], np.float32)
    pairs = [Pair(zeros.dtype, -32, lower, carries=carries) for lower, carries in ((40, False), (47, True), (53, True))]
    windows: list[Window] = [Limbs(zeros.dtype, -32, 2), *pairs]
    for window in windows:
        assert bits(sums_by(window, zeros)) == bits(np.array([0, 0, 1, 0], np.float32))
