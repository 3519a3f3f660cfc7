"""histogram counts as NumPy does, at every size and dtype, wherever elements lie."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from histogram_cases import BINS, assert_histogram, bincount, histogram, numpys, spread_values
from kernel_cases import DTYPES, LAYOUTS, Kernel, assert_equal, on_device, on_host, poison, random_values

import gpuprims
from gpuprims.errors import ArgumentError, NoVariantError
from gpuprims.primitives.histogram import elements, groups, plan, reading

# Bins for bytes: a bin a value, several values a bin, mostly empty bins, bins beyond all values, uneven bins.
BYTES: tuple[Any, ...] = (
    (256, (0, 256)), (7, (-3.5, 77)), (1000, (0, 256)), (5, (300, 400)), ([-200, -5, 0, 0, 3, 127.5, 254, 255],),
)  # fmt: skip


@pytest.mark.optimised
@pytest.mark.parametrize("bins", BINS)
def test_every_size_around_tiles(histogram_kernel: Kernel, rng: np.random.Generator, bins: str) -> None:
    for size in [0, 3, *histogram_kernel.boundary_sizes]:
        x = spread_values(rng, np.float32, size)
        if size < 5:
            poison(histogram_kernel.device)
        assert_histogram(histogram(histogram_kernel, x, *BINS[bins]), numpys(x, *BINS[bins]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bins", BINS)
def test_every_dtype(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, bins: str) -> None:
    histogram_kernel.need(dtype)
    x = spread_values(rng, dtype, 3001)
    try:
        expected = numpys(x, *BINS[bins])
    except ValueError:  # more bins than float16 can tell apart
        with pytest.raises(ArgumentError):
            histogram(histogram_kernel, x, *BINS[bins])
        return
    assert_histogram(histogram(histogram_kernel, x, *BINS[bins]), expected)


@pytest.mark.parametrize("case", ["all in one bin", "one in each", "none in any", "half in one bin"])
def test_elements_that_meet(histogram_kernel: Kernel, rng: np.random.Generator, case: str) -> None:
    size = 40_000
    x = {
        "all in one bin": np.full(size, 0.3, np.float32),
        "one in each": np.arange(size, dtype=np.float32) / size,
        "none in any": np.full(size, 7, np.float32),
        "half in one bin": np.where(rng.random(size) < 0.5, 0.3, rng.random(size)).astype(np.float32),
    }[case]
    for bins in (1, 256, 40_000):
        assert_histogram(histogram(histogram_kernel, x, bins, (0, 1)), np.histogram(x, bins, (0, 1)))


def test_more_in_a_bin_than_16_bits_hold(histogram_kernel: Kernel) -> None:
    x = np.repeat(np.uint8([0, 1, 2]), [600_000, 0, 70_001])  # one group counts most of a bin
    assert_histogram(histogram(histogram_kernel, x, 3, (0, 3)), np.histogram(x, 3, (0, 3)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_are_found_wherever_they_lie(histogram_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    x = LAYOUTS[layout](rng)
    assert_histogram(histogram(histogram_kernel, x, 9, (-1, 2)), np.histogram(x, 9, (-1, 2)))


@pytest.mark.optimised
@pytest.mark.parametrize("axis", [0, 1, 2, -1, (0, 2), (1, 2), (0, 1, 2)])
def test_a_histogram_for_each_row(histogram_kernel: Kernel, rng: np.random.Generator, axis: Any) -> None:
    x, weights = random_values(rng, np.float32, (4, 300, 5)), rng.integers(-9, 9, (4, 300, 5))
    axes = [one % 3 for one in (axis if isinstance(axis, tuple) else (axis,))]
    kept = [k for k in range(3) if k not in axes]
    lined, weighed = (np.transpose(a, [*kept, *axes]).reshape(*(x.shape[k] for k in kept), -1) for a in (x, weights))
    for how in ({}, {"weights": weights}):
        counts, edges = histogram(histogram_kernel, x, 20, (-2, 2), axis=axis, **how)
        assert_equal(edges, np.histogram(x, 20, (-2, 2))[1])
        for row in np.ndindex(lined.shape[:-1]):
            own = np.histogram(lined[row], 20, (-2, 2), weights=weighed[row] if how else None)[0]
            assert_equal(counts[row], own)


def test_arrays_on_the_device_stay_there(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    device = histogram_kernel.device
    x, weights = random_values(rng, np.float32, 5000), random_values(rng, np.int16, 5000).astype(np.int32)
    resident, weighing = on_device(device, x), on_device(device, weights)
    for how, expected in (({}, np.histogram(x, 30)), ({"weights": weighing}, np.histogram(x, 30, weights=weights))):
        got = histogram(histogram_kernel, resident, 30, **how)
        assert {type(one) for one in got} == {type(resident)}
        assert_histogram([on_host(device, one) for one in got], expected)


def test_counts_of_more_elements_than_32_bits_tell(
    histogram_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in (reading, elements):
        monkeypatch.setattr(home, "MOST_COUNTED", 100)  # in place of 2^31
    plan.plan_sums.cache_clear()
    x = rng.integers(0, 5, 1000)
    assert_equal(bincount(histogram_kernel, x), np.bincount(x))
    assert_histogram(histogram(histogram_kernel, x * 0.7, 9, (0, 3)), np.histogram(x * 0.7, 9, (0, 3)))
    plan.plan_sums.cache_clear()


@pytest.mark.parametrize(("home", "limit"), [(reading, "_MOST_MERGED"), (groups, "_MOST_NEAR")])
def test_groups_that_do_not_merge_and_guides_in_global_memory(
    histogram_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, home: ModuleType, limit: str
) -> None:
    monkeypatch.setattr(home, limit, 0)
    plan.plan_sums.cache_clear()
    x = spread_values(rng, np.float32, 70_000)
    for bins in ("cells", "edges"):
        assert_histogram(histogram(histogram_kernel, x, *BINS[bins]), numpys(x, *BINS[bins]))
    plan.plan_sums.cache_clear()


def test_elements_that_are_all_alike_or_nearly(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    for x in (np.full(150_000, 0.5, np.float32), rng.random(150_000, dtype=np.float32) ** 8):
        for bins in (256, 1000, 5000):  # 0.5 is an edge of 256 bins; 5000 bins are more than the slots
            assert_histogram(histogram(histogram_kernel, x, bins, (0, 1)), numpys(x, bins, (0, 1)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_every_value_of_a_byte(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    values = np.arange(-128, 128) if dtype == "int8" else np.arange(256) if dtype == "uint8" else np.arange(2)
    for size in [5, *histogram_kernel.boundary_sizes]:
        x = rng.choice(values, size).astype(dtype)
        for how in BYTES:
            assert_histogram(histogram(histogram_kernel, x, *how), numpys(x, *how))


def test_more_bins_than_local_memory_holds_take_another_kernel(
    device: gpuprims.Device, rng: np.random.Generator
) -> None:
    bins = 2**20
    x = rng.random(30_000).astype(np.float32)
    assert_histogram(gpuprims.histogram(x, bins, (0, 1), device=device), np.histogram(x, bins, (0, 1)))
    if device.backend != "reference":
        with pytest.raises(NoVariantError, match=r"bytes of local memory for 1048576 bins"):
            gpuprims.histogram(x, bins, (0, 1), device=device, variant="local_atomic")
        reasons = {
            variant.name: reason for variant, reason in gpuprims.explain("histogram", device, bins=bins).refusals
        }
        assert "local memory" in str(reasons["local_atomic"])


def test_rows_of_bytes_in_more_bins_than_they_have_values(device: gpuprims.Device) -> None:
    x = np.array([[0, 200], [3, 4]], np.uint8)
    for limits in ((0, 1000), (1000, 2000), (-500, 500)):
        counts, _ = gpuprims.histogram(on_device(device, x), 1000, limits, axis=1, device=device)
        assert_equal(on_host(device, counts), np.array([np.histogram(row, 1000, limits)[0] for row in x]))


def test_bytes_in_very_many_bins_take_another_kernel(device: gpuprims.Device, rng: np.random.Generator) -> None:
    bins = 2**15 + 1
    x = rng.integers(0, 256, (6, 1412), dtype=np.uint8)
    counts, _ = gpuprims.histogram(on_device(device, x), bins, (0, 100), device=device)
    assert_equal(on_host(device, counts), np.histogram(x, bins, (0, 100))[0])
    if device.backend != "reference":
        for given, refused in ((bins - 1, False), (bins, True)):
            explanation = gpuprims.explain("histogram", device, dtype="uint8", bins=given)
            assert refused == any("bins at most" in str(reason) for _, reason in explanation.refusals)
