"""Kernels for long rows of weights, against sums in float64 or of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_calls import CompilingDriver, resident
from kernel_cases import assert_equal, need
from stencil_cases import by_kernels

import gpuprims
from gpuprims.cli.text_driver import usual_device

KERNELS = ("long_rows", "cpu_long_rows", None)
PADS: dict[str, Any] = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap"}


def expected(x: np.ndarray, weights: np.ndarray, mode: str) -> np.ndarray:
    """Return the sums along the last axis, of rows padded by NumPy; beyond mode "constant" is 2."""
    before = len(weights) // 2
    pads = [(0, 0)] * (x.ndim - 1) + [(before, before)]
    how: Any = {"mode": PADS[mode]} if mode in PADS else {"mode": "constant", "constant_values": 2}
    padded = np.pad(x, pads, **how)
    return np.apply_along_axis(lambda row: np.convolve(row, weights[::-1], "valid"), -1, padded)


def results(device: gpuprims.Device, x: np.ndarray, weights: np.ndarray, **how: Any) -> list[np.ndarray]:
    return by_kernels(device, KERNELS, lambda name: gpuprims.stencil(x, weights, device=device, variant=name, **how))


@pytest.mark.parametrize("mode", ["nearest", "reflect", "mirror", "wrap", "constant"])
@pytest.mark.parametrize("length", [41, 63, 161, 301, 2101])
def test_integers(device: gpuprims.Device, rng: np.random.Generator, length: int, mode: str) -> None:
    weights = rng.integers(-9, 9, length)
    for shape in ((1,), (70,), (5000,), (60, 8), (37, 90), (2, 3, 300)):
        x = rng.integers(-99, 99, shape).astype(np.int32)
        for got in results(device, x, weights, mode=mode, cval=2):
            assert_equal(got, expected(x.astype(np.int64), weights, mode).astype(np.int32))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
@pytest.mark.parametrize("length", [45, 129, 601])
def test_dtypes_and_places(device: gpuprims.Device, rng: np.random.Generator, length: int, dtype: str) -> None:
    need(device, dtype)
    weights = rng.random(length) / length
    whole = (100 * rng.random((9, 2300))).astype(dtype)
    close = {"uint8": 1, "float16": 0.1, "float32": 1e-4, "float64": 1e-12}[dtype]
    for x in (whole, whole[1:, 3:], whole[::2, 5:70], whole.T[:200]):
        sums = expected(x.astype(np.float64), weights, "mirror")
        for got in results(device, x, weights, mode="mirror"):
            assert got.dtype == dtype
            assert np.abs(got - sums).max() <= close


def test_a_sum_has_the_same_bits_wherever_it_is_computed(device: gpuprims.Device, rng: np.random.Generator) -> None:
    """A kernel adds neighbours in their order, so neither the tile nor the row decides the rounding."""
    weights = rng.standard_normal(161)
    row = rng.standard_normal(5000).astype(np.float32)
    for name in KERNELS:
        whole, *again = by_kernels(device, [name] * 3, lambda one: _sums(device, row, weights, one)) or [None]
        if whole is None:
            continue
        assert all(whole.tobytes() == one.tobytes() for one in again)
        for first, length in ((3, 4000), (1003, 700), (2500, 200)):
            part = _sums(device, row[first : first + length], weights, name)
            assert part[80:-80].tobytes() == whole[first + 80 : first + length - 80].tobytes()


def _sums(device: gpuprims.Device, row: np.ndarray, weights: np.ndarray, name: str | None) -> np.ndarray:
    found: np.ndarray = gpuprims.stencil(np.ascontiguousarray(row), weights, device=device, variant=name)
    return found


@pytest.mark.parametrize("length", [29, 63, 65, 1025, 2101])
@pytest.mark.parametrize("ends", [0, 3])
def test_equal_weights(device: gpuprims.Device, rng: np.random.Generator, length: int, ends: int) -> None:
    weights = np.full(length, -3)
    weights[: 2 * ends], weights[length - ends :] = 0, 0
    for shape in ((1,), (5000,), (60, 8), (37, 90), (2, 3, 300)):
        x = rng.integers(-99, 99, shape).astype(np.int32)
        sums = expected(x.astype(np.int64), weights, "reflect")
        for got in results(device, x, weights, mode="reflect"):
            assert_equal(got, sums.astype(np.int32))
        for got in results(device, (x / 64).astype(np.float32), weights / length, mode="reflect"):
            # Of one element, all that is added is the same, and rounds the same way.
            np.testing.assert_allclose(got, sums / 64 / length, rtol=length * 2.0**-25, atol=3e-6)


def test_equal_weights_do_not_overflow_and_keep_nan_apart(device: gpuprims.Device) -> None:
    x = np.full(3000, 3e38, np.float32)
    x[[1400, 2500]] = np.nan, np.inf
    for got in results(device, x, np.full(63, 1 / 63)):
        apart = np.isnan(got)
        assert np.array_equal(np.flatnonzero(apart), np.arange(1400 - 31, 1400 + 32))
        assert np.array_equal(np.flatnonzero(np.isinf(got)), np.arange(2500 - 31, 2500 + 32))
        assert np.isclose(got[~apart & np.isfinite(got)], np.float32(3e38)).all()


def test_zeros_among_weights_keep_nan_out(device: gpuprims.Device, rng: np.random.Generator) -> None:
    weights = rng.random(91)
    weights[::4] = 0
    x = rng.random(3000).astype(np.float32)
    x[[5, 1500, 2990]] = np.nan, np.inf, -np.inf
    for got in results(device, x, weights, mode="constant"):
        inside = np.isfinite(got[1400:1600])
        assert np.count_nonzero(~inside) == np.count_nonzero(weights)


@pytest.mark.parametrize(
    ("shape", "name"), [((2**20,), "long_rows"), ((1, 2**20), "long_rows"), ((500, 2000), "rolling")]
)
def test_an_array_of_one_row_takes_them_for_few_weights(shape: tuple[int, ...], name: str) -> None:
    driver = CompilingDriver("cuda", usual_device("gpu", 32))
    for weights in (np.arange(1.0, 30), np.arange(2.0, 31)):
        gpuprims.stencil(resident(*shape), weights, device=gpuprims.Device._of(driver))
    assert {variant.name for variant, _ in driver.asked} == {name}
    assert len(driver.asked) == (1 if name == "long_rows" else 2)  # other weights need no other kernel


@pytest.mark.parametrize(("shape", "lanes"), [((2**20,), 128), ((1000, 700), 16), ((500, 100), 8)])
def test_short_rows_share_a_group_on_gpus(shape: tuple[int, ...], lanes: int) -> None:
    driver = CompilingDriver("cuda", usual_device("gpu", 32))
    gpuprims.stencil(resident(*shape), np.arange(1.0, 90), device=gpuprims.Device._of(driver))
    ((variant, spec),) = driver.asked
    assert (variant.name, spec.block.lanes) == ("long_rows", lanes)
