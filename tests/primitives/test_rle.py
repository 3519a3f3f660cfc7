"""rle: runs by the kernel for GPUs on doubles of these, against NumPy, and the public functions that launch it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from device_doubles import double_of, in_use, runtimes
from kernel_cases import as_it_stands

import gpuprims
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.operands import as_operands
from gpuprims.core.registry import REGISTRY
from gpuprims.primitives.rle import EncodeRequest, encode_runs, plan_call

SMALL = {"block": 64, "items": 32, "groups_per_unit": 2}  # several vectors a work-item, several tiles a group
TILE = 1024


@pytest.fixture(params=runtimes())
def gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[gpuprims.Device]:
    """A double that runs kernels for GPUs, with shuffles where its runtime has them."""
    as_it_stands(monkeypatch)
    real = gpuprims.Device(request.param)
    able = replace(real.capabilities, kind="gpu", compute_units=2, tries_progress=lambda: True)
    with in_use(double_of(real, able)) as double:
        yield double


def oracle(x: np.ndarray, *, equal_nan: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first elements of runs, their begins with the size, and their lengths."""
    apart = x[1:] != x[:-1]
    if equal_nan and x.dtype.kind in "fc":
        apart &= ~((x[1:] != x[1:]) & (x[:-1] != x[:-1]))
    begins = np.flatnonzero(np.r_[True, apart])
    offsets = np.r_[begins, x.size]
    return x[begins], offsets, np.diff(offsets)


def check(gpu: gpuprims.Device, x: np.ndarray, request: EncodeRequest) -> None:
    """Compare each result of small tiles."""
    (variant,) = REGISTRY.variants("rle", "opencl")
    operands = as_operands("rle", (x,), gpu)
    got = find_plan(plan_call, operands, request, None, variant.resized(**SMALL)).run(operands, None)
    found = got if isinstance(got, tuple) else (got,)
    expected = oracle(x, equal_nan=request.equal_nan)
    wanted = [one for one, asked in zip(expected, request[:3], strict=True) if asked]
    for one, right in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, right)


@pytest.mark.parametrize("longest", [1, 4, 90, 5000])
def test_sizes_around_tiles(gpu: gpuprims.Device, rng: np.random.Generator, longest: int) -> None:
    for size in (1, 2, 31, 32, 33, TILE - 1, TILE, TILE + 1, 4 * TILE, 4 * TILE + 1, 21 * TILE + 5):
        lengths = rng.integers(1, longest + 1, size)
        x = np.repeat(np.arange(size), lengths)[:size].astype(np.int32)
        check(gpu, x, EncodeRequest(lengths=True))


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "float16", "int32", "float32", "float64", "complex64", "complex128"]
)
def test_dtypes_nan_and_zeros(gpu: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    x = np.repeat(rng.integers(0, 3, 3001), rng.integers(1, 4, 3001)).astype(dtype)
    if x.dtype.kind in "fc":
        x[rng.random(x.size) < 0.3] = np.nan
        x[rng.random(x.size) < 0.2] *= -1  # also zeros
    check(gpu, x, EncodeRequest(lengths=True))
    check(gpu, x, EncodeRequest(values=False, begins=True, equal_nan=False))
    check(gpu, x[1:], EncodeRequest(begins=True))
    check(gpu, x[: x.size - 3], EncodeRequest())


def test_a_run_across_many_tiles(gpu: gpuprims.Device) -> None:
    x = np.zeros(40 * TILE, np.float32)
    check(gpu, x, EncodeRequest(lengths=True))
    x[[0, -1]] = 1
    x[17 * TILE] = 2  # the first element of a tile, with none before or behind in many tiles
    check(gpu, x, EncodeRequest(lengths=True))
    check(gpu, x, EncodeRequest(begins=True))


def test_functions_that_launch_it(gpu: gpuprims.Device, rng: np.random.Generator) -> None:
    x = np.sort(rng.integers(0, 900, 5003)).astype(np.float32)
    values, _, lengths = oracle(x)
    for given in (x, x.reshape(-1, 1), np.repeat(x, 2)[::2]):
        for _ in range(2):  # the second call is warm
            for found, right in zip(gpuprims.run_length_encode(given, device=gpu), (values, lengths), strict=True):
                np.testing.assert_array_equal(found, right)
            np.testing.assert_array_equal(gpuprims.unique_consecutive(given, device=gpu), values)
    plan = gpuprims.plan("run_length_encode", x, device=gpu)
    np.testing.assert_array_equal(plan(x)[1], lengths)
    assert any("rle_round_robin" in text for text in gpu.driver.texts)
    mixed = rng.permutation(x)
    np.testing.assert_array_equal(gpuprims.unique(mixed, device=gpu), values)
    every = gpuprims.unique(mixed, return_index=True, return_inverse=True, return_counts=True, device=gpu)
    by_numpy = np.unique(mixed, return_index=True, return_inverse=True, return_counts=True)
    for one, numpys in zip(every, by_numpy, strict=True):
        np.testing.assert_array_equal(one, numpys)


def test_results_in_arrays_of_the_caller(gpu: gpuprims.Device, rng: np.random.Generator) -> None:
    x = np.sort(rng.integers(0, 90, 3000)).astype(np.int16)
    values, _, lengths = oracle(x)
    out = np.empty(x.size, x.dtype), np.empty(x.size, np.int64)
    found = gpuprims.run_length_encode(x, out=out, device=gpu)
    for one, whole, right in zip(found, out, (values, lengths), strict=True):
        np.testing.assert_array_equal(one, right)
        assert np.shares_memory(one, whole)


def test_other_devices_find_runs_in_other_ways(gpu: gpuprims.Device, rng: np.random.Generator) -> None:
    x: Any = rng.integers(0, 3, 4000)
    alone = replace(gpu.capabilities, tries_progress=lambda: False)
    with in_use(double_of(gpu, alone)) as other:
        with pytest.raises(gpuprims.errors.NoVariantError, match="groups that run at the same time"):
            encode_runs(x, device=other)
        np.testing.assert_array_equal(gpuprims.run_length_encode(x, device=other)[1], oracle(x)[2])
