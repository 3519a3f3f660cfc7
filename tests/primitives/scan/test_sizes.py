"""scan around the sizes at which tiles, groups and launches change."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, affine_scan, assert_equal, random_values
from scan_cases import affine_pair, exclusively


@pytest.mark.optimised
def test_a_running_sum_is_exact_at_every_boundary(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in scan_kernel.scan_sizes(np.int64):
        x = random_values(rng, np.int32, size)
        assert_equal(scan_kernel.scan(x), np.cumsum(x))


def test_an_exclusive_sum_is_exact_at_every_boundary(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in scan_kernel.scan_sizes(np.int32):
        x = random_values(rng, np.int32, size)
        got = scan_kernel.scan(x, inclusive=False, dtype=np.int32)
        assert_equal(got, exclusively(np.cumsum(x, dtype=np.int32), 0))


def test_a_running_max_is_exact_at_every_boundary(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in scan_kernel.scan_sizes(np.float32):
        # Negative: a fold that starts at 0 shows. Rising: the last of many elements counts.
        x = -np.exp(random_values(rng, np.float32, size)) - np.linspace(9, 0, size, dtype=np.float32)
        assert_equal(scan_kernel.scan(x, op="max"), np.maximum.accumulate(x))


@pytest.mark.optimised
def test_an_operator_that_does_not_commute_folds_in_order_at_every_boundary(
    scan_kernel: Kernel, rng: np.random.Generator
) -> None:
    for size in scan_kernel.scan_sizes(np.int64, np.int64):
        slopes, offsets = affine_pair(rng, size)
        expected = affine_scan(slopes, offsets)
        for got, one in zip(scan_kernel.scan(slopes, offsets, op=AFFINE), expected, strict=True):
            assert_equal(got, one)
        got = scan_kernel.scan(slopes, offsets, op=AFFINE, inclusive=False)
        assert_equal(got[0], exclusively(expected[0], 1))
        assert_equal(got[1], exclusively(expected[1], 0))


@pytest.mark.optimised
def test_columns_are_scanned_each_at_every_length(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for length in (1, 2, 15, 16, 17, 33, 300):
        x = random_values(rng, np.int16, (length, 2049))
        assert_equal(scan_kernel.scan(x, axis=0), np.cumsum(x, axis=0))
        got = scan_kernel.scan(x, op="max", axis=0, inclusive=False)
        lowest = np.iinfo(np.int16).min
        assert_equal(got, exclusively(np.maximum.accumulate(x, axis=0), lowest))


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_rows_of_a_few_tiles_are_scanned_each(scan_kernel: Kernel, rng: np.random.Generator, rows: int) -> None:
    size = scan_kernel.several_scanned
    for length in (size // rows, size // rows + 1):
        x = random_values(rng, np.int32, (rows, length))
        assert_equal(scan_kernel.scan(x, axis=1), np.cumsum(x, axis=1))
