"""cumsum and cumprod; plans of scan; explain."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import assert_equal, on_device, on_host, random_values

import gpuprims


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_cumsum_and_cumprod_take_what_numpys_take(device: gpuprims.Device, rng: np.random.Generator, name: str) -> None:
    ours, theirs = getattr(gpuprims, name), getattr(np, name)
    x = rng.integers(1, 5, (6, 50), dtype=np.int16)
    for axis in (None, 0, 1, -1):
        assert_equal(ours(x, axis, device=device), theirs(x, axis))
        for dtype in ("int16", "uint64", "float32"):
            small = x[:, :8] if dtype == "float32" else x  # float32 holds these products exactly
            assert_equal(ours(small, axis, dtype, device=device), theirs(small, axis, dtype))
        expected = theirs(x, axis=axis)
        out = np.empty_like(expected)
        assert ours(x, axis=axis, out=out, device=device) is out
        assert_equal(out, expected)
    assert_equal(ours(5.0, device="reference"), theirs(5.0))


def test_a_plan_runs_on_every_array_like_the_first(device: gpuprims.Device, rng: np.random.Generator) -> None:
    arrays = random_values(rng, np.int32, (3, 50, 70))
    plan = gpuprims.plan("scan", on_device(device, arrays[0]), op="max", axis=0, device=device)
    for array in arrays:
        assert_equal(on_host(device, plan(on_device(device, array))), np.maximum.accumulate(array, axis=0))
    assert repr(plan).startswith(f"<gpuprims.Plan scan/{plan.variant.name} of int32[50, 70] on ")


def test_a_plan_runs_in_place(device: gpuprims.Device, rng: np.random.Generator) -> None:
    arrays = random_values(rng, np.int64, (4, 5003))
    first = on_device(device, arrays[0])
    for planned in ({}, {"out": first}):
        plan = gpuprims.plan("scan", first, device=device, **planned)
        for array in arrays:
            place = on_device(device, array)
            assert plan(place, out=place) is place
            assert_equal(on_host(device, place), np.cumsum(array))


def test_explain_chooses_what_runs(device: gpuprims.Device) -> None:
    flat, columns = np.zeros(2**20, np.float32), np.zeros((32, 2**15), np.float32)
    assert gpuprims.explain("scan", device).chosen == gpuprims.plan("scan", flat, device=device).variant
    explained = gpuprims.explain("scan", device, size=32, outputs=2**15, side_by_side=True)
    assert explained.chosen == gpuprims.plan("scan", columns, axis=0, device=device).variant
