"""scan/cpu_fixed: rows of few elements, and rows of whole runs, scanned as one, with the bits of the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, bits, need

import gpuprims
from gpuprims.primitives.fixed_scans import RUN, TILE


def _check(device: gpuprims.Device, *arrays: np.ndarray, **how: Any) -> None:
    with gpuprims.use_determinism("device"):
        got, wanted = (gpuprims.scan(*arrays, axis=-1, device=one, **how) for one in (device, "reference"))
    assert bits(got) == bits(wanted)


@pytest.mark.optimised  # compilers must not fold in another order
@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 48, 63, 64, 65, 80, 9 * RUN, 100, TILE // 2, TILE // 2 + RUN])
def test_rows(device: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    need(device, "float32")
    for outputs in (1, 7, 300):
        x = rng.standard_normal((outputs, size)).astype(np.float32)
        x[0, : size // 2], x[-1, -1] = -0.0, np.nan
        _check(device, x)
        _check(device, x, inclusive=False)


@pytest.mark.parametrize("size", [3, 2 * RUN, 3 * RUN + 5])
def test_rows_in_other_layouts(device: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    """Rows that do not lie together, and elements or results that are counted, are scanned row by row."""
    need(device, "float64")
    x, y = rng.uniform(0.5, 1.5, (2, 40, 2 * size)).astype(np.float32)
    _check(device, x[:, ::2])
    _check(device, x[:, :size])
    _check(device, x.reshape(-1, size)[::-1])
    _check(device, x.reshape(-1, size), reverse=True)
    _check(device, x.reshape(20, 4, size)[:, 1:])
    _check(device, x.reshape(-1, size), y.reshape(-1, size), op=AFFINE)
    _check(device, x.reshape(-1, size), y[0, :size], map="x*y")
    _check(device, x.reshape(-1, size), op="mean")
    _check(device, x.reshape(-1, size).astype(np.float64), op="prod", inclusive=False)
    z = device.asarray(x.reshape(-1, size).copy())
    wanted = gpuprims.scan(x.reshape(-1, size), axis=1, device="reference", determinism="device")
    assert bits(device.to_host(gpuprims.scan(z, axis=1, out=z, determinism="device"))) == bits(wanted)
