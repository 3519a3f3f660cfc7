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


# Elements on both sides of what nodes, the lanes of a tree and its blocks hold.
COLUMNS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 513, 1024, 1025, 1300, 1600, 1900, 2047, 2048, 3000, 4097, 5000, 7800, 16_385]


@pytest.mark.parametrize("size", COLUMNS)
def test_columns(device: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    need(device, "float64")
    for outputs in (17, 70, 300) if size < 5000 else (17, 130):
        x = rng.standard_normal((size, outputs))
        x[-1, -1], x[0, 0] = np.nan, -0.0
        _check(device, x.astype(np.float32), axis=0)
    _check(device, x[:, :70], axis=0, op="var")


@pytest.mark.parametrize("size", [6, 1600, 3000, 33_000])
def test_columns_in_other_layouts(device: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    """Rows that lie together are folded as one, but not if another operand's do not, or if a map takes the index."""
    need(device, "float32")
    x, y = rng.standard_normal((2, size, 24), dtype=np.float32)
    _check(device, x, y, map="x*y", axis=0)
    _check(device, x, y[0], map="x*y", axis=0)
    _check(device, x, y[:, :1], map="x*y", axis=0)
    _check(device, x[:, 1:], axis=0)
    _check(device, x[::-1], axis=0)
    _check(device, x.reshape(-1, 2, 12), axis=(0, 1))
    _check(device, x.reshape(2, -1, 24), axis=1)
    if device.capabilities.kind == "cpu" and device.backend == "opencl":
        found = gpuprims.reduce(x, op="argmax", axis=0, variant="cpu_fixed_columns", device=device)
        assert np.array_equal(found, x.argmax(axis=0))
