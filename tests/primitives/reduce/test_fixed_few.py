"""reduce/fixed_few: which calls it takes, and the bits of the reference on devices with shuffles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_calls import CompilingDriver, resident
from kernel_cases import AFFINE, bits, need

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.registry import REGISTRY

GPU = usual_device("gpu", 32)


def chosen(shape: tuple[int, ...], axis: int, dtype: str = "float32", **how: Any) -> str:
    """Return the kernel that a sum at the level "device" takes on a GPU."""
    driver = CompilingDriver("cuda", GPU)
    arrays = [resident(*shape, dtype=dtype)] * (2 if how.get("op") is AFFINE else 1)
    gpuprims.reduce(*arrays, axis=axis, device=gpuprims.Device._of(driver), determinism="device", **how)
    return str(driver.asked[-1][0].name)


@pytest.mark.parametrize(
    ("shape", "axis", "dtype", "name"),
    [
        ((1024, 8192), 1, "float32", "fixed_few"),
        ((1023, 8192), 1, "float32", "fixed"),
        ((1024, 8193), 1, "float32", "fixed"),
        ((1024, 8192), 1, "float64", "fixed_few"),
        ((32, 1024), 0, "float32", "fixed_few"),
        ((33, 1024), 0, "float32", "fixed_columns"),
        ((16, 1024), 0, "float64", "fixed_few"),
        ((17, 1024), 0, "float64", "fixed_columns"),
    ],
)
def test_many_outputs_of_few_elements_take_it(shape: tuple[int, ...], axis: int, dtype: str, name: str) -> None:
    assert chosen(shape, axis, dtype) == name


def test_operators_that_do_not_commute_do_not() -> None:
    assert chosen((2000, 8), 1, op=AFFINE) == "fixed"


@pytest.fixture
def able(device: gpuprims.Device) -> gpuprims.Device:
    """Skip devices that do not take the kernel."""
    known = {one.name for one in REGISTRY.variants("reduce", device.backend)}
    if "fixed_few" not in known or device.capabilities.kind == "cpu":
        pytest.skip("is a kernel for GPUs")
    return device


def assert_same_bits(able: gpuprims.Device, x: np.ndarray, there: Any, axis: int, **how: Any) -> None:
    got = gpuprims.reduce(there, axis=axis, determinism="device", variant="fixed_few", **how)
    wanted = gpuprims.reduce(x, axis=axis, device="reference", determinism="device", **how)
    assert bits(able.to_host(got)) == bits(wanted)


def test_values_that_lanes_cannot_hold_do_not() -> None:
    assert chosen((1024, 307), 1, "float64", op="var") == "fixed_few"
    assert chosen((1024, 308), 1, "float64", op="var") == "fixed"


SIZES = [1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 129, 256, 511, 512, 1000]
LONGER = [1023, 1024, 1025, 1500, 2048, 3000, 4096, 4100, 5001, 8192]  # whose lanes of the tree have several elements


@pytest.mark.parametrize("size", SIZES + LONGER)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_have_the_bits_of_the_reference(
    able: gpuprims.Device, rng: np.random.Generator, dtype: str, size: int
) -> None:
    need(able, dtype)
    x = rng.standard_normal((1027, size)).astype(dtype)
    assert_same_bits(able, x, able.asarray(x), 1)
    if dtype == "float32" or size < 308:
        assert_same_bits(able, x, able.asarray(x), 1, op="var")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 16, 17, 31, 32])
def test_columns_have_the_bits_of_the_reference(able: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    x = rng.standard_normal((size, 4_099)).astype(np.float32)
    assert_same_bits(able, x, able.asarray(x), 0)


def test_views_maps_and_nan(able: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((3001, 64)).astype(np.float32)
    x[::5, 7] = np.nan
    there = able.asarray(x)
    for view in (lambda x: x[:, ::-1], lambda x: x[:, 1:], lambda x: x[::2, ::3], lambda x: x[:, :5]):
        assert_same_bits(able, view(x), view(there), 1)
        assert_same_bits(able, view(x), view(there), 1, op="nansum")
    assert_same_bits(able, x, there, 1, map="x*x + 0.1")


def test_more_outputs_than_groups_take_at_once(able: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2_000_003, 3)).astype(np.float32)
    assert_same_bits(able, x, able.asarray(x), 1)
