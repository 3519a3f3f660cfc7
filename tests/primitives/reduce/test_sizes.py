"""reduce around the sizes at which tiles and groups change."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, affine_fold, assert_equal, random_values


@pytest.mark.optimised
def test_sum_is_exact_at_every_boundary(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in reduce_kernel.boundary_sizes:
        x = random_values(rng, np.int32, size)
        assert_equal(reduce_kernel.reduce(x), np.sum(x))


@pytest.mark.optimised
def test_max_is_exact_at_every_boundary(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in reduce_kernel.boundary_sizes:
        x = -np.exp(random_values(rng, np.float32, size))  # negative: a fold that starts at 0 shows
        assert_equal(reduce_kernel.reduce(x, op="max"), np.max(x))


def test_argmin_is_the_first_place_at_every_boundary(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in reduce_kernel.boundary_sizes:
        x = rng.integers(0, 1 + size // 10, size, dtype=np.int32)  # each value occurs some ten times
        assert_equal(reduce_kernel.reduce(x, op="argmin"), np.argmin(x))


@pytest.mark.optimised
def test_an_operator_that_does_not_commute_folds_in_order_at_every_boundary(
    reduce_kernel: Kernel, rng: np.random.Generator
) -> None:
    for size in reduce_kernel.boundary_sizes:
        slopes, offsets = random_values(rng, np.int64, size) | 1, random_values(rng, np.int64, size)
        folded = reduce_kernel.reduce(slopes, offsets, op=AFFINE)
        for got, expected in zip(folded, affine_fold(slopes, offsets), strict=True):
            assert_equal(got, expected)


@pytest.mark.parametrize("edge", ["first", "last"])
def test_the_extreme_at_either_end_is_seen_at_every_boundary(
    reduce_kernel: Kernel, rng: np.random.Generator, edge: str
) -> None:
    for size in reduce_kernel.boundary_sizes:
        x = random_values(rng, np.float32, size)
        x[0 if edge == "first" else -1] = 100
        assert reduce_kernel.reduce(x, op="argmax") == (0 if edge == "first" else size - 1)
