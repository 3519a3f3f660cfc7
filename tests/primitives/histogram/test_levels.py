"""Weighted histograms and bincount at the levels "device" and "order": exact sums, the same bits on every device."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kernel_cases import as_it_stands

import gpuprims
from gpuprims.errors import NoVariantError
from gpuprims.primitives.histogram import exact_weights

BINS = 20


def weights_of(rng: np.random.Generator, dtype: Any, size: int) -> list[np.ndarray]:
    """Return weights of near and of far exponents, subnormal ones, and zeros."""
    near = rng.standard_normal(size)
    least = rng.integers(-9, 9, size) * np.finfo(dtype).smallest_subnormal
    wide = near * 2.0 ** rng.integers(-60, 60, size)
    return [one.astype(dtype) for one in (near, wide, least, np.zeros(size))]


def exact_sums(bins: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.array([math.fsum(weights[bins == place].astype(np.float64)) for place in range(BINS)])


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.whole)])
def test_sums_of_bins_are_exact(device: gpuprims.Device, rng: np.random.Generator, dtype: Any) -> None:
    x, keys = rng.random(3000, np.float32), rng.integers(0, BINS, 3000)
    order = rng.permutation(3000)
    for weights in weights_of(rng, dtype, 3000)[:: 1 if dtype == np.float64 else 2]:  # planes are kernels
        sums, edges = gpuprims.histogram(x, BINS, (0, 1), weights=weights, device=device, determinism="device")
        places = np.searchsorted(edges, x, "right") - 1
        np.testing.assert_array_equal(sums, exact_sums(places, weights).astype(dtype))
        counted = gpuprims.bincount(keys, weights, device=device, determinism="order")
        np.testing.assert_array_equal(counted, exact_sums(keys, weights))
        again = gpuprims.bincount(keys[order], weights[order], device=device, determinism="order")
        assert again.tobytes() == counted.tobytes()


@pytest.mark.parametrize("variant", ["local_atomic", "cpu_exact"])
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.whole)])
def test_a_kernel_with_room_for_all_bits_needs_one_reading(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: Any, variant: str
) -> None:
    """It has the bits of the planes, also of infinities and NaN, and of sums near a negative power of two."""
    if device.backend == "reference" or not device.capabilities.int64_atomics:
        pytest.skip("needs histogram/local_atomic")
    if variant == "cpu_exact" and device.capabilities.kind != "cpu":
        pytest.skip("is for CPUs")
    as_it_stands(monkeypatch)
    near, wide, least, zeros = weights_of(rng, dtype, 3000)
    wide[1501:] = -wide[1:1500][::-1]  # cancels
    cases = [(rng.integers(0, BINS, 3000), one) for one in (near, wide, least, zeros)]
    cases.append((rng.integers(0, BINS, 50_021), near[rng.integers(0, 3000, 50_021)]))  # several parts
    special = np.array([np.inf, 1, -np.inf, np.inf, -np.inf, np.nan, 3], dtype)
    among = np.concatenate([special, near[:2993]])
    cases += [(np.array([0, 0, 1, 2, 2, 3, 4]), special), (np.arange(3000) % 19, among)]
    cases.append((np.zeros(2, int), np.array([-1024, -(2.0**-23)], dtype)))
    wanted = [gpuprims.bincount(*case, device="reference", determinism="order") for case in cases]
    monkeypatch.setattr(exact_weights, "sums_exactly", None)
    for case, sums in zip(cases, wanted, strict=True):
        got = gpuprims.bincount(*case, device=device, variant=variant, determinism="order")
        assert got.tobytes() == sums.tobytes()
    assert gpuprims.bincount(*cases[-1], device=device, variant=variant)[0] == -1024 - 2.0**-23


@pytest.mark.whole
def test_rows_and_more_bins_than_have_room(device: gpuprims.Device, rng: np.random.Generator) -> None:
    keys, (weights, *_) = rng.integers(0, 5000, 9000), weights_of(rng, np.float32, 9000)
    x, by_rows = rng.random((2, 300, 30), np.float32)
    for level in ("device", "order"):
        both = [gpuprims.bincount(keys, weights, device=on, determinism=level) for on in (device, "reference")]
        assert both[0].tobytes() == both[1].tobytes()
        how: dict[str, Any] = {"bins": 7, "range": (0.2, 0.9), "weights": by_rows, "axis": 1, "determinism": level}
        rows = [gpuprims.histogram(x, device=on, **how)[0] for on in (device, "reference")]
        assert rows[0].tobytes() == rows[1].tobytes()


def test_infinities_and_nan(rng: np.random.Generator) -> None:
    keys, weights = np.arange(4).repeat(10), rng.standard_normal(40)
    weights[[3, 15, 16, 27]] = np.inf, np.inf, -np.inf, np.nan
    with gpuprims.use_determinism("device"):
        got = gpuprims.bincount(keys, weights, device="reference")
    np.testing.assert_array_equal(got, [np.inf, np.nan, np.nan, math.fsum(weights[30:])])


@pytest.mark.parametrize("level", ["run", "device", "order"])
def test_no_elements_are_counted_as_integers(level: Any) -> None:
    """As NumPy does, whatever the weights are."""
    keys, weights = np.zeros(0, np.int64), np.zeros(0, np.float32)
    got = gpuprims.bincount(keys, weights, minlength=3, device="reference", determinism=level)
    expected = np.bincount(keys, weights, minlength=3)
    assert (got.dtype, got.tobytes()) == (expected.dtype, expected.tobytes())


def test_densities_rows_and_segments(rng: np.random.Generator) -> None:
    x, weights = rng.random((2, 500)), rng.random((2, 500))
    with gpuprims.use_determinism("order"):
        density, edges = gpuprims.histogram(x, BINS, (0, 1), density=True, weights=weights, device="reference")
        rows, _ = gpuprims.histogram(x, BINS, (0, 1), weights=weights, axis=1, device="reference")
        flat = (one.reshape(-1) for one in (x, weights))
        how: dict[str, Any] = dict(zip(("x", "weights"), flat, strict=True))
        parts, _ = gpuprims.histogram(**how, bins=BINS, range=(0, 1), segments=[0, 500, 1000], device="reference")
    assert (density * np.diff(edges)).sum() == pytest.approx(1)
    for row, own, by in zip(rows, x, weights, strict=True):
        np.testing.assert_array_equal(row, exact_sums(np.searchsorted(edges, own, "right") - 1, by))
    np.testing.assert_array_equal(parts, rows)


def test_counts_reach_every_level_and_racing_sums_none() -> None:
    keys = np.array([0, 1, 1, 5])
    with gpuprims.use_determinism("order"):
        assert gpuprims.bincount(keys, device="reference").tolist() == [1, 2, 0, 0, 0, 1]
        assert gpuprims.bincount(keys, keys, device="reference").tolist() == [0, 2, 0, 0, 0, 5]
        with pytest.raises(NoVariantError, match="bincount: deterministic=True at this level of determinism"):
            gpuprims.bincount(keys, keys / 3, deterministic=False, device="reference")
