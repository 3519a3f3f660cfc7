"""top_k/lanes, for short rows on GPUs, on CPUs that it refuses in use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_cases import on_device, on_host, random_values

import gpuprims
from gpuprims.core.geometry import first_refusal
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import NoVariantError


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "f2", "i4", "f4", "i8", "f8"])
@pytest.mark.parametrize("length", [1, 3, 7])
def test_first_of_rows(device: gpuprims.Device, length: int, dtype: str, rng: np.random.Generator) -> None:
    found = [one for one in REGISTRY.variants("top_k", device.backend) if one.name == "lanes"]
    if not found:
        pytest.skip("the reference has no kernels")
    variant, x = replace(found[0], refuse=first_refusal()), random_values(rng, np.dtype(dtype), (150, length))
    x[rng.random(x.shape) < 0.3] = 1
    if dtype[0] == "f":
        x[rng.random(x.shape) < 0.2] = np.nan
        x[rng.random(x.shape) < 0.2] = -0.0
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)  # NaN is the largest
    rows, columns = on_device(device, x), on_device(device, np.ascontiguousarray(x.T))
    for largest in (True, False):
        order = np.argsort(-ranks if largest else ranks, axis=1, kind="stable")
        for k in {1, length // 2 + 1, length}:
            expected = np.take_along_axis(x, order[:, :k], 1)
            how = {"largest": largest, "device": device, "variant": variant}
            values, places = gpuprims.top_k(rows, k, axis=1, **how)
            assert on_host(device, values).tobytes() == expected.tobytes()
            assert np.array_equal(on_host(device, places), order[:, :k])
            values, places = gpuprims.top_k(columns, k, axis=0, **how)
            assert on_host(device, values).tobytes() == np.ascontiguousarray(expected.T).tobytes()
            assert np.array_equal(on_host(device, places), order[:, :k].T)


def test_longer_rows_and_segments_are_refused(device: gpuprims.Device) -> None:
    found = [one for one in REGISTRY.variants("top_k", device.backend) if one.name == "lanes"]
    if not found:
        pytest.skip("the reference has no kernels")
    gpu = replace(device.capabilities, kind="gpu", group_limit=1024)
    for size, refused in ((64, False), (65, True)):
        call = gpuprims.Call((np.dtype(np.float32),), size)
        assert (found[0].refuse(gpu, call) is not None) == refused
    with pytest.raises(NoVariantError, match="lanes"):
        gpuprims.top_k(on_device(device, np.arange(9.0)), 2, segments=[0, 4, 9], device=device, variant="lanes")
