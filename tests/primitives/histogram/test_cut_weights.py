"""histogram/cpu_exact: float weights that are cut in two numbers, of which float64 hold exact sums, and others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import as_it_stands, need_cpu

import gpuprims

# Spreads of exponents around the widest that can be cut, for a part of up to 2^7 and of up to 2^12 weights.
WIDEST: dict[tuple[Any, int], int] = {(np.float32, 100): 106 - 24 - 2 * 7, (np.float32, 4000): 106 - 24 - 2 * 12}
WIDEST |= {(np.float64, 100): 106 - 53 - 2 * 7, (np.float64, 4000): 106 - 53 - 2 * 12}


@pytest.fixture(autouse=True)
def on_cpus(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    need_cpu(device)
    as_it_stands(monkeypatch)


def assert_bits_of_the_reference(device: gpuprims.Device, keys: np.ndarray, weights: np.ndarray) -> None:
    how: dict[str, Any] = {"minlength": 5, "determinism": "order"}
    expected = gpuprims.bincount(keys, weights, device="reference", **how)
    assert gpuprims.bincount(keys, weights, device=device, variant="cpu_exact", **how).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("dtype", "size"), WIDEST)
def test_spreads_of_exponents(device: gpuprims.Device, rng: np.random.Generator, dtype: Any, size: int) -> None:
    """Around the widest spread, at the least and the largest exponents, with full mantissas that carry most."""
    own = np.finfo(dtype)
    full = dtype(2) - own.eps
    for spread in (0, *range(WIDEST[dtype, size] - 3, WIDEST[dtype, size] + 3)):
        for highest in (own.minexp + spread, spread // 2, own.maxexp - 30):
            exponents = rng.integers(highest - spread, highest + 1, size)
            exponents[:2] = highest - spread, highest
            weights = np.ldexp(np.where(rng.random(size) < 0.5, full, rng.uniform(1, 2, size)), exponents).astype(dtype)
            signs = rng.choice([-1, 1], size).astype(dtype)
            assert_bits_of_the_reference(device, rng.integers(0, 5, size), weights * signs)
            assert_bits_of_the_reference(device, np.ones(size, int), np.sort(weights))  # of one sign


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_that_need_all_bits(device: gpuprims.Device, rng: np.random.Generator, dtype: Any) -> None:
    """As many numbers as the bits have room for, and then some that have the last bits of upper or lower numbers."""
    size = 4096 - 64  # whole rounds, and 12 bits of carries
    for spread in 4 * [*range(WIDEST[dtype, 4000], WIDEST[dtype, 4000] + 4)]:  # some sums are right by luck
        unit = spread + 1 + 12 - 53  # the exponent of the last bit of upper numbers
        for many, last in ((spread, unit + 10), (unit - 2, 0)):
            exponents = np.r_[0, spread, spread, np.full(size - 503, many), np.full(500, last)]
            weights = np.ldexp(rng.uniform(1.9, 2, size), exponents).astype(dtype)
            weights[2] = -weights[1]
            assert_bits_of_the_reference(device, np.ones(size, int), weights)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_subnormal_and_special_weights(device: gpuprims.Device, rng: np.random.Generator, dtype: Any) -> None:
    size = 64 * 3 + 1
    keys, near = rng.integers(0, 5, size), rng.standard_normal(size).astype(dtype)
    zeros = np.where(rng.random(size) < 0.5, dtype(-0.0), near)
    least = (rng.integers(-9, 9, size) * np.finfo(dtype).smallest_subnormal).astype(dtype)
    for weights in (near, zeros, least, near * 0, -near * 0, np.where(keys == 2, dtype(np.inf), near)):
        for stop in (1, 2, 63, 64, 65, size):
            assert_bits_of_the_reference(device, keys[:stop], weights[:stop])
