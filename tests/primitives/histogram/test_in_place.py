"""Warm calls of short arrays of the host: the same counts as NumPy's, whatever the next array holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.primitives.histogram import calls, here, in_place

BINS: dict[str, Any] = {"few": 10, "many": 300, "edges": np.array([-2, -0.5, 0, 1, 1.5])}


@pytest.mark.parametrize("limits", [None, (-1, 2)], ids=["sought", "range"])
@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8", "int64", "bool"])
def test_warm_calls_count_as_numpy(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str, bins: str, limits: tuple[int, int] | None
) -> None:
    need(device, "float64")
    for size in (1, 2, 1000, 30_000):
        for scale in (1, 1, 1, 40, 1):
            x = (rng.standard_normal(size) * scale).astype(dtype)
            counts, edges = gpuprims.histogram(x, BINS[bins], limits, device=device)
            with gpuprims.use_device(device):  # which warm calls follow
                again, found = gpuprims.histogram(x, BINS[bins], limits)
            plain = x.astype(np.uint8) if dtype == "bool" else x
            expected, bounds = np.histogram(plain, BINS[bins], limits)
            for got in (counts, again):
                assert_equal(got, expected)
            np.testing.assert_array_equal(found, bounds)
            np.testing.assert_array_equal(edges, bounds)


def test_results_of_warm_calls_are_new(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.random(1000, dtype=np.float32)
    with gpuprims.use_device(device):
        for limits in (None, (0, 1)):
            for bins in (10, 300):
                first = [gpuprims.histogram(x, bins, limits) for _ in range(3)]
                for counts, edges in first:
                    counts[:], edges[:] = -1, -1
                counts, edges = gpuprims.histogram(x, bins, limits)
                assert_equal(counts, np.histogram(x, bins, limits)[0])
                assert edges.min() >= 0


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_warm_call_finds_what_is_not_finite(device: gpuprims.Device, rng: np.random.Generator, wrong: float) -> None:
    x = rng.random(1000, dtype=np.float32)
    with gpuprims.use_device(device):
        for _ in range(3):
            gpuprims.histogram(x)
        x[77] = wrong
        with pytest.raises(ArgumentError, match="histogram: finite elements where range= is not given"):
            gpuprims.histogram(x)
        x[77] = 5
        assert_equal(gpuprims.histogram(x)[0], np.histogram(x)[0])


def test_strided_arrays_and_rows(device: gpuprims.Device, rng: np.random.Generator) -> None:
    for _ in range(4):
        x = rng.random((60, 50), dtype=np.float32)
        with gpuprims.use_device(device):
            for view in (x[::2, ::3], x.T, x[::-1]):
                for how in ({"range": (0, 1)}, {}):
                    assert_equal(gpuprims.histogram(view, 300, **how)[0], np.histogram(view, 300, **how)[0])
            rows, _ = gpuprims.histogram(x, 30, (0, 1), axis=1)
            weighted, _ = gpuprims.histogram(x, 30, (0, 1), weights=x.astype(np.float64))
        assert_equal(rows, np.array([np.histogram(row, 30, (0, 1))[0] for row in x]))
        np.testing.assert_allclose(weighted, np.histogram(x, 30, (0, 1), weights=x)[0], rtol=1e-6)


@pytest.mark.parametrize("minlength", [0, 40, 500])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64"])
def test_numbers_of_other_lengths_than_the_last(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str, minlength: int
) -> None:
    for size in (1, 300, 20_000):
        for highest in (100, 100, 90, 3, 120, 1, 120, 127):
            x = rng.integers(0, highest, size, endpoint=True).astype(dtype)
            with gpuprims.use_device(device):
                assert_equal(gpuprims.bincount(x, minlength=minlength), np.bincount(x, minlength=minlength))


def test_a_warm_bincount_finds_negative_numbers(device: gpuprims.Device) -> None:
    x = np.arange(1000) % 50
    with gpuprims.use_device(device):
        for _ in range(3):
            gpuprims.bincount(x)
        x[7] = -3
        with pytest.raises(ArgumentError, match="bincount: non-negative elements; got -3"):
            gpuprims.bincount(x)
        x[7] = 5000
        assert_equal(gpuprims.bincount(x), np.bincount(x))
        assert_equal(gpuprims.bincount(x[::2]), np.bincount(x[::2]))


def test_short_calls_take_the_short_way(device: gpuprims.Device, rng: np.random.Generator, monkeypatch: Any) -> None:
    if not hasattr(device.driver, "runner_in_place") or not device.driver.shares_host_memory:
        pytest.skip("kernels that work in the host's memory")
    seen: list[str] = []
    for name in ("counting", "run_between"):
        made = getattr(in_place, name)
        monkeypatch.setattr(in_place, name, lambda *given, made=made, name=name: seen.append(name) or made(*given))
    x, numbers = rng.random(777, dtype=np.float32), rng.integers(0, 66, 777)
    with gpuprims.use_device(device):
        for _ in range(3):
            gpuprims.histogram(x, 11)
            gpuprims.histogram(x, 11, (0, 2))
            gpuprims.bincount(numbers)
    assert sorted(seen) == ["counting", "counting", "run_between"]


def test_calls_with_a_device_find_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    described = list[Any]()

    def weighed(*call: Any) -> Any:
        described.append(call)
        return calls.weighed(*call)

    monkeypatch.setattr(here, "weighed", weighed)
    for _ in range(6):  # earlier ones are forgotten once a module in C is there
        counts, _ = gpuprims.histogram(np.float32([0.5, 0.1, 0.6, 0.1]), 4, (0, 1), device="reference")
        np.testing.assert_array_equal(counts, [2, 0, 2, 0])
    assert len(described) < 6


def test_numpy_finds_the_limits_of_few_integers(
    device: gpuprims.Device, rng: np.random.Generator, numpy_computes: None
) -> None:
    x = rng.integers(0, 100, 1023)
    weights = rng.random(x.shape)
    found = gpuprims.bincount(x, weights=weights, device=device)
    np.testing.assert_allclose(found, np.bincount(x, weights), rtol=1e-13)
    for one, other in zip(gpuprims.histogram(x, 7, device=device), np.histogram(x, 7), strict=True):
        np.testing.assert_array_equal(one, other)
    x[400] = -5
    with pytest.raises(ArgumentError, match="got -5"):
        gpuprims.bincount(x, weights=weights, device=device)
