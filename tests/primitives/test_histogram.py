"""histogram and bincount: every variant of every device against NumPy's, count for count."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from kernel_cases import (
    DTYPES,
    LAYOUTS,
    Kernel,
    assert_equal,
    need,
    on_device,
    on_host,
    poison,
    random_values,
    release_pools,
)

import gpuprims
from gpuprims.errors import (
    ArgumentError,
    AxisError,
    DeviceMismatchError,
    DtypeError,
    NoVariantError,
    ShapeError,
    UnknownVariantError,
)
from gpuprims.primitives.histogram import division, plan, reading
from gpuprims.primitives.histogram.binning import key_dtype, table_of_edges, table_of_range

# Even bins that are cells, even bins at whose edges floats round, edges of all widths, one bin, more than guides have.
BINS: dict[str, tuple[Any, Any]] = {
    "cells": (16, (-2.0, 2.0)),
    "rounded": (100, (-1.1, 1.7)),
    "edges": ([-2, -1.5, -1.4999, 0, 1e-3, 1e-3, 2.5], None),
    "one": (1, (-0.5, 0.5)),
    "many": (5000, (-1.0, 1.0)),
}


# Bins of the values of a byte: one each, or of several, most of them empty, none of these values, edges of all widths.
BYTES: tuple[Any, ...] = (
    (256, (0, 256)), (7, (-3.5, 77)), (1000, (0, 256)), (5, (300, 400)), ([-200, -5, 0, 0, 3, 127.5, 254, 255],),
)  # fmt: skip


def histogram(kernel: Kernel, x: Any, *how: Any, **keywords: Any) -> Any:
    """Count by this variant, where it is able; elsewhere the test is skipped by its own words."""
    try:
        return gpuprims.histogram(x, *how, device=kernel.device, variant=kernel.variant.name, **keywords)
    except NoVariantError as error:
        pytest.skip(str(error))


def bincount(kernel: Kernel, x: Any, **keywords: Any) -> Any:
    """Count by this variant, where it is able."""
    try:
        return gpuprims.bincount(x, device=kernel.device, variant=kernel.variant.name, **keywords)
    except NoVariantError as error:
        pytest.skip(str(error))


def numpys(x: np.ndarray, *how: Any, **keywords: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bools, which NumPy takes as bytes
        return np.histogram(x, *how, **keywords)


def assert_histogram(got: Any, expected: Any) -> None:
    for one, other in zip(got, expected, strict=True):
        assert_equal(one, other)


def spread_values(rng: np.random.Generator, dtype: Any, size: int) -> np.ndarray:
    """Return values around 0, of floats also every special one."""
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        return rng.integers(0 if dtype.kind in "ub" else -3, 4, size).astype(dtype)
    x = rng.standard_normal(size).astype(dtype)
    special = [0, -0.0, np.nan, np.inf, -np.inf, np.finfo(dtype).tiny / 2, -np.finfo(dtype).tiny / 2, 2, -2, 1.7, -1.1]
    x[: min(size, 11)] = np.array(special, dtype)[: min(size, 11)]
    return x


# histogram -----------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_range_of_the_elements(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    histogram_kernel.need(dtype)
    for x in (random_values(rng, dtype, 4000), np.ones(5, dtype), np.zeros(0, dtype)):
        if np.dtype(dtype).itemsize == 8 and np.dtype(dtype).kind in "iu":
            x >>= np.asarray(12, dtype)  # differences that float64 holds, in which NumPy finds bins
        assert_histogram(histogram(histogram_kernel, x), numpys(x))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_of_64_bits_are_compared_exactly(histogram_kernel: Kernel, dtype: str) -> None:
    top = int(np.iinfo(dtype).max)
    edges = np.array([0, 2**53, 2**53 + 1, 2**53 + 2, top - 1, top], dtype)
    x = np.concatenate([edges, edges[:-1] + np.asarray(1, dtype), edges[1:] - np.asarray(1, dtype)])
    assert_histogram(histogram(histogram_kernel, x, edges), numpys(x, edges))


@pytest.mark.parametrize(
    ("x", "bins", "limits"),
    [
        (np.array([2**63 - 1, 5]), 4, (0, 4e19)),
        (np.array([2**63 - 1, -(2**63)]), 4, (-4e19, 4e19)),
        (np.array([2**64 - 1, 7], np.uint64), [0, 1e19, 1e20, 2e20], None),
        (np.array([2**64 - 1, 7], np.uint64), [-3.0, -2.0], None),
        (np.array([250, 3], np.uint8), 4, (-1000, 1000)),
    ],
)
def test_edges_beyond_the_integers(histogram_kernel: Kernel, x: np.ndarray, bins: Any, limits: Any) -> None:
    assert_histogram(histogram(histogram_kernel, x, bins, limits), np.histogram(x, bins, limits))


@pytest.mark.parametrize(("elements", "edges"), [("uint64", "int64"), ("int64", "uint64"), ("uint64", "int8")])
def test_signed_and_unsigned_integers_are_compared_as_floats_as_in_numpy(
    histogram_kernel: Kernel, rng: np.random.Generator, elements: str, edges: str
) -> None:
    near = 2**53 if edges != "int8" else 100
    x = near + rng.integers(0, 30, 3000).astype(elements)
    bins = near + np.array([1, 3, 6, 8, 9, 14, 21], edges)
    assert_histogram(histogram(histogram_kernel, x, bins), np.histogram(x, bins))
    far = np.array([-5, 0, 2**53, 2**53 + 1, 2**62 + 99] if elements == "int64" else [0, 2**63, 2**64 - 1], elements)
    assert_histogram(histogram(histogram_kernel, far, bins), np.histogram(far, bins))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "uint64"])
def test_numbers_may_be_of_any_integer_dtype(
    histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, weighted: bool
) -> None:
    x = rng.integers(0, 2 if dtype == "bool" else 100, 3000).astype(dtype)
    weights = rng.standard_normal(x.size) if weighted else None
    got, expected = bincount(histogram_kernel, x, weights=weights), np.bincount(x, weights)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_the_numbers_of_nothing_are_int64_as_in_numpy(device: gpuprims.Device) -> None:
    for dtype in ("int64", "uint64", "uint8"):
        for weights in (None, np.zeros(0), np.zeros(0, np.float32)):
            for minlength in (0, 3):
                nothing = np.zeros(0, dtype)
                expected = np.bincount(nothing, weights, minlength)
                assert_equal(gpuprims.bincount(nothing, weights, minlength, device=device), expected)


def test_edges_may_be_booleans(device: gpuprims.Device) -> None:
    for dtype in ("uint64", "int8", "float32"):
        x, edges = np.array([0, 1, 1, 2], dtype), np.array([False, True])
        assert_histogram(gpuprims.histogram(x, edges, device=device), np.histogram(x, edges))


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
    x = np.repeat(np.uint8([0, 1, 2]), [600_000, 0, 70_001])  # of which a group has a large part
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


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64"])
def test_integer_weights_are_exact(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    x, weights = random_values(rng, np.float32, 9001), random_values(rng, dtype, 9001)
    if dtype == "int64":
        weights >>= 16  # sums that float64 holds, in which NumPy adds
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


def test_integer_weights_of_64_bits_in_float64(histogram_kernel: Kernel) -> None:
    histogram_kernel.need(np.float64)
    for weights in (np.array([2**62] * 4), np.array([2**63, 1, 5, 2**63], np.uint64)):
        x = [0, 1, 0, 0]
        assert_equal(bincount(histogram_kernel, x, weights=weights), np.bincount(x, weights))
        got = histogram(histogram_kernel, x, 2, (0, 2), weights=weights, density=True)[0]
        floats = weights.astype(np.float64)  # whose sum NumPy's integers cannot hold
        np.testing.assert_allclose(got, np.histogram(x, 2, (0, 2), weights=floats, density=True)[0])


def test_counts_of_more_elements_than_32_bits_tell(
    histogram_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(division, "MOST_COUNTED", 100)  # in place of 2^31
    plan.plan_sums.cache_clear()
    x = rng.integers(0, 5, 1000)
    assert_equal(bincount(histogram_kernel, x), np.bincount(x))
    assert_histogram(histogram(histogram_kernel, x * 0.7, 9, (0, 3)), np.histogram(x * 0.7, 9, (0, 3)))
    plan.plan_sums.cache_clear()


@pytest.mark.parametrize(("module", "limit"), [(reading, "_MOST_MERGED"), (division, "_MOST_NEAR")])
def test_groups_that_do_not_merge_and_guides_in_global_memory(
    histogram_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, module: Any, limit: str
) -> None:
    monkeypatch.setattr(module, limit, 0)
    plan.plan_sums.cache_clear()
    x = spread_values(rng, np.float32, 70_000)
    for bins in ("cells", "edges"):
        assert_histogram(histogram(histogram_kernel, x, *BINS[bins]), numpys(x, *BINS[bins]))
    plan.plan_sums.cache_clear()


def test_elements_that_are_all_alike_or_nearly(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    for x in (np.full(150_000, 0.5, np.float32), rng.random(150_000, dtype=np.float32) ** 8):
        for bins in (256, 1000, 5000):  # on an edge of the first; more than there are slots of the last
            assert_histogram(histogram(histogram_kernel, x, bins, (0, 1)), numpys(x, bins, (0, 1)))


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
            with np.errstate(all="ignore"):  # of an edge that comes twice
                got = histogram(histogram_kernel, x, *how, density=True, weights=weighed)[0]
                expected = np.histogram(x, *how, density=True, weights=weighed)[0]
            np.testing.assert_allclose(got, expected, rtol=1e-12)


# Any numbers: on edges, a last bit beside them, and far away.
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["float32", "float64", "float16", "int16", "uint8", "int64"]),
    st.integers(1, 60),
    st.floats(-1e4, 1e4),
    st.one_of(st.floats(1e-3, 1e4), st.integers(1, 300)),
    st.randoms(use_true_random=False),
)
@example("float32", 49, 0.0, 1.0, np.random.RandomState(0))  # type: ignore[arg-type]  # which has random() too
def test_elements_at_edges(
    device: gpuprims.Device, dtype: str, bins: int, low: float, width: float, random: Any
) -> None:
    need(device, dtype)
    limits = low, low + width
    with np.errstate(all="ignore"):
        at = np.linspace(*limits, bins + 1).astype(dtype)
    if np.dtype(dtype).kind == "f":
        beside = [np.nextafter(at, np.asarray(way, dtype)) for way in (-np.inf, np.inf)]
    else:
        beside = [at - np.asarray(1, dtype), at + np.asarray(1, dtype)]
    x = np.concatenate([at, *beside, np.array([int(random.random() * 99) for _ in range(30)], dtype)])
    try:
        expected = np.histogram(x, bins, limits)
    except (ValueError, IndexError):  # bins that floats cannot tell apart
        with pytest.raises(ArgumentError):
            gpuprims.histogram(x, bins, limits, device=device)
        return
    assert_histogram(gpuprims.histogram(x, bins, limits, device=device), expected)
    assert_histogram(gpuprims.histogram(x, expected[1], device=device), np.histogram(x, expected[1]))


@pytest.mark.parametrize(
    ("limits", "bins", "kind"),
    [
        ((0.0, 1.0), 256, "even"),
        ((0.0, 1.0), 49_152, "even"),
        ((-3.3, 4.7), 1000, "even"),
        ((1e6, 1e6 + 1), 7, "edges"),
    ],
)
def test_bins_of_one_width_are_found_without_a_search(limits: tuple[float, float], bins: int, kind: str) -> None:
    table = table_of_range(np.dtype(np.float32), bins, *limits)
    assert table.kind == kind


def test_explicit_edges_of_one_width_are_too() -> None:
    edges = np.linspace(0, 256, 257)
    assert table_of_edges(np.dtype(np.uint8), edges).kind == "even"


def test_keys_hold_every_element() -> None:
    assert all(np.can_cast(dtype, key_dtype(np.dtype(dtype))) for dtype in DTYPES)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_every_value_of_a_byte(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    values = np.arange(-128, 128) if dtype == "int8" else np.arange(256) if dtype == "uint8" else np.arange(2)
    for size in [5, *histogram_kernel.boundary_sizes]:
        x = rng.choice(values, size).astype(dtype)
        for how in BYTES:
            assert_histogram(histogram(histogram_kernel, x, *how), numpys(x, *how))


# bincount ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("highest", [1, 100, 5000])
def test_counts_of_numbers(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, highest: int) -> None:
    for size in (0, 1, 300, 20_001):
        x = rng.integers(0, min(highest, np.iinfo(dtype).max if dtype != "bool" else 1), size, endpoint=True).astype(
            dtype
        )
        for minlength in (0, 7, 6000):
            assert_equal(bincount(histogram_kernel, x, minlength=minlength), np.bincount(x, minlength=minlength))


def test_weights_of_numbers(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    histogram_kernel.need(np.float64)
    x = rng.integers(0, 30, 5000)
    integers, floats = rng.integers(-99, 99, 5000), rng.standard_normal(5000)
    assert_equal(bincount(histogram_kernel, x, weights=integers), np.bincount(x, integers))
    np.testing.assert_allclose(bincount(histogram_kernel, x, weights=floats), np.bincount(x, floats), atol=1e-10)


def test_numbers_of_each_row(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.integers(0, 20, (30, 500))
    x[0, 0] = 24
    expected = np.array([np.bincount(row, minlength=25) for row in x])
    assert_equal(bincount(histogram_kernel, x, axis=1), expected)
    resident = on_device(histogram_kernel.device, x.T)
    assert_equal(on_host(histogram_kernel.device, bincount(histogram_kernel, resident, axis=0)), expected)


def test_negative_numbers_are_refused_wherever_they_are(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in (1, 5000):
        x = rng.integers(0, 2000, size)
        x[size // 2] = -1
        with pytest.raises(ArgumentError, match="bincount: elements from 0 on; got -1"):
            bincount(histogram_kernel, x)


# Large ---------------------------------------------------------------------------------------------------------------


def test_more_counts_than_32_bits_hold(device: gpuprims.Device) -> None:
    if device.capabilities.kind != "gpu":
        pytest.skip("minutes on a CPU")
    size = 2**32 + 2**20
    if device.capabilities.memory < 2 * size:
        pytest.skip(f"{device!r} has no room for {size} bytes")
    x = gpuprims.map("x + 3", device.driver.zeros((size,), np.dtype(np.uint8)))
    try:
        for variant in (None, "global_atomic"):
            counts = gpuprims.bincount(x, minlength=4, variant=variant)
            assert on_host(device, counts).tolist() == [0, 0, 0, size]
    finally:
        del x
        release_pools()


# Choice and errors ---------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("error", "message", "how"),
    [
        (ArgumentError, "a positive number of bins, or their edges; got 0", {"bins": 0}),
        (ArgumentError, "a positive number of bins, or their edges; got 2.5", {"bins": 2.5}),
        (ArgumentError, "a number of bins, or their edges; got 'auto'", {"bins": "auto"}),
        (ArgumentError, "bin edges must not decrease or be NaN", {"bins": [0, 2, 1]}),
        (ArgumentError, "bin edges must not decrease or be NaN", {"bins": [0, np.nan]}),
        (ArgumentError, "two edges or more", {"bins": [1]}),
        (ArgumentError, "two edges or more, of real numbers", {"bins": ["a", "b"]}),
        (ShapeError, "edges of one dimension", {"bins": [[0, 1], [2, 3]]}),
        (ArgumentError, "range= of finite numbers", {"range": (1, 0)}),
        (ArgumentError, "range= of finite numbers", {"range": (0, np.inf)}),
        (ArgumentError, r"range=\(low, high\)", {"range": 3}),
        (ArgumentError, r"range=\(low, high\)", {"range": (0j, 1j)}),
        (ArgumentError, "a number of bins, or their edges", {"bins": [[1], [2, 3]]}),
        (ArgumentError, "at most 2\\^30 bins", {"bins": 2**31}),
        (ArgumentError, "bins that floats can tell apart", {"bins": 10, "range": (1.0, np.nextafter(1, 2))}),
        (ShapeError, "weights of the array's shape", {"weights": [1, 2]}),
        (DtypeError, "real weights", {"weights": [1j, 2, 3]}),
        (AxisError, "from -1 to 0 for 1 dimension.*; got 1", {"axis": 1}),
        (AxisError, "an int or a tuple of ints; got True", {"axis": True}),
        (AxisError, "each axis once", {"axis": (0, 0)}),
    ],
)
def test_arguments_that_do_not_fit(device: gpuprims.Device, error: type, message: str, how: dict[str, Any]) -> None:
    with pytest.raises(error, match=message):
        gpuprims.histogram([1.0, 2.0, 3.0], device=device, **how)


def test_a_range_of_whole_numbers_beyond_int64(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match="a range of whole numbers that int64 holds"):
        gpuprims.histogram(np.arange(3, dtype=np.uint64), range=(0, 2**63), device=device)


def test_an_unknown_variant_of_nothing(device: gpuprims.Device) -> None:
    for call in (gpuprims.histogram, gpuprims.bincount):
        with pytest.raises(UnknownVariantError, match="abacus"):
            call(np.zeros(0, np.int64), device=device, variant="abacus")


def test_what_numpy_takes_too(device: gpuprims.Device) -> None:
    x = np.array([0.5, 1.5, 1.7])
    assert_histogram(gpuprims.histogram(x, np.array(2), device=device), np.histogram(x, np.array(2)))
    limits = np.array(0), np.array(2)
    assert_histogram(gpuprims.histogram(x, 2, limits, device=device), np.histogram(x, 2, limits))
    assert_equal(gpuprims.bincount([], device=device), np.bincount([]))
    weighed = gpuprims.histogram(2**24 + 1, [0, 2**24 + 1, 2**25], weights=np.float32(1), device=device)
    assert_histogram(weighed, np.histogram(2**24 + 1, [0, 2**24 + 1, 2**25], weights=np.float32(1)))


def test_edges_on_the_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 500)
    resident = on_device(device, x)
    counts, edges = gpuprims.histogram(resident, 7, (-2, 2), device=device)
    again, _ = gpuprims.histogram(resident, edges, device=device)
    assert_equal(on_host(device, again), on_host(device, counts))


def test_rows_of_bytes_in_more_bins_than_they_have_values(device: gpuprims.Device) -> None:
    x = np.array([[0, 200], [3, 4]], np.uint8)
    for limits in ((0, 1000), (1000, 2000), (-500, 500)):
        counts, _ = gpuprims.histogram(on_device(device, x), 1000, limits, axis=1, device=device)
        assert_equal(on_host(device, counts), np.array([np.histogram(row, 1000, limits)[0] for row in x]))


def test_many_short_rows_of_numbers(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, (3000, 4))
    expected = np.array([np.bincount(row, minlength=9) for row in x])
    assert_equal(gpuprims.bincount(x, axis=1, device=device), expected)


def test_elements_that_have_no_bin_at_all(device: gpuprims.Device) -> None:
    with pytest.raises(DtypeError, match="real numbers, which have an order; got dtype complex128"):
        gpuprims.histogram([1j], device=device)
    for bad in (np.nan, np.inf):
        with pytest.raises(ArgumentError, match="finite elements where range= is not given"):
            gpuprims.histogram([1, bad], device=device)
    with pytest.raises(DtypeError, match="integers; got dtype float64"):
        gpuprims.bincount([1.0], device=device)
    with pytest.raises(ArgumentError, match="at most 2\\^30 bins; got 18446744073709551616"):
        gpuprims.bincount(np.uint64([1, 2**64 - 1]), device=device)
    with pytest.raises(ShapeError, match="an array of one dimension, or axis="):
        gpuprims.bincount([[1]], device=device)
    for minlength in (-1, 2.5, None, True):
        with pytest.raises(ArgumentError, match=f"a whole minlength from 0 on; got {minlength}"):
            gpuprims.bincount([1], minlength=minlength, device=device)


def test_arrays_of_two_places(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("the reference device has no arrays of its own")
    resident = on_device(device, np.ones(3, np.float32))
    with pytest.raises(DeviceMismatchError):
        gpuprims.histogram(resident, weights=np.ones(3), device=device)
