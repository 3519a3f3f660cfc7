"""Histograms and counts of many bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from histogram_cases import assert_histogram, bincount, histogram
from kernel_cases import Kernel, assert_equal, on_device, on_host, two_groups

import gpuprims
from gpuprims.errors import NoVariantError
from gpuprims.primitives.histogram import keys, partition, traits

pytestmark = pytest.mark.optimised

COUNTED = 2**17


def spread(rng: np.random.Generator, data: str, size: int, bins: int) -> np.ndarray:
    """Return numbers below ``bins``: everywhere, most in few bins, in order, or all alike."""
    unit = {"uniform": rng.random(size), "skewed": rng.random(size) ** 8, "sorted": np.arange(size) / size}
    return np.floor(unit.get(data, np.full(size, 0.3)) * bins).astype(np.int32)


def counted(kernel: Kernel, x: Any, **how: Any) -> np.ndarray:
    return bincount(kernel, x, **how)


@pytest.mark.parametrize("data", ["uniform", "skewed", "sorted", "constant"])
@pytest.mark.parametrize("size", [1, 2047, 2048, 2049, 70_001])
def test_counts(many_bins_kernel: Kernel, rng: np.random.Generator, size: int, data: str) -> None:
    x = spread(rng, data, size, COUNTED + 9)
    assert_equal(counted(many_bins_kernel, x, minlength=COUNTED), np.bincount(x, minlength=COUNTED))


@pytest.mark.parametrize("data", ["uniform", "skewed", "sorted", "constant"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_sums(many_bins_kernel: Kernel, rng: np.random.Generator, dtype: str, data: str) -> None:
    many_bins_kernel.need(np.float64)
    for size in (1, 1023, 1024, 1025, 40_001):
        x, weights = spread(rng, data, size, 9000), rng.integers(-999, 999, size).astype(dtype)
        assert_equal(counted(many_bins_kernel, x, weights=weights, minlength=9000), np.bincount(x, weights, 9000))


def test_elements_in_no_bin_and_on_edges(many_bins_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.standard_normal(30_000).astype(np.float32)
    x[:6] = [np.nan, np.inf, -np.inf, -1.1, 1.7, 0]
    device = many_bins_kernel.device
    for bins, limits in ((150_000, (-1.1, 1.7)), (np.sort(rng.standard_normal(COUNTED + 1)), None)):
        expected = np.histogram(x, bins, limits)
        assert_histogram(histogram(many_bins_kernel, x, bins, limits), expected)
        there = histogram(many_bins_kernel, on_device(device, x), bins, limits)
        assert_histogram([on_host(device, one) for one in there], expected)


@pytest.mark.parametrize("bins", [1100, 9000])  # digits of all exponents, or of those near a bin's largest weight
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_of_each_exponent_and_kind(
    many_bins_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: str, bins: int
) -> None:
    many_bins_kernel.need(np.float64)
    monkeypatch.setattr(traits, "_LEAST_SUMMED", 1000)
    x, most = spread(rng, "skewed", 20_000, bins), 0.9 * np.finfo(dtype).maxexp
    weights = rng.standard_normal(x.size) * 2.0 ** rng.uniform(-most, most, bins + 1)[x]  # bins differ most
    weights = (weights * 2.0 ** rng.integers(-5, 5, x.size)).astype(dtype)
    weights[x == 5] = np.inf
    weights[np.flatnonzero(x == 7)[0]] = -np.inf
    weights[np.flatnonzero(x == 8)[:2]] = np.inf, -np.inf
    got = counted(many_bins_kernel, x, weights=weights, minlength=bins)
    with np.errstate(invalid="ignore"):
        expected, size = np.bincount(x, weights, bins), np.bincount(x, np.abs(weights), bins)
    finite = np.isfinite(expected)
    assert_equal(got[~finite], expected[~finite])
    assert (np.abs(got[finite] - expected[finite]) <= size[finite] * 1e-13).all()
    assert_equal(counted(many_bins_kernel, x, weights=weights, minlength=bins), got)


@pytest.mark.parametrize("dtype", ["float16", "int16"])
def test_sums_of_the_dtype_of_short_weights(many_bins_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    many_bins_kernel.need(np.float64)
    x, weights = rng.random(9000, np.float32), rng.integers(-9, 9, 9000).astype(dtype)
    got = histogram(many_bins_kernel, x, 9000, (0, 1), weights=weights)
    assert_histogram(got, np.histogram(x, 9000, (0, 1), weights=weights))


def test_elements_apart_in_memory(many_bins_kernel: Kernel, rng: np.random.Generator) -> None:
    x, device = rng.integers(0, COUNTED, (90, 301)).astype(np.uint32), many_bins_kernel.device
    for there, here in ((on_device(device, x)[:, ::2], x[:, ::2]), (on_device(device, x).T[::2], x.T[::2])):
        expected = np.histogram(here, COUNTED, (0, COUNTED))[0]
        assert_equal(histogram(many_bins_kernel, here, COUNTED, (0, COUNTED))[0], expected)
        assert_equal(on_host(device, histogram(many_bins_kernel, there, COUNTED, (0, COUNTED))[0]), expected)


def test_groups_that_share_a_range(
    many_bins_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_bins_kernel.need(np.float64)
    if many_bins_kernel.device.capabilities.kind == "reference":
        pytest.skip("the reference runs no groups")
    monkeypatch.setattr(partition, "_SHARES", 50)
    monkeypatch.setattr(partition, "_LEAST_SHARE", 1)
    x = spread(rng, "skewed", 600_000, 8200)
    weights = rng.standard_normal(x.size)
    with two_groups(many_bins_kernel.device, monkeypatch):
        for _ in range(2):  # the last groups leave zeros for the next call
            got = counted(many_bins_kernel, x, weights=weights, minlength=8200)
            np.testing.assert_allclose(got, np.bincount(x, weights, 8200), rtol=1e-9, atol=1e-12)


def test_calls_like_earlier_ones_of_many_bins(
    many_bins_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "_MOST_LARGE", 11_000)  # the third range forgets the first two
    device = many_bins_kernel.device
    for _ in range(2):
        for high in (1, 2, 3, 2):
            x = rng.random(3000, np.float32)
            got = gpuprims.histogram(on_device(device, x), 5000, (0, high))
            assert_histogram([on_host(device, one) for one in got], np.histogram(x, 5000, (0, high)))


def test_refusals_name_the_bins_and_the_elements(many_bins_kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    device, sorting = many_bins_kernel.device, {"variant": "partitioned"}
    if many_bins_kernel.variant.name != "partitioned":
        pytest.skip("other variants take any number of bins")
    x = np.zeros(100, np.int32)
    with pytest.raises(NoVariantError, match="is for more bins"):
        gpuprims.bincount(x, minlength=1000, device=device, **sorting)
    with pytest.raises(NoVariantError, match="one histogram"):
        gpuprims.bincount(x.reshape(2, -1), minlength=COUNTED, axis=1, device=device, **sorting)
    monkeypatch.setattr(traits, "_MOST_SORTED", 99)
    with pytest.raises(NoVariantError, match="99 elements at most"):
        gpuprims.bincount(x, minlength=COUNTED + 1, device=device, **sorting)
