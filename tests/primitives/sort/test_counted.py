"""sort/counted, a radix sort for GPUs, on a CPU that it refuses in use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_cases import on_device, on_host

import gpuprims
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.registry import REGISTRY


def test_rows_of_several_tiles(device: gpuprims.Device, rng: np.random.Generator) -> None:
    found = [one for one in REGISTRY.variants("sort", device.backend) if one.name == "counted"]
    if not found:
        pytest.skip("the reference has no kernels")
    variant = replace(found[0], refuse=first_refusal(), geometry=Geometry(32, 3, 2))
    keys = np.where(rng.random((2, 9001)) < 0.3, np.float32(0), rng.standard_normal((2, 9001), np.float32))
    keys[:, ::7], keys[:, ::11] = np.nan, -0.0
    values = rng.random(keys.shape)
    order = np.argsort(keys, kind="stable")
    there = on_device(device, keys)

    got = gpuprims.sort_by_key(there, on_device(device, values), device=device, variant=variant)
    for one, expected in zip(got, (keys, values), strict=True):
        assert on_host(device, one).tobytes() == np.take_along_axis(expected, order, 1).tobytes()
    indices = gpuprims.argsort(there, device=device, variant=variant)
    assert np.array_equal(on_host(device, indices), order)
    falling = gpuprims.sort(there[0], descending=True, device=device, variant=variant)
    assert np.array_equal(on_host(device, falling), np.sort(keys[0])[::-1], equal_nan=True)
