"""scan along each axis, of many and of few lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, affine_scan, assert_equal, random_values, two_groups
from scan_cases import affine_pair, exclusively


@pytest.mark.optimised
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -2, -3, np.int64(1)])
@pytest.mark.parametrize("shape", [(9, 20, 30), (1, 50, 1), (40, 3, 2100), (3, 1000, 1)])
def test_every_axis(scan_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...], axis: Any) -> None:
    x = random_values(rng, np.int32, shape)
    assert_equal(scan_kernel.scan(x, axis=axis), np.cumsum(x, axis=axis))


@pytest.mark.optimised
@pytest.mark.parametrize("shape", [(3, 40_000), (40_000, 3), (300, 400), (40, 2100)])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_fold_in_order(
    scan_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, int], axis: int
) -> None:
    slopes, offsets = affine_pair(rng, shape)
    got = [np.moveaxis(one, axis, -1) for one in scan_kernel.scan(slopes, offsets, op=AFFINE, axis=axis)]
    slopes, offsets = (np.moveaxis(one, axis, -1) for one in (slopes, offsets))
    for line in (0, 1, -2, -1):
        expected = affine_scan(slopes[line], offsets[line])
        assert_equal(got[0][line], expected[0])
        assert_equal(got[1][line], expected[1])


@pytest.mark.optimised
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [1, 3, 37])
def test_more_than_65535_lines(scan_kernel: Kernel, rng: np.random.Generator, length: int, axis: int) -> None:
    shape = (70_001, length) if axis == 1 else (length, 70_001)
    x = random_values(rng, np.int16, shape)
    assert_equal(scan_kernel.scan(x, axis=axis), np.cumsum(x, axis=axis))
    got = scan_kernel.scan(x, op="max", axis=axis, inclusive=False)
    assert_equal(got, exclusively(np.maximum.accumulate(x, axis=axis), np.iinfo(np.int16).min, axis))


def test_groups_take_several_tiles(
    scan_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scan_kernel.device.backend == "reference":
        pytest.skip("the reference device has no groups")
    size = scan_kernel.several_scanned
    tile = scan_kernel.scanned_tile(size, np.int64, np.int64)
    for shape in ((7 * tile + 5,), (5, 3 * tile - 1), (2, tile + 1, 2), (301, 4)):
        if scan_kernel.by_columns:  # a tile has all of two rows, so no groups share a strip
            shape = (2, 2048 + 5 * shape[0])
        axis = 1 if len(shape) > 1 and not scan_kernel.by_columns else 0
        slopes, offsets = affine_pair(rng, shape)
        with two_groups(scan_kernel.device, monkeypatch):
            got = scan_kernel.scan(slopes, offsets, op=AFFINE, axis=axis)
        lines = [np.moveaxis(one, axis, -1).reshape(-1, shape[axis]) for one in (slopes, offsets, *got)]
        for a, b, *line in zip(*lines, strict=True):
            for one, expected in zip(line, affine_scan(a, b), strict=True):
                assert_equal(one, expected)
