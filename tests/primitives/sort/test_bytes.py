"""Sorts of keys of one byte, which CPUs count, and what they carry, which moves once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_cases import on_device, on_host

import gpuprims
from gpuprims.core.registry import REGISTRY

# Elements of a chunk, and of a row; four or so groups for each unit share chunks.
_CHUNK, _SIZES = 64, (1, 63, 65, 9001)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("descending", [False, True])
def test_more_chunks_than_groups(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str, descending: bool
) -> None:
    found = [one for one in REGISTRY.variants("sort", device.backend) if one.name == "cpu_chunks"]
    if not found or device.capabilities.kind != "cpu":
        pytest.skip("the kernel is for CPUs")
    variant = replace(found[0], geometry=found[0].geometry._replace(items=_CHUNK))
    limits = np.iinfo(dtype)
    for n in _SIZES:
        keys = rng.integers(limits.min, limits.max + 1, (2, n)).astype(dtype)
        keys[1] //= 9  # some bytes are absent
        values = rng.random(keys.shape)
        order = np.argsort(~keys if descending else keys, kind="stable")
        there = on_device(device, keys)
        how = {"device": device, "variant": variant, "descending": descending}
        got = gpuprims.sort_by_key(there, on_device(device, values), **how)
        for one, expected in zip(got, (keys, values), strict=True):
            assert on_host(device, one).tobytes() == np.take_along_axis(expected, order, 1).tobytes()
        assert np.array_equal(on_host(device, gpuprims.argsort(there, **how)), order)
        assert np.array_equal(on_host(device, gpuprims.sort(there, **how)), np.take_along_axis(keys, order, 1))
