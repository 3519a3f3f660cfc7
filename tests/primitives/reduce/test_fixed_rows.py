"""reduce/cpu_fixed and cpu_fixed_columns: rows of few neighbours, and columns, with the bits of the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import bits, need

import gpuprims


def _check(device: gpuprims.Device, *arrays: np.ndarray, **how: Any) -> None:
    with gpuprims.use_determinism("device"):
        got, wanted = (gpuprims.reduce(*arrays, device=one, **how) for one in (device, "reference"))
    assert bits(got) == bits(wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65])
def test_rows(device: gpuprims.Device, rng: np.random.Generator, dtype: str, size: int) -> None:
    need(device, dtype)
    for outputs in (1, 15, 16, 17, 2051):
        x = rng.standard_normal((outputs, size)).astype(dtype)
        x[0, : size // 2], x[-1, -1] = -0.0, np.nan
        for op in ("sum", "var", "prod"):
            _check(device, x, axis=1, op=op)


@pytest.mark.parametrize("size", [8, 16, 64])
def test_rows_in_other_layouts(device: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    need(device, "float32")
    x = rng.standard_normal((300, 2 * size), dtype=np.float32)
    y = rng.standard_normal(size, dtype=np.float32)
    _check(device, x[:, ::2], axis=1)
    _check(device, x[::-1, size:], axis=1)
    _check(device, x[:, size - 1 :: -1], axis=1)
    _check(device, x[:, :size], y, map="x*y", axis=1)
    _check(device, x[:, :size].reshape(300, size), axis=1, map="x*x", where=x[:, size:] > 0)
    # Rows of several pieces: the elements of an output do not lie at one stride.
    _check(device, np.ascontiguousarray(x).reshape(4, 150, size // 4, 2, 2)[..., 0], axis=(0, 2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 3, 511, 512, 513, 1024, 1025, 5000, 16_385])
def test_columns(device: gpuprims.Device, rng: np.random.Generator, dtype: str, size: int) -> None:
    need(device, dtype)
    for outputs in (65, 300) if size < 5000 else (70,):
        x = rng.standard_normal((size, outputs)).astype(dtype)
        x[-1, -1], x[0, 0] = np.nan, -0.0
        for op in ("sum", "var"):
            _check(device, x, axis=0, op=op)
