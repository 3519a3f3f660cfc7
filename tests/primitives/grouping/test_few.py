"""Distinct integers of few values far apart, which a sample finds and one reading counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import need, on_device, on_host

import gpuprims
from gpuprims.primitives.grouping import few


@pytest.fixture(autouse=True)
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sample few elements, so that few are enough."""
    monkeypatch.setattr(few, "_FEWEST", {})
    monkeypatch.setattr(few, "_SAMPLED", 512)


def _found(device: gpuprims.Device, x: np.ndarray) -> tuple[Any, ...] | None:
    """Return what the sample finds, after a check of unique itself against NumPy's."""
    values, counts = np.unique(x, return_counts=True)
    got = gpuprims.unique(x, return_counts=True, device=device)
    assert (got[0].dtype, got[1].dtype) == (x.dtype, counts.dtype)
    assert np.array_equal(got[0], values)
    assert np.array_equal(got[1], counts)
    found = few.few_distinct(on_device(device, x), device, counted=True)
    if found is None:
        return None
    assert np.array_equal(on_host(device, found[0]), values)
    assert np.array_equal(on_host(device, found[1]), counts)
    return found


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_few_values_far_apart(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, "float64")
    info = np.iinfo(dtype)
    low, high = max(info.min, -(2**50)), min(info.max, 2**50)
    values = np.array([low, low + 1, 0, 5, 6, 7, high // 3, high - 1, high], dtype)
    assert _found(device, values[rng.integers(0, 9, 20_011)]) is not None
    assert _found(device, np.full(3000, high, dtype)) is not None


def test_values_that_the_sample_misses(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need(device, "float64")
    for other in (7_000_001, 6_999_999, 2**31 - 1, -(2**31)):
        x = np.int32([-9, 40_000, 7_000_000])[rng.integers(0, 3, 20_011)]
        assert _found(device, x) is not None
        x[-1] = other  # behind the last place of the sample
        assert _found(device, x) is None


def test_many_values_and_those_beyond_float64(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(device, "float64")
    assert _found(device, np.int64([0, 2**53 - 1])[rng.integers(0, 2, 2000)]) is None
    assert _found(device, rng.integers(0, 3, 511)) is None
    monkeypatch.setattr(few, "_MOST", 8)
    assert _found(device, rng.integers(0, 9, 5000) * 1_000_003) is None
    assert _found(device, rng.integers(0, 8, 5000) * 1_000_003) is not None
