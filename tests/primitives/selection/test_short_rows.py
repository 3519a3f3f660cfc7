"""selection/lanes and selection/sorted, for short rows on GPUs, on CPUs that they refuse in use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_cases import on_device, on_host, random_values

import gpuprims
from gpuprims.core.geometry import first_refusal
from gpuprims.core.registry import REGISTRY


@pytest.mark.parametrize("dtype", ["i1", "u2", "f2", "i4", "f4", "i8", "f8"])
@pytest.mark.parametrize(("name", "length"), [("lanes", 1), ("lanes", 2), ("lanes", 8), ("sorted", 3), ("sorted", 70)])
def test_ranks(device: gpuprims.Device, name: str, length: int, dtype: str, rng: np.random.Generator) -> None:
    found = [one for one in REGISTRY.variants("selection", device.backend) if one.name == name]
    if not found:
        pytest.skip("the reference has no kernels")
    x = random_values(rng, np.dtype(dtype), (150, length)) // 2
    x[rng.random(x.shape) < 0.3] = 1
    with REGISTRY.outranking(replace(found[0], refuse=first_refusal(), yields=None)), gpuprims.profile() as seen:
        there = on_device(device, x)
        got = gpuprims.quantile(there, [0.0, 0.4, 1.0], axis=1, method="lower", device=device)
        assert np.array_equal(on_host(device, got), np.quantile(x, [0.0, 0.4, 1.0], axis=1, method="lower"))
        columns = gpuprims.median(on_device(device, np.ascontiguousarray(x.T)), axis=0, device=device)
        assert np.array_equal(on_host(device, columns), np.median(x, axis=1))
        if dtype[0] == "f":
            x[rng.random(x.shape) < 0.2] = np.nan
            got = gpuprims.median(on_device(device, x), axis=1, device=device)
            assert np.array_equal(on_host(device, got), np.median(x, axis=1), equal_nan=True)
    kernels = {one.kernel for one in seen.launches}
    assert any(f"selection/{name}" in kernel for kernel in kernels)
    assert not any("selection/NumPy" in kernel for kernel in kernels)
