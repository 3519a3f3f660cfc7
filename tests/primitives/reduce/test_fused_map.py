"""reduce of the results of map=."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, affine_fold, assert_equal, random_values
from reduce_cases import several_tiles


def test_a_fused_map_of_two_arrays_is_a_dot_product(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    size = several_tiles(reduce_kernel)
    x, y = rng.integers(-1000, 1000, size), rng.integers(-1000, 1000, size)
    assert_equal(reduce_kernel.reduce(x, y, map="x*y"), x @ y)
    assert_equal(reduce_kernel.reduce(x, y, map=lambda x, y: x * y), x @ y)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2), (1, 2)])
def test_a_fused_map_broadcasts_its_arrays(reduce_kernel: Kernel, rng: np.random.Generator, axis: Any) -> None:
    x, y, z = (rng.integers(-99, 99, shape) for shape in ((7, 1, 300), (11, 1), (300,)))
    got = reduce_kernel.reduce(x, y, z, map="x*y - z", axis=axis)
    assert_equal(got, np.sum(x * y - z, axis=axis))


def test_a_fused_map_mixes_dtypes_and_numbers(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.uint8, (50, 40)), random_values(rng, np.int16, 40)
    got = reduce_kernel.reduce(x, y, 3, map=lambda x, y, z: np.where(y > 0, x, y) * z, op="min", axis=1)
    assert_equal(got, np.min(np.where(y > 0, x, y) * 3, axis=1))


def test_a_fused_map_finds_the_place_of_the_largest_magnitude(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, several_tiles(reduce_kernel))
    assert_equal(reduce_kernel.reduce(x, map=np.abs, op="argmax"), np.argmax(np.abs(x)))


def test_a_fused_map_that_gives_a_tuple_feeds_the_components(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int64, several_tiles(reduce_kernel))
    folded = reduce_kernel.reduce(x, map=lambda x: (2 * x + 1, x - 3), op=AFFINE)
    for got, expected in zip(folded, affine_fold(2 * x + 1, x - 3), strict=True):
        assert_equal(got, expected)
