"""dtype= and map= with segments."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, random_values
from segments_cases import randomly, reduced, scan, scanned, size_of_several_tiles


@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_sums_of_whole_numbers_in_floats_are_exact(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    size = size_of_several_tiles(kernel)
    x = rng.integers(-1, 2, size).astype(dtype)
    x = x * np.array(2 + 3j, dtype) if dtype == "complex64" else x
    offsets = randomly(rng, size)
    assert_equal(scan(kernel, x, segments=offsets), scanned(x, offsets))
    assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


def test_float32_sums_round_no_more_than_their_own_segment(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = rng.random(size, np.float32), randomly(rng, size)
    x[: offsets[4]] *= np.float32(1e6)  # a difference of running sums would lose the small values after these
    exact = reduced(np.sum, x.astype(np.float64), offsets)
    # A group that folds a tile for another adds serially where a warp is one work-item: errors reach 2.3e-6 on CPUs.
    rtol = 2e-6 if kernel.variant.deterministic else 1e-5
    np.testing.assert_allclose(kernel.reduce(x, segments=offsets), exact, rtol=rtol)


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_elements_are_converted_before_they_are_folded(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = rng.integers(-9, 9, size).astype(np.int8), randomly(rng, size)
    assert_equal(scan(kernel, x, segments=offsets, dtype=dtype), scanned(x.astype(dtype), offsets))
    assert_equal(kernel.reduce(x, segments=offsets, dtype=dtype), reduced(np.sum, x.astype(dtype), offsets))


def test_a_fused_map_of_two_arrays(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, y, offsets = random_values(rng, np.int64, size), random_values(rng, np.int8, size), randomly(rng, size)
    assert_equal(kernel.reduce(x, y, map="x*y", segments=offsets), reduced(np.sum, x * y, offsets))
    assert_equal(scan(kernel, x, y, map=lambda x, y: x - 3 * y, segments=offsets), scanned(x - 3 * y, offsets))


def test_a_fused_map_takes_numbers_beside_arrays(kernel: Kernel, rng: np.random.Generator) -> None:
    x, offsets = random_values(rng, np.int64, 1000), randomly(rng, 1000)
    assert_equal(scan(kernel, x, 5, map="x*y", segments=offsets), scanned(5 * x, offsets))
    assert_equal(kernel.reduce(x, 5, map="x*y", segments=offsets), reduced(np.sum, 5 * x, offsets))
