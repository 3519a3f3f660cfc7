"""Quantiles and partitions of NumPy arrays, whose ranks are selected one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need, random_values

import gpuprims
from gpuprims.primitives.selection.by_numpy import select


def test_ranks_find_their_elements_in_any_order(rng: np.random.Generator) -> None:
    for ranks in ([0], [299], [7, 3, 3, 4, 299, 0], list(range(0, 300, 9))):
        x = rng.integers(0, 90, (3, 300))
        expected = np.sort(x)
        select(x, np.array(ranks))
        np.testing.assert_array_equal(x[:, ranks], expected[:, ranks])
        np.testing.assert_array_equal(np.sort(x), expected)


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("dtype", ["int64", "uint32", "float32", "float64"])
@pytest.mark.parametrize("n", [16_385, 70_000])
def test_many_elements(device: gpuprims.Device, rng: np.random.Generator, dtype: str, n: int) -> None:
    for x in (random_values(rng, dtype, n), rng.integers(1, 9, n).astype(dtype)):
        assert_equal(gpuprims.median(x, device=device), np.median(x))
        for method in ("linear", "lower", "midpoint"):
            for q in (0.3, [0.9, 0, 0.5], np.linspace(0, 1, 20)):
                got = gpuprims.quantile(x, q, method=method, device=device)
                np.testing.assert_allclose(got, np.quantile(x, q, method=method), rtol=1e-6)
        got, k = gpuprims.partition(x, [n // 3, n // 2], device=device), [n // 3, n // 2]
        np.testing.assert_array_equal(got[k], np.sort(x)[k])
        np.testing.assert_array_equal(np.sort(got), np.sort(x))
    if x.dtype.kind == "f":
        x[5], x[7::3] = np.nan, -0.0
        assert np.isnan(gpuprims.median(x, device=device))


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), (1, 2), None])
def test_quantiles_along_axes(device: gpuprims.Device, rng: np.random.Generator, dtype: str, axis: Any) -> None:
    for n in (6, 7):
        x = (rng.standard_normal((5, 9, n)) * 50).astype(dtype)
        for given in (x, x[:, ::-2], np.asfortranarray(x)):
            for keepdims in (False, True):
                how: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
                found, expected = gpuprims.median(given, **how, device=device), np.median(given, **how)
                np.testing.assert_allclose(found, expected, rtol=1e-6)
                exact = given if given.dtype.kind == "f" else given.astype(np.float64)  # NumPy's differences overflow
                for q in (0.3, [0.9, 0, 0.5], [[0.2, 1]]):
                    found, expected = gpuprims.quantile(given, q, **how, device=device), np.quantile(exact, q, **how)
                    assert found.shape == expected.shape
                    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        if x.dtype.kind == "f":
            x[2, 3, 1] = np.nan
            found, expected = gpuprims.median(x, axis, device=device), np.median(x, axis)
            np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))


@pytest.mark.usefixtures("either_computes")
def test_differences_of_integers_do_not_overflow(device: gpuprims.Device, rng: np.random.Generator) -> None:
    for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint64"):
        need(device, dtype)
        limits = np.iinfo(dtype)
        x = rng.choice(np.array([limits.min, limits.max, 0, 1], dtype), (40, 7))
        for axis in (0, 1, None):
            for q in (0.3, [[0.21, 0.74]]):
                for method in ("linear", "midpoint", "hazen"):
                    how: dict[str, Any] = {"axis": axis, "method": method}
                    expected = np.quantile(x.astype(np.float64), q, **how)
                    atol = 1e-9 * limits.max
                    np.testing.assert_allclose(gpuprims.quantile(x, q, **how, device=device), expected, atol=atol)
            found = gpuprims.median(x, axis, device=device)
            np.testing.assert_allclose(found, np.median(x.astype(np.float64), axis), atol=1e-9 * limits.max)


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("n", [2**13 - 1, 2**13, 2**13 + 1, 70_001])
def test_one_rank_keeps_the_order_of_others(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str, n: int
) -> None:
    need(device, dtype)
    few = (rng.integers(-40, 40, n) / 4).astype(dtype)
    nans, zeros = few.copy(), few.copy()
    if few.dtype.kind == "f":
        nans[rng.random(n) < 0.3], zeros[rng.random(n) < 0.5] = np.nan, -0.0
    for x in (few, few[::-1], np.repeat(few, 2)[::2], nans, zeros):
        for rank in (0, n // 2, n - 1, -5):
            pivot = np.sort(x)[rank]
            before = x < pivot if pivot == pivot else x == x
            same = x == pivot if pivot == pivot else x != x
            expected = np.concatenate([before.nonzero()[0], same.nonzero()[0], (~before & ~same).nonzero()[0]])
            assert_equal(gpuprims.argpartition(x, rank, device=device), expected)
            assert_equal(gpuprims.partition(x, rank, device=device), x[expected])
