"""scan/cpu_fixed_columns: sums down columns in an order that is the same on every device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, FLAT, bits, need_cpu

import gpuprims
from gpuprims.core.registry import REGISTRY

RUN, TILE = 16, 4096


@pytest.fixture(autouse=True)
def on_cpus(device: gpuprims.Device) -> None:
    need_cpu(device)


def assert_bits_of_the_reference(device: gpuprims.Device, *arrays: np.ndarray, **how: Any) -> None:
    how = {"axis": 0, "determinism": "device"} | how
    got = gpuprims.scan(*arrays, device=device, variant="cpu_fixed_columns", **how)
    assert bits(got) == bits(gpuprims.scan(*arrays, device="reference", **how))


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (1, 16),
        (RUN - 1, 17),
        (RUN, 33),
        (RUN + 1, 300),
        (TILE, 16),
        (TILE + 1, 20),
        (TILE + RUN, 16),
        (RUN * TILE + 9, 16),
    ],
)
def test_ends_of_runs_tiles_and_strips(
    device: gpuprims.Device, rng: np.random.Generator, rows: int, columns: int
) -> None:
    assert_bits_of_the_reference(device, rng.standard_normal((rows, columns)).astype(np.float32))


@pytest.mark.parametrize("how", [{"inclusive": False}, {"reverse": True}, {"op": "prod"}], ids=str)
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_dtypes_and_keywords(
    device: gpuprims.Device, rng: np.random.Generator, dtype: Any, how: dict[str, Any]
) -> None:
    assert_bits_of_the_reference(device, rng.uniform(0.9, 1.1, (2 * TILE + 5, 19)).astype(dtype), **how)


def test_operators_that_do_not_commute(device: gpuprims.Device, rng: np.random.Generator) -> None:
    pairs = rng.uniform(0.99, 1.01, (2, 5 * RUN + 3, 21)).astype(np.float32)
    assert_bits_of_the_reference(device, *pairs, op=AFFINE)


def test_layouts(device: gpuprims.Device, rng: np.random.Generator) -> None:
    """Columns of several blocks, with gaps between rows, of special values, and in place."""
    x = rng.standard_normal((3, 700, 40)).astype(np.float32)
    x[0, 5, 3], x[1, 600, 7], x[2, 0, 0] = np.nan, np.inf, -0.0
    assert_bits_of_the_reference(device, x, axis=1)
    assert_bits_of_the_reference(device, x[:, :, :25], axis=1)
    own, expected = x[0].copy(), gpuprims.scan(x[0], axis=0, device="reference", determinism="device")
    gpuprims.scan(own, axis=0, out=own, device=device, determinism="device", variant="cpu_fixed_columns")
    assert bits(own) == bits(expected)


def test_other_calls_are_refused(device: gpuprims.Device) -> None:
    with pytest.raises(gpuprims.errors.NoVariantError, match="is for 16 or more outputs"):
        gpuprims.scan(
            np.ones((100, 15), np.float32), axis=0, device=device, determinism="device", variant="cpu_fixed_columns"
        )
    (variant,) = (one for one in REGISTRY.variants("scan", "opencl") if one.name == "cpu_fixed_columns")
    columns = replace(FLAT, size=TILE * TILE, outputs=16, side_by_side=True)
    assert variant.refuse(device.capabilities, columns) is None
    assert "at most 16777216" in str(variant.refuse(device.capabilities, replace(columns, size=TILE * TILE + 1)))
