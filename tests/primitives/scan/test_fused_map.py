"""scan of the results of map=."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, affine_scan, assert_equal, random_values
from scan_cases import COLUMNS


def test_a_fused_map_is_applied_on_the_way_in(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = rng.integers(-1000, 1000, (2, *COLUMNS))
    for axis in (None, 0):
        expected = np.cumsum(x * y - 1, axis=axis)
        if axis is not None or not scan_kernel.by_columns:
            assert_equal(scan_kernel.scan(x, y, map="x*y - 1", axis=axis), expected)
            assert_equal(scan_kernel.scan(x, y, map=lambda x, y: x * y - 1, axis=axis), expected)


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_a_fused_map_broadcasts_its_arrays(scan_kernel: Kernel, rng: np.random.Generator, axis: int | None) -> None:
    x, y, z = (rng.integers(-99, 99, shape) for shape in ((7, 1, 300), (11, 1), (300,)))
    got = scan_kernel.scan(x, y, z, map="x*y - z", axis=axis)
    assert_equal(got, np.cumsum(x * y - z, axis=axis))


def test_a_fused_map_mixes_dtypes_and_numbers(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.uint8, COLUMNS), random_values(rng, np.int16, COLUMNS[1])
    got = scan_kernel.scan(x, y, 3, map=lambda x, y, z: np.where(y > 0, x, y) * z, op="min", axis=0)
    assert_equal(got, np.minimum.accumulate(np.where(y > 0, x, y) * 3, axis=0))


def test_a_fused_map_that_gives_a_tuple_feeds_the_components(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int64, scan_kernel.several_scanned)
    got = scan_kernel.scan(x, map=lambda x: (2 * x + 1, x - 3), op=AFFINE)
    for one, expected in zip(got, affine_scan(2 * x + 1, x - 3), strict=True):
        assert_equal(one, expected)
