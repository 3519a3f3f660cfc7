"""histogram and bincount under Oclgrind and compute-sanitizer."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, on_device, on_host, random_values, two_groups
from watched_kernels import BACKEND, WIDEST, each, of, sizes

import gpuprims
from gpuprims.primitives.histogram import partition, spec

pytestmark = pytest.mark.oclgrind

HISTOGRAMS = of("histogram")
COUNT_ALONE = ("bytes", "packed")  # without weights


@pytest.fixture(autouse=True)
def small_groups_count_sorted_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrow the groups of partitioned's second launch, whose size is not the variant's, as `narrowed` does others."""
    if BACKEND == "opencl":
        monkeypatch.setattr(partition, "_COUNTING", WIDEST)


def _skip_unless_it_adds_floats(kernel: Kernel, weights: Any = None, deterministic: bool = True, **_: Any) -> None:
    floats = deterministic and weights is not None and weights.dtype in ("float32", "float64")
    if kernel.variant.name == "cpu_exact" and not floats:
        pytest.skip("adds float weights alone")


def counted(kernel: Kernel, x: Any, *how: Any, **keywords: Any) -> np.ndarray:
    if kernel.variant.name == "bytes" and x.dtype.itemsize > 1:
        pytest.skip("counts bytes alone")
    if kernel.variant.name == "partitioned" and keywords.get("axis") is not None:
        pytest.skip("counts one histogram alone")
    if kernel.variant.name in COUNT_ALONE and "weights" in keywords:
        pytest.skip("counts elements alone")
    _skip_unless_it_adds_floats(kernel, **keywords)
    got, _ = gpuprims.histogram(x, *how, device=kernel.device, variant=kernel.variant.name, **keywords)
    return got if isinstance(got, np.ndarray) else on_host(kernel.device, got)


@pytest.mark.whole  # some kernels count bytes alone
@each(HISTOGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
def test_histograms_of_even_bins_and_of_others(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    for size in sizes(kernel):
        x = rng.integers(0, 90, size).astype(dtype)
        for bins, limits in ((9, (0, 81)), (7, (0.3, 60.2)), ([0, 3, 4, 4, 50, 80], None)):
            assert_equal(counted(kernel, x, bins, limits), np.histogram(x, bins, limits)[0])


@each(HISTOGRAMS)
def test_a_histogram_of_each_row(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (3, 700))
    expected = [np.histogram(row, 9, (-1, 1))[0] for row in x]
    assert_equal(counted(kernel, x, 9, (-1, 1), axis=1), np.array(expected))
    assert_equal(counted(kernel, on_device(kernel.device, x.T), 9, (-1, 1), axis=0), np.array(expected))


@pytest.mark.whole  # one kernel adds floats alone
@each(HISTOGRAMS)
@pytest.mark.parametrize("dtype", ["int32", "float16", "float64"])
def test_histograms_of_weights(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    x, weights = random_values(rng, np.float32, 1501), rng.integers(-9, 9, 1501).astype(dtype)
    for deterministic in (True, False) if dtype.startswith("float") else (True,):  # sums of integers are
        got = counted(kernel, x, 9, (-1, 1), weights=weights, deterministic=deterministic)
        assert_equal(got, np.histogram(x, 9, (-1, 1), weights=weights)[0])


@each(HISTOGRAMS)
def test_counts_of_numbers(kernel: Kernel, rng: np.random.Generator) -> None:
    _skip_unless_it_adds_floats(kernel)
    x = rng.integers(0, 300, 2100).astype(np.uint8 if kernel.variant.name == "bytes" else np.int64)
    assert_equal(gpuprims.bincount(x, device=kernel.device, variant=kernel.variant.name), np.bincount(x))
    resident = on_device(kernel.device, x)  # the kernel reports the last number, if it can
    assert_equal(on_host(kernel.device, gpuprims.bincount(resident, variant=kernel.variant.name)), np.bincount(x))


@each(HISTOGRAMS)
def test_a_histogram_by_two_groups(kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    x = rng.integers(0, 100, (4, 2 * kernel.variant.tile + 5 if kernel.variant.block > 1 else 100))
    x = x.astype(np.uint8 if kernel.variant.name == "bytes" else np.int32)  # of wider ones, fewer groups are started
    # packed starts two groups on each unit, and the simulator has one
    few = (kernel.variant.groups_per_unit or 4) * kernel.device.capabilities.compute_units <= 2
    with nullcontext() if few else two_groups(kernel.device, monkeypatch):
        got = counted(kernel, x, 100, (0, 100), axis=1)
    assert_equal(got, np.array([np.bincount(row, minlength=100) for row in x]))


@each(HISTOGRAMS)
def test_groups_that_add_to_several_rows_of_totals(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spec, "_FEWEST_SHARING", 0)  # else so many groups take more elements than a test should
    # Partitioned has ranges of up to 20 bins, and of the first so many shares that it adds them up in two levels.
    monkeypatch.setattr(partition, "most_places", lambda *_: 20)
    monkeypatch.setattr(partition, "_SHARES", 60)
    monkeypatch.setattr(partition, "_LEAST_SHARE", 1)
    dtype = np.uint8 if kernel.variant.name == "bytes" else np.int32
    x = (90 * rng.random(3 * kernel.variant.tile + 5) ** 2).astype(dtype)
    for _ in range(2 if kernel.variant.name != "cpu_exact" else 0):  # the last group leaves zeros for the next call
        assert_equal(counted(kernel, x, 101, (0, 101)), np.bincount(x, minlength=101))
    if kernel.variant.name in COUNT_ALONE:
        return
    weights = rng.integers(-9, 9, x.size).astype(np.float32)
    expected = np.bincount(x, weights, 103).astype(np.float32)
    assert_equal(counted(kernel, x, 103, (0, 103), weights=weights), expected)


@each(HISTOGRAMS)
@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_bins_between_bounds_that_stay_on_the_device(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    for size in sizes(kernel)[:2]:
        x = rng.integers(0, 90, size + 50).astype(dtype)
        for bins in (9, 77):
            assert_equal(counted(kernel, on_device(kernel.device, x), bins), np.histogram(x, bins)[0])
