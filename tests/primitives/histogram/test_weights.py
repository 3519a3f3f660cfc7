"""histogram with weights= and density=."""

from __future__ import annotations

import math

import numpy as np
import pytest
from histogram_cases import BINS, assert_histogram, bincount, histogram
from kernel_cases import Kernel, assert_equal, on_device, on_host, random_values

from gpuprims.primitives.histogram.spec import digits_of


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64"])
def test_integer_weights_are_exact(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    x, weights = random_values(rng, np.float32, 9001), random_values(rng, dtype, 9001)
    if dtype == "int64":
        weights >>= 16  # NumPy adds in float64, which holds these sums
    assert_histogram(
        histogram(histogram_kernel, x, 12, (-2, 2), weights=weights), np.histogram(x, 12, (-2, 2), weights=weights)
    )


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_float_weights(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, deterministic: bool) -> None:
    histogram_kernel.need(np.float64)
    for scale in (1, 1e-6, 1e4) if dtype == "float16" else (1, 1e-37, 1e37):
        x, weights = random_values(rng, np.float32, 9001), (rng.standard_normal(9001) * scale).astype(dtype)
        weights[:100] = 0
        weights[100:200] *= np.asarray(1e-5, dtype)
        got, _ = histogram(histogram_kernel, x, 12, (-2, 2), weights=weights, deterministic=deterministic)
        exact, _ = np.histogram(x, 12, (-2, 2), weights=weights.astype(np.longdouble))
        size, _ = np.histogram(x, 12, (-2, 2), weights=np.abs(weights).astype(np.longdouble))
        assert got.dtype == dtype
        with np.errstate(over="ignore"):
            rounded = exact.astype(dtype)
        error = np.abs(got.astype(np.longdouble) - exact)
        assert ((got == rounded) | (error <= size * 1e-12 + np.abs(exact) * np.finfo(dtype).eps)).all()


def test_weights_that_are_not_finite_stay_in_their_bins(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    histogram_kernel.need(np.float64)
    x, weights = random_values(rng, np.float32, 3000), random_values(rng, np.float32, 3000)
    x[:4], weights[:4] = [-1.9, -0.9, 0.1, 0.1], [np.nan, -np.inf, np.inf, -np.inf]
    got, _ = histogram(histogram_kernel, x, 8, (-2, 2), weights=weights)
    expected, _ = np.histogram(x.astype(np.float64), 8, (-2, 2), weights=weights.astype(np.float64))
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_small_weights_are_not_lost_beside_large_ones_elsewhere(histogram_kernel: Kernel, dtype: str) -> None:
    histogram_kernel.need(np.float64)
    large = np.finfo(dtype).max / 4
    tiny = np.finfo(dtype).smallest_subnormal * 5
    x = np.array([0.5, 1.5, 1.5, 9, np.nan, 2.5, 2.5, 3.5], np.float32)
    weights = np.array([1 / 3, large, large, large, large, tiny, -3 * tiny, 0], dtype)
    expected = [weights[0], 2 * large, -2 * tiny, 0]
    got, _ = histogram(histogram_kernel, x, 4, (0, 4), weights=weights)
    assert_equal(got, np.array(expected, dtype))
    device = histogram_kernel.device
    rows = on_device(device, np.stack([x, x[::-1]])), on_device(device, np.stack([weights, weights[::-1] / 2]))
    got, _ = histogram(histogram_kernel, rows[0], 4, (0, 4), weights=rows[1], axis=1)
    assert_equal(on_host(device, got)[0], np.array(expected, dtype))
    np.testing.assert_allclose(on_host(device, got)[1], np.array(expected, dtype) / 2, rtol=1e-6, atol=tiny)


@pytest.mark.optimised
@pytest.mark.parametrize("bins", [5, 300, 3000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_every_exponent_and_sign(
    histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, bins: int
) -> None:
    histogram_kernel.need(np.float64)
    x = rng.integers(0, bins, 40_000).astype(np.float32)
    spread = {"float32": 60, "float64": 400}[dtype] / (1 if histogram_kernel.variant.name == "local_atomic" else 8)
    weights = (rng.standard_normal(x.size) * 2.0 ** rng.uniform(-spread, spread, x.size)).astype(dtype)
    weights[::3] = 3 - 2.0**-20  # carries from digit to digit, and back
    weights[1::9] = -weights[::9][: weights[1::9].size]
    got, _ = histogram(histogram_kernel, x, bins, (0, bins), weights=weights)
    exact = np.array([math.fsum(weights[x == k].tolist()) for k in range(bins)])
    largest = np.array([np.abs(weights[x == k]).max(initial=0) for k in range(bins)], np.float64)
    near = np.finfo(dtype).eps * np.abs(exact)
    if histogram_kernel.variant.name in ("cpu_private", "numpy"):  # add floats
        near = near + 1e-12 * largest * x.size / bins
    assert (np.abs(got - exact) <= near + largest * 2.0**-45).all()


@pytest.mark.parametrize("bins", [1, 3, 100])
@pytest.mark.parametrize("exponent", [-130, -60, 0, 60])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_sums_of_near_and_far_weights(
    histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, bins: int, exponent: int
) -> None:
    if histogram_kernel.variant.name != "local_atomic":
        pytest.skip("has no words that may overflow")
    histogram_kernel.need(np.float64)
    x = rng.integers(0, bins, 1 << 21).astype(np.float32)
    whole = rng.integers(1 << 37, 1 << 38, x.size) >> rng.integers(14, 28, x.size)
    weights = (whole * 2.0 ** (exponent - 24)).astype(dtype)  # a window of exponents, but for 14 ulps
    if dtype == "float64":
        weights = (weights * rng.uniform(1, 2, x.size)) ** 7  # all bits, and more exponents
    x[: 1 << 20] = 0  # many additions to one word
    weights[1 << 18 : 1 << 20] = weights[: 1 << 20].max()
    weights[1 << 20 :: 7] *= -1
    weights[::1001] *= np.asarray(2.0**20, dtype)
    weights[::1003] *= np.asarray(2.0**-40, dtype)
    weights[::1007] = 0
    got, _ = histogram(histogram_kernel, x, bins, (0, bins), weights=weights)
    exact = np.array([math.fsum(weights[x == k].tolist()) for k in range(bins)])
    room = (
        histogram_kernel.device.capabilities.asked_local_memory
    )  # for all digits of all bins, or sums are rounded twice
    digits_fit = 8 * (bins + 2) * digits_of("exact", np.dtype(dtype)) <= room
    np.testing.assert_allclose(got, exact, rtol=np.finfo(dtype).eps * (1 if digits_fit else 4))


def test_integer_weights_of_64_bits_in_float64(histogram_kernel: Kernel) -> None:
    histogram_kernel.need(np.float64)
    for weights in (np.array([2**62] * 4), np.array([2**63, 1, 5, 2**63], np.uint64)):
        x = [0, 1, 0, 0]
        assert_equal(bincount(histogram_kernel, x, weights=weights), np.bincount(x, weights))
        got = histogram(histogram_kernel, x, 2, (0, 2), weights=weights, density=True)[0]
        floats = weights.astype(np.float64)  # the sum overflows NumPy's integers
        np.testing.assert_allclose(got, np.histogram(x, 2, (0, 2), weights=floats, density=True)[0])


def test_sums_of_floats_are_the_same_from_run_to_run(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    histogram_kernel.need(np.float64)
    x, weights = rng.integers(0, 3, 50_000).astype(np.float32), random_values(rng, np.float64, 50_000)
    runs = [histogram(histogram_kernel, x, 3, weights=weights)[0] for _ in range(20)]
    assert all((run == runs[0]).all() for run in runs)
    np.testing.assert_allclose(runs[0], np.histogram(x, 3, weights=weights)[0], rtol=1e-9)


def test_a_density(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    histogram_kernel.need(np.float64)
    x, weights = random_values(rng, np.float32, 3000), rng.integers(0, 9, 3000)
    for how in (BINS["rounded"], BINS["edges"]):
        for weighed in (None, weights):
            with np.errstate(all="ignore"):  # a bin between equal edges divides by 0
                got = histogram(histogram_kernel, x, *how, density=True, weights=weighed)[0]
                expected = np.histogram(x, *how, density=True, weights=weighed)[0]
            np.testing.assert_allclose(got, expected, rtol=1e-12)
