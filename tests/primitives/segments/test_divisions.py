"""Segments of every length, at every place, in every number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import Kernel, assert_equal, poison, random_values
from segments_cases import randomly, reduced, scan, scanned, shifted, size_of_several_tiles


def around_tiles(rng: np.random.Generator, size: int) -> np.ndarray:
    """Divide before, at and after every 1024th element, where tiles of all kernels begin."""
    near = np.arange(0, size, 1024)[:, None] + [-1, 0, 1]
    return np.concatenate([[0], near[(near > 0) & (near < size)], [size]])


def one_huge(rng: np.random.Generator, size: int) -> np.ndarray:
    """Divide into many tiny segments around a huge one."""
    few = size // 8
    steps = rng.integers(0, 3, few)
    ends = np.cumsum(steps)[np.cumsum(steps) <= few]
    return np.concatenate([[0], ends, size - ends[::-1], [size]])


DIVISIONS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "random, with empty ones": randomly,
    "one of all": lambda rng, size: np.array([0, size]),
    "one for each element": lambda rng, size: np.arange(size + 1),
    "two for each element, one of them empty": lambda rng, size: np.append(np.repeat(np.arange(size), 2), size),
    "one huge and many tiny": one_huge,
    "around the tiles": around_tiles,
    "all in the last": lambda rng, size: np.array([0, 0, 0, size]),
    "all in the first": lambda rng, size: np.array([0, size, size, size]),
}


@pytest.mark.parametrize("division", list(DIVISIONS))
def test_sums_of_int64_are_exact_however_segments_lie(kernel: Kernel, rng: np.random.Generator, division: str) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.int64, size), DIVISIONS[division](rng, size)
    expected = scanned(x, offsets)
    assert_equal(scan(kernel, x, segments=offsets), expected)
    assert_equal(scan(kernel, x, segments=offsets, inclusive=False), shifted(expected, offsets, 0))
    assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


@pytest.mark.optimised
def test_segments_of_every_size_around_a_tile(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in kernel.boundary_sizes:
        x, offsets = random_values(rng, np.int32, size), randomly(rng, size)
        assert_equal(scan(kernel, x, segments=offsets), scanned(x, offsets))
        assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


@settings(max_examples=30)
@given(lengths=st.lists(st.integers(0, 5) | st.sampled_from([255, 256, 257, 1023, 1024, 1025, 8191]), min_size=1))
def test_random_divisions_again_and_again(kernel: Kernel, lengths: list[int]) -> None:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = random_values(np.random.default_rng(offsets), np.int64, offsets[-1])
    assert_equal(scan(kernel, x, segments=offsets), scanned(x, offsets))
    assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


@pytest.mark.parametrize("offsets", [[0], [0, 0], [0, 0, 0]])
def test_nothing_is_divided_into_nothing(kernel: Kernel, offsets: list[int]) -> None:
    poison(kernel.device)
    x = np.empty(0, np.float32)
    assert_equal(scan(kernel, x, segments=offsets), x)
    assert_equal(scan(kernel, x, segments=offsets, inclusive=False), x)
    assert_equal(kernel.reduce(x, segments=offsets), np.zeros(len(offsets) - 1, np.float32))
    assert_equal(kernel.reduce(x, segments=offsets, op="prod"), np.ones(len(offsets) - 1, np.float32))


@pytest.mark.parametrize("offsets", [[0, 1], [0, 0, 1], [0, 1, 1], [0, 0, 0, 1, 1, 1]])
def test_one_element_among_empty_segments(kernel: Kernel, offsets: list[int]) -> None:
    poison(kernel.device)
    x = np.array([7], np.int16)
    assert_equal(scan(kernel, x, segments=offsets), np.int64([7]))
    assert_equal(scan(kernel, x, segments=offsets, inclusive=False), np.int64([0]))
    assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


def test_many_more_segments_than_elements(kernel: Kernel, rng: np.random.Generator) -> None:
    poison(kernel.device)
    x = random_values(rng, np.int64, 11)
    offsets = np.concatenate([[0], np.sort(rng.integers(0, 12, 5000)), [11]])
    assert_equal(scan(kernel, x, segments=offsets), scanned(x, offsets))
    assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))
