"""Running folds that leave NaN out: every variant of every device against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import COMPLEX, FLOATS, Kernel, assert_equal
from scan_cases import COLUMNS, exclusively

import gpuprims

NUMPY: dict[str, Callable[..., Any]] = {
    "nansum": np.nancumsum,
    "nanprod": np.nancumprod,
    "nanmin": np.fmin.accumulate,
    "nanmax": np.fmax.accumulate,
}


def elements(rng: np.random.Generator, op: str, dtype: str, shape: Any) -> np.ndarray:
    """Return floats of which a third is NaN, also the first ones; their sums and products are exact."""
    choices = [-1.0, 1.0] if op == "nanprod" else [-1.0, 0.0, 0.0, 0.0, 1.0]
    x = rng.choice(choices, shape).astype(dtype)
    x[rng.random(shape) < 0.3] = np.nan
    x[:3] = np.nan
    return x


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
@pytest.mark.parametrize("op", NUMPY)
@pytest.mark.parametrize("shape", ["flat", "columns"])
def test_nan_is_left_out(scan_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str, shape: str) -> None:
    scan_kernel.need(dtype)
    x = elements(rng, op, dtype, scan_kernel.several_scanned if shape == "flat" else COLUMNS)
    expected = NUMPY[op](x, axis=0)
    assert_equal(scan_kernel.scan(x, op=op, axis=0), expected)
    identity = {"nansum": 0, "nanprod": 1}.get(op, np.nan)
    assert_equal(scan_kernel.scan(x, op=op, axis=0, inclusive=False), exclusively(expected, identity))


@pytest.mark.parametrize("op", ["nansum", "nanmax"])
def test_integers_have_no_nan(scan_kernel: Kernel, rng: np.random.Generator, op: str) -> None:
    x = rng.integers(-99, 99, scan_kernel.several_scanned).astype(np.int16)
    assert_equal(scan_kernel.scan(x, op=op), NUMPY[op](x))


def test_a_running_mean_and_place_count_numbers_alone(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, scan_kernel.several_scanned).astype(np.float32)
    x[rng.random(x.size) < 0.3] = np.nan
    x[:2] = np.nan
    with np.errstate(all="ignore"):
        expected = np.nancumsum(x) / np.cumsum(~np.isnan(x)).astype(np.float32)
    np.testing.assert_array_max_ulp(scan_kernel.scan(x, op="nanmean"), expected, 1)
    best = np.fmax.accumulate(x)
    new = np.concatenate([[False], ~np.isnan(best[1:]) & ~(best[1:] <= best[:-1])])
    places = np.where(np.isnan(best), -1, np.maximum.accumulate(np.where(new, np.arange(x.size), 0)))
    assert_equal(scan_kernel.scan(x, op="nanargmax"), places)


def test_running_extremes(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.standard_normal(scan_kernel.several_scanned).astype(np.float32)
    low, high = np.minimum.accumulate(x), np.maximum.accumulate(x)
    got = scan_kernel.scan(x, op="minmax")
    assert_equal(got[0], low)
    assert_equal(got[1], high)
    assert_equal(scan_kernel.scan(x, op="ptp"), high - low)


@pytest.mark.parametrize("op", NUMPY)
def test_segments_and_keys(device: gpuprims.Device, rng: np.random.Generator, op: str) -> None:
    x, offsets = elements(rng, op, "float32", 2000), [0, 700, 705, 2000]
    x[-1] = 1
    parts = np.split(x, offsets[1:-1])
    expected = np.concatenate([NUMPY[op](part) for part in parts])
    assert_equal(gpuprims.scan(x, op=op, segments=offsets, device=device), expected)
    keys = np.repeat([2, 0, 1], np.diff(offsets))
    assert_equal(gpuprims.scan(x, op=op, by=keys, device=device), expected)
