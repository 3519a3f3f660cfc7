"""segments/cpu_tiles: folds of segments in an order that is the same on every device."""

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
    with np.errstate(all="ignore"):
        got = gpuprims.reduce(*arrays, device=device, determinism="device", variant="cpu_tiles", **how)
        expected = gpuprims.reduce(*arrays, device="reference", determinism="device", **how)
    for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, expected)), strict=True):
        assert bits(one) == bits(other)


def test_begins_and_ends_of_runs_and_tiles(device: gpuprims.Device, rng: np.random.Generator) -> None:
    """Segments that begin and end beside each end of a run, a tile and a run of tiles, and cross some of them."""
    n = 2 * RUN * TILE + 3 * TILE + 5
    ends = [RUN, 3 * RUN, TILE, 3 * TILE, RUN * TILE, (RUN + 5) * TILE, 2 * RUN * TILE]
    x = rng.standard_normal(n).astype(np.float32)
    for by in (-1, 0, 1):
        for some in (ends, ends[::2], ends[1::3], ends[4:5], ends[-1:]):
            assert_bits_of_the_reference(device, x, segments=[0, *(end + by for end in some), n])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("op", ["sum", "mean", "prod"])
def test_any_lengths(device: gpuprims.Device, rng: np.random.Generator, dtype: Any, op: str) -> None:
    for n, count in ((1, 1), (17, 5), (5000, 3), (5000, 900), (70_000, 40)):
        x = rng.uniform(0.9, 1.1, n).astype(dtype)
        offsets = np.sort(np.r_[0, rng.integers(0, n + 1, count - 1), n])  # some are empty
        assert_bits_of_the_reference(device, x, op=op, segments=offsets)
        assert_bits_of_the_reference(device, x[::-1], op=op, segments=offsets)


def test_operators_that_do_not_commute_and_special_values(device: gpuprims.Device, rng: np.random.Generator) -> None:
    n = 2 * TILE + 100
    pairs = rng.uniform(0.99, 1.01, (2, n)).astype(np.float32)
    offsets = [0, 5, 40, TILE - 3, TILE + 70, n]
    assert_bits_of_the_reference(device, *pairs, op=AFFINE, segments=offsets)
    x = rng.standard_normal(n).astype(np.float32)
    x[[3, 39, 4000]] = np.nan, np.inf, -np.inf
    x[5:20] = -0.0
    assert_bits_of_the_reference(device, x, segments=offsets)


def test_many_elements_are_refused(device: gpuprims.Device) -> None:
    (variant,) = (one for one in REGISTRY.variants("segments", "opencl") if one.name == "cpu_tiles")
    assert variant.refuse(device.capabilities, replace(FLAT, size=TILE * TILE)) is None
    assert "at most 16777216" in str(variant.refuse(device.capabilities, replace(FLAT, size=TILE * TILE + 1)))
