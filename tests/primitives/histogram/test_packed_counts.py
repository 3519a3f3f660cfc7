"""Counts of 16 bits in local memory: what one holds, and words that two of them share."""

from __future__ import annotations

import numpy as np
import pytest
from histogram_cases import assert_histogram, bincount, histogram
from kernel_cases import Kernel, assert_equal, two_groups

import gpuprims
from gpuprims.primitives.histogram import reading, traits

FULL, LOOK = 2**15, 7 * 2**13  # a group takes so much from a count, and counts so many elements before it looks
SIZES = [FULL - 1, FULL, FULL + 1, 2 * FULL - 1, 2 * FULL, 2 * FULL + 1, 4 * FULL + 9]


@pytest.fixture
def kernel(histogram_kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    if histogram_kernel.variant.name != "packed":
        pytest.skip("counts have more bits")
    monkeypatch.setattr(traits, "_FEWEST_AXES", 1)
    monkeypatch.setitem(reading._PER_DIGIT, "counts", 10**9)  # one part, so that one group takes all elements
    return histogram_kernel


def most_bins(kernel: Kernel) -> tuple[int, int]:
    """Return the fewest bins whose counts of 32 bits do not fit, and how far apart places lie that share a word."""
    bins = kernel.device.capabilities.asked_local_memory // 4 - 1
    return bins, (bins + 3) // 2


@pytest.mark.parametrize("size", SIZES)
def test_elements_all_alike(kernel: Kernel, size: int) -> None:
    bins, apart = most_bins(kernel)
    for number in (0, apart - 1, apart, bins - 1):
        x = np.full(size, number, np.int32)
        assert_equal(bincount(kernel, x, minlength=bins), np.bincount(x, minlength=bins))


@pytest.mark.parametrize("size", SIZES)
def test_places_of_one_word(kernel: Kernel, rng: np.random.Generator, size: int) -> None:
    bins, apart = most_bins(kernel)
    for numbers, chances in (([7, 7 + apart], [0.5, 0.5]), ([7, 7 + apart], [0.01, 0.99]), ([7, 8, 9], None)):
        x = rng.choice(np.array(numbers, np.int32), 2 * size, p=chances)
        assert_equal(bincount(kernel, x, minlength=bins), np.bincount(x, minlength=bins))
    x = np.repeat(np.array([7, 7 + apart, 8], np.int32), size)  # in turn: one count fills while the other rests
    assert_equal(bincount(kernel, x, minlength=bins), np.bincount(x, minlength=bins))


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
def test_elements_in_no_bin(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    kernel.need(dtype)
    bins, _ = most_bins(kernel)
    # The place of most elements lies in either half of the words; or most have no place.
    for number, chance in ((3, 0.3), (40, 0.3), (40, 0.8)):
        x = rng.choice(np.array([number, 100], dtype), 5 * FULL + 77, p=[chance, 1 - chance])
        for given, limits in ((bins, (0, 50)), (bins, (0, 100)), (np.linspace(0, 9, bins + 1) ** 2, None)):
            assert_histogram(histogram(kernel, x, given, limits), np.histogram(x, given, limits))


def test_ranges_tiles_and_tasks(kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups take several parts, each of which has few elements or many, and ranges of which each holds full counts."""
    if kernel.device.capabilities.kind == "reference":
        pytest.skip("the reference runs no groups")
    monkeypatch.setitem(reading._PER_DIGIT, "counts", 0)
    bins = 3 * kernel.device.capabilities.asked_local_memory // 4 + 5
    for size, most in ((9 * FULL + 5, 4 * FULL), (9 * FULL + 6, FULL), (FULL - 3, 999)):
        with monkeypatch.context() as patched:
            patched.setattr(reading, "MOST_PACKED", most)
            x = np.where(rng.random(size) < 0.6, rng.choice([5, bins - 5], size), rng.integers(0, bins, size))
            with two_groups(kernel.device, monkeypatch):
                got = bincount(kernel, x.astype(np.int32), minlength=bins)
            assert_equal(got, np.bincount(x, minlength=bins))


@pytest.mark.parametrize("early", [2**13 - 1, 2**13, 2**14 - 1, FULL - 1, FULL, LOOK])
@pytest.mark.parametrize("place", [0.25, 0.99])
def test_counts_that_rise_late(kernel: Kernel, rng: np.random.Generator, place: float, early: int) -> None:
    """A place has few or many of the elements before groups first look at counts, and then all."""
    bins, _ = most_bins(kernel)
    how = {"bins": (bins // 9, 10), "range": ((0, 1), (0, 1))}
    others, alike = rng.random((2, LOOK - early), np.float32), np.full((2, early + 2 * LOOK + 9), place, np.float32)
    others[0] *= np.float32(0.2)
    x, y = np.concatenate([others, alike], axis=1)
    got = gpuprims.histogram2d(x, y, **how, device=kernel.device, variant="packed")
    assert_equal(got[0], np.histogram2d(x, y, **how)[0])


def test_rows_and_grids(kernel: Kernel, rng: np.random.Generator) -> None:
    bins, _ = most_bins(kernel)
    x, y = rng.random((2, 4 * FULL + 3), np.float32) ** 16
    how = {"bins": (bins // 9, 10), "range": ((0, 1), (0, 1))}
    got = gpuprims.histogram2d(x, y, **how, device=kernel.device, variant="packed")
    assert_equal(got[0], np.histogram2d(x, y, **how)[0])
    rows = np.repeat(np.float32([[0.5], [0.25], [2]]), 3 * FULL, axis=1)
    got = histogram(kernel, rows, bins, (0, 1), axis=1)[0]
    assert_equal(got, [np.histogram(row, bins, (0, 1))[0] for row in rows])
