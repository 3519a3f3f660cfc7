"""Operators on segments."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, assert_equal, need, random_values
from segments_cases import randomly, reduced, runs, scan, scanned, shifted, size_of_several_tiles


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_extremes_of_segments(kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, dtype, size), np.unique(randomly(rng, size))
    assert_equal(scan(kernel, x, op=op, segments=offsets), scanned(x, offsets, op))
    assert_equal(kernel.reduce(x, op=op, segments=offsets), reduced(getattr(np, op), x, offsets))


def test_an_exclusive_max_begins_each_segment_with_the_lowest_value(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.float32, size), randomly(rng, size)
    got = scan(kernel, x, op="max", segments=offsets, inclusive=False)
    assert_equal(got, shifted(scanned(x, offsets, "max"), offsets, np.float32(-np.inf)))


def test_a_not_a_number_stays_in_its_segment(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.float32, size), np.unique(randomly(rng, size))
    x[rng.integers(0, size, 2)] = np.nan
    assert_equal(scan(kernel, x, op="max", segments=offsets), scanned(x, offsets, "max"))
    assert_equal(kernel.reduce(x, op="min", segments=offsets), reduced(np.min, x, offsets))


def test_products_of_segments(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.int64, size) | 1, randomly(rng, size)
    expected = scanned(x, offsets, "prod")
    assert_equal(scan(kernel, x, op="prod", segments=offsets), expected)
    assert_equal(scan(kernel, x, op="prod", segments=offsets, inclusive=False), shifted(expected, offsets, 1))
    assert_equal(kernel.reduce(x, op="prod", segments=offsets), reduced(np.prod, x, offsets))


@pytest.mark.parametrize(("op", "share"), [("any", 0.001), ("all", 0.999)])
def test_truth_of_segments(kernel: Kernel, rng: np.random.Generator, op: str, share: float) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = (rng.random(size) < share).astype(np.int8) * np.int8(3), randomly(rng, size)
    assert_equal(scan(kernel, x, op=op, segments=offsets), scanned(x, offsets, op))
    assert_equal(kernel.reduce(x, op=op, segments=offsets), reduced(getattr(np, op), x, offsets))


def test_means_of_segments(kernel: Kernel, rng: np.random.Generator) -> None:
    need(kernel.device, np.float64)
    size = size_of_several_tiles(kernel)
    x, offsets = rng.integers(-1000, 1000, size).astype(np.int16), randomly(rng, size)
    counts = np.diff(offsets)
    with np.errstate(invalid="ignore"):
        expected = reduced(np.sum, x, offsets) / counts  # sums of whole numbers are exact
    assert_equal(kernel.reduce(x, op="mean", segments=offsets), expected)
    places = np.arange(size) - np.repeat(offsets[:-1], counts)
    assert_equal(scan(kernel, x, op="mean", segments=offsets), scanned(x, offsets) / (places + 1))
    before = shifted(scanned(x, offsets), offsets, 0)
    with np.errstate(invalid="ignore"):
        assert_equal(scan(kernel, x, op="mean", segments=offsets, inclusive=False), before / places)


@pytest.mark.parametrize("ddof", [0, 1])
def test_spreads_of_segments(kernel: Kernel, rng: np.random.Generator, ddof: int) -> None:
    need(kernel.device, np.float64)
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.float64, size), np.array([0, 7, 7 + size // 2, size - 2, size])
    for op, fold in (("var", np.var), ("std", np.std)):
        expected = reduced(partial(fold, ddof=ddof), x, offsets)
        got = kernel.reduce(x, op=op, ddof=ddof, segments=offsets)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_places_are_counted_along_the_whole_array(kernel: Kernel, rng: np.random.Generator, op: str) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = rng.integers(0, 50, size, dtype=np.int16), np.unique(randomly(rng, size))
    places = [first + getattr(np, op)(run) for first, run in zip(offsets[:-1], runs(x, offsets), strict=True)]
    assert_equal(kernel.reduce(x, op=op, segments=offsets), np.int64(places))


def test_a_scan_of_argmax_tells_where_the_largest_of_the_segment_is(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = rng.permutation(size).astype(np.int32), randomly(rng, size)
    where = np.argsort(x)  # each value occurs once
    assert_equal(scan(kernel, x, op="argmax", segments=offsets), where[scanned(x, offsets, "max")])


def composed(slopes: np.ndarray, shifts: np.ndarray, offsets: Any) -> tuple[np.ndarray, np.ndarray]:
    """Compose the affine maps of each segment in a loop; integers wrap."""
    results: list[tuple[int, int]] = []
    for ours, theirs in zip(runs(slopes, offsets), runs(shifts, offsets), strict=True):
        a, b = 1, 0
        for p, q in zip(ours.tolist(), theirs.tolist(), strict=True):
            a, b = a * p % 2**64, (b * p + q) % 2**64
            results.append((a, b))
    both = np.array(results, np.uint64).reshape(-1, 2).astype(np.int64)
    return both[:, 0], both[:, 1]


def test_an_operator_that_does_not_commute(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    slopes, shifts = random_values(rng, np.int64, size) | 1, random_values(rng, np.int64, size)
    offsets = randomly(rng, size)
    expected = composed(slopes, shifts, offsets)
    got = scan(kernel, slopes, shifts, op=AFFINE, segments=offsets)
    for one, other in zip(got, expected, strict=True):
        assert_equal(one, other)
    got = scan(kernel, slopes, shifts, op=AFFINE, segments=offsets, inclusive=False)
    for one, other, nothing in zip(got, expected, (1, 0), strict=True):
        assert_equal(one, shifted(other, offsets, nothing))
    got = kernel.reduce(slopes, shifts, op=AFFINE, segments=offsets)
    for one, other, nothing in zip(got, expected, (1, 0), strict=True):
        kept = np.diff(offsets) > 0
        last = np.full(kept.size, nothing)
        last[kept] = other[np.asarray(offsets)[1:][kept] - 1]
        assert_equal(one, last)


def test_a_compensated_sum_of_each_segment(kernel: Kernel) -> None:
    x = np.tile(np.float32([1e8, 1, -1e8]), 2000)
    offsets = np.array([0, 3, 3, 6, 6000])
    got = kernel.reduce(x, segments=offsets, compensated=True)
    assert_equal(got, np.float32([1, 0, 1, 1998]))
