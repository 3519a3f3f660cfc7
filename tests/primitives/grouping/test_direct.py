"""Sums by integer keys of a small range, which go without a sort."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kernel_cases import need, on_device, on_host

import gpuprims
from gpuprims.operators import OPERATORS, Op
from gpuprims.primitives.grouping import direct
from gpuprims.primitives.grouping.groups import Groups


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few elements go without a sort too."""
    monkeypatch.setattr(direct, "_FEWEST", {})


def _sums(values: np.ndarray, keys: np.ndarray) -> np.ndarray:
    found, places = np.unique(keys, return_inverse=True)
    sums = np.zeros(found.size)
    np.add.at(sums, places.reshape(-1), values.reshape(-1).astype(np.float64))
    return sums.astype(values.dtype)


def _tolerance(values: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return what rounding may add to the sums: a part of the sums of sizes."""
    return np.asarray(4 * np.finfo(values.dtype).eps * _sums(np.abs(values), keys))


def _check(values: np.ndarray, keys: np.ndarray, device: gpuprims.Device) -> None:
    first, again = (gpuprims.reduce(values, by=keys, device=device) for _ in range(2))
    assert first.dtype == values.dtype
    assert first.tobytes() == again.tobytes()
    assert np.all(np.abs(first - _sums(values, keys)) <= _tolerance(values, keys))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_keys_of_every_dtype(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, "float64")
    for n in (1, 7, 5003):
        low = -90 if dtype.startswith("i") else 17
        keys = rng.integers(low, low + 200, n).clip(np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
        for kind in (np.float32, np.float64):
            _check(rng.standard_normal(n).astype(kind), keys, device)


def test_ranges_around_the_bounds(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(device, "float64")
    monkeypatch.setattr(direct, "_FEW", 64)
    values = rng.standard_normal(3000).astype(np.float32)
    for low, span in ((0, 374), (5, 375), (-4, 376), (2**40, 100), (2**53 - 60, 100), (-(2**63), 2)):
        _check(values, low + rng.integers(0, span, 3000), device)


def test_the_sort_and_the_bins_agree(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(device, "float64")
    x, keys = rng.standard_normal((60, 70)).astype(np.float32), rng.integers(0, 50, (60, 70)).astype(np.int32)
    binned = gpuprims.reduce(x[:, ::2], by=keys[:, ::2], device=device)
    monkeypatch.setattr(direct, "_FEW", 0)
    monkeypatch.setattr(direct, "_MOST", 0)
    by_sort = gpuprims.reduce(x[:, ::2], by=keys[:, ::2], device=device)
    np.testing.assert_allclose(binned, by_sort, rtol=1e-5, atol=1e-5)


def test_numbers_that_are_not_finite(device: gpuprims.Device) -> None:
    need(device, "float64")
    x = np.float32([1, np.inf, 2, np.nan, -np.inf, 3, np.inf, -np.inf])
    got = gpuprims.reduce(x, by=np.int32([0, 1, 0, 2, 3, 0, 4, 4]), device=device)
    np.testing.assert_array_equal(got, np.float32([6, np.inf, np.nan, -np.inf, np.nan]))


def test_keys_that_are_absent_and_sums_that_are_zero(device: gpuprims.Device) -> None:
    need(device, "float64")
    values = np.float32([1, -1, 0, 5, 2])
    for keys, expected in (([0, 0, 1, 2, 2], [0, 0, 7]), ([0, 0, 1, 3, 3], [0, 0, 7]), ([0, 1, 1, 3, 3], [1, -1, 7])):
        got = gpuprims.reduce(values, by=np.int32(keys), device=device)
        np.testing.assert_array_equal(got, np.float32(expected))


def test_arrays_of_the_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need(device, "float64")
    values, keys = rng.standard_normal(900).astype(np.float32), rng.integers(-3, 40, 900).astype(np.int32)
    resident = on_device(device, values)
    got = gpuprims.reduce(resident, by=on_device(device, keys), device=device)
    assert type(got) is type(resident)
    np.testing.assert_allclose(on_host(device, got), _sums(values, keys), rtol=1e-4, atol=1e-5)


def test_few_elements_are_sorted(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(device, "float64")
    values, keys = rng.standard_normal(900).astype(np.float32), rng.integers(0, 40, 900).astype(np.int32)
    groups = Groups("reduce", (values,), keys, device)
    assert direct.direct_sums(groups, OPERATORS["sum"], None) is not None
    monkeypatch.setattr(direct, "_FEWEST", {device.capabilities.kind: 901})
    assert direct.direct_sums(groups, OPERATORS["sum"], None) is None


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_distinct_integers_of_a_small_range(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, "float64")
    for n, low in ((1, 0), (7, 3), (5003, -90 if dtype.startswith("i") else 17)):
        x = (low + 3 * rng.integers(0, 30, n)).astype(dtype)
        assert direct.direct_distinct(x, device, counted=False) is not None
        distinct, counts = gpuprims.unique(x, return_counts=True, device=device)
        expected = np.unique(x, return_counts=True)
        assert (distinct.dtype, counts.dtype) == (expected[0].dtype, expected[1].dtype)
        np.testing.assert_array_equal(distinct, expected[0])
        np.testing.assert_array_equal(counts, expected[1])
        np.testing.assert_array_equal(gpuprims.unique(x.reshape(-1, 1), device=device), expected[0])


def test_other_elements_are_sorted(device: gpuprims.Device) -> None:
    wide, floats = np.int64([0, 2**40, 5] * 40), np.float32([1, 2, 1] * 40)
    for x in (wide, floats, floats > 1):
        assert direct.direct_distinct(x, device, counted=True) is None
        np.testing.assert_array_equal(gpuprims.unique(x, device=device), np.unique(x))


def test_exact_sums_of_more_bins_than_local_memory_holds(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(device, "float64")
    if device.capabilities.kind != "cpu":
        pytest.skip("GPUs have a group's sums in local memory")
    keys = np.concatenate([np.arange(5900), rng.integers(0, 5900, 60_000)]).astype(np.int32)
    x = (rng.standard_normal(keys.size) * 2.0 ** rng.integers(-60, 60, keys.size)).astype(np.float32)
    with gpuprims.use_determinism("order"):
        found = direct.exact_sums(Groups("reduce", (x,), keys, device), OPERATORS["sum"], None)
        counted = gpuprims.bincount(keys, weights=x, device=device)
        monkeypatch.setattr(direct, "direct_sums", lambda *_: None)
        by_sort = gpuprims.reduce(x, by=keys, device=device)
    assert found is not None
    assert found.tobytes() == by_sort.tobytes()
    order = np.argsort(keys, kind="stable")
    parts = np.split(x[order].astype(np.float64), np.flatnonzero(np.diff(keys[order])) + 1)
    exact = np.array([math.fsum(part) for part in parts])
    assert counted.tobytes() == exact.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["int64", "uint8"])
def test_exact_sums_by_bins_have_the_bits_of_a_sort(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: type, kind: str
) -> None:
    need(device, dtype)
    n, asked = 20_000, list[int]()
    keys = rng.integers(0, 200, n).astype(kind)
    x: np.ndarray = (rng.standard_normal(n) * 2.0 ** rng.integers(-60, 60, n)).astype(dtype)
    x[keys == 7], x[keys == 8], x[:50] = 0.0, -0.0, -x[50:100]
    special = x.copy()
    special[[3, 40, 500]] = np.inf, np.nan, -np.inf
    own = direct.direct_sums

    def noted(groups: Groups, op: Op, mapped: Any) -> Any:
        asked.append(groups.size)
        return own(groups, op, mapped)

    for values in (x, special):
        with np.errstate(invalid="ignore"), monkeypatch.context() as patched:
            patched.setattr(direct, "direct_sums", noted)
            by_bins = gpuprims.reduce(values, by=keys, device=device, determinism="order")
            patched.setattr(direct, "direct_sums", lambda *_: None)
            by_sort = gpuprims.reduce(values, by=keys, device=device, determinism="order")
        assert by_bins.dtype == by_sort.dtype
        assert by_bins.tobytes() == by_sort.tobytes()
    assert len(asked) == (0 if device.backend == "reference" else 2)
    with monkeypatch.context() as patched:
        patched.setattr(direct, "direct_sums", noted)
        gpuprims.reduce(x, by=keys, device=device, determinism="device")
    assert len(asked) < 3  # sums at "device" have the order of the elements
