"""Stencils that differ in weights alone share a kernel where that makes it no longer."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from idle_arrays import resident
from kernel_calls import CompilingDriver
from kernel_cases import assert_equal, need
from scipy import ndimage

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.errors import NoVariantError

GPU = dataclasses.replace(usual_device("gpu", 32), asked_local_memory=227 * 1024)
CASES = [
    ("planes", np.float32, (3, 3, 3), 1),
    ("planes", np.float64, (3, 3, 3), 1),
    ("planes", np.uint8, (3, 3, 3), 1),
    ("rolling", np.float64, (5, 5), 1),
    ("rolling", np.int32, (3, 5), 1),  # which are added in float64
    ("rolling", np.float64, (1, 5), 3),
    ("rolling", np.float64, (5,), 3),
    ("rolling", np.float32, (5, 5), 3),
]


@pytest.mark.parametrize(("variant", "dtype", "shape", "kernels"), CASES, ids=str)
def test_new_weights_take_no_new_kernel(
    variant: str, dtype: Any, shape: tuple[int, ...], kernels: int, rng: np.random.Generator
) -> None:
    driver = CompilingDriver("cuda", GPU)
    for _ in range(3):
        x = resident(40, 50, 96, dtype=dtype)
        gpuprims.stencil(x, 1 + rng.random(shape), device=gpuprims.Device._of(driver), variant=variant)
    assert len(driver.asked) == kernels


def test_weights_of_one_and_zero_stay_in_the_code(rng: np.random.Generator) -> None:
    driver, weights = CompilingDriver("cuda", GPU), 1 + rng.random((3, 3, 3))
    for changed in (None, 0.0, 1.0):
        if changed is not None:
            weights[0, 1, 2] = changed
        gpuprims.stencil(resident(40, 50, 96), weights, device=gpuprims.Device._of(driver), variant="planes")
    assert [len(spec.constants) for _, spec in driver.asked] == [27, 26, 26]


def test_integer_weights_and_functions_stay_in_the_code() -> None:
    driver = CompilingDriver("cuda", GPU)
    device, x = gpuprims.Device._of(driver), resident(40, 50, 96, dtype=np.int16)
    gpuprims.stencil(x, np.arange(2, 29).reshape(3, 3, 3), device=device, variant="planes")
    gpuprims.stencil(x.astype(float), lambda n: 2.5 * n[0, 0, 0] + n[1, 0, 0], device=device, variant="planes")
    assert [spec.constants for _, spec in driver.asked] == [(), ()]


@pytest.mark.parametrize(("variant", "dtype", "shape", "_"), CASES, ids=str)
@pytest.mark.parametrize("iterations", [1, 2])
def test_each_set_of_weights_gives_its_own_results(
    device: gpuprims.Device,
    variant: str,
    dtype: Any,
    shape: tuple[int, ...],
    _: int,
    iterations: int,
    rng: np.random.Generator,
) -> None:
    need(device, dtype, np.float64)
    if variant == "rolling" and dtype == np.float64 and device.capabilities.calls_by_element:
        pytest.skip("PoCL 3.1's compiler crashes on it")
    x = (100 * rng.random((9, 20, 40))).astype(dtype)
    for _set in range(3):
        weights = rng.random(shape)
        weights /= weights.sum()
        how = {"mode": "reflect", "iterations": iterations}
        try:
            found = gpuprims.stencil(x, weights, **how, device=device, variant=variant)
        except (NoVariantError, gpuprims.errors.UnknownVariantError) as error:
            pytest.skip(str(error))
        expected = gpuprims.stencil(x, weights, **how, device="reference")
        if np.dtype(dtype).kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-13)
        else:
            assert_equal(found, expected)


def test_later_calls_tell_nested_lists_apart(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((9, 11)).astype(np.float32)
    tables: list[Any] = [
        [[0, 1, 0], [1, 2, 1], [0, 1, 0]],
        [[0, 1, 0], [1, 3, 1], [0, 1, 0]],
        [[0, 1, 0, 1, 2, 1, 0, 1, 0]],
        ((0, 1, 0), (1, -2.5, 1), (0, 1, 0)),
    ]
    for weights in 3 * tables:
        expected = ndimage.correlate(x.astype(np.float64), np.array(weights, np.float64), mode="nearest")
        np.testing.assert_allclose(gpuprims.stencil(x, weights, device=device), expected, rtol=1e-5, atol=1e-5)
