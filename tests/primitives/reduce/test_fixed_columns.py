"""reduce/fixed_columns: which calls it takes, and the bits of the reference."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from kernel_calls import CompilingDriver, resident
from kernel_cases import AFFINE, bits, need, two_groups

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.registry import REGISTRY

# Elements on both sides of what work-items, the lanes of a tree and its blocks hold.
SIZES = [
    1,
    2,
    15,
    16,
    17,
    63,
    64,
    65,
    255,
    256,
    257,
    1000,
    1023,
    1024,
    1025,
    4095,
    4096,
    4097,
    16384,
    16385,
    40000,
    70000,
]


@pytest.mark.parametrize("shape", [(33, 2000), (1000, 2), (1 << 22, 16), (4, 5, 6)])
def test_outputs_side_by_side_take_it(shape: tuple[int, ...]) -> None:
    driver = CompilingDriver("cuda", usual_device("gpu", 32))
    how = {"device": gpuprims.Device._of(driver), "determinism": "device"}
    gpuprims.reduce(resident(*shape), axis=0, **how)
    assert driver.asked[-1][0].name == "fixed_columns"
    gpuprims.reduce(resident(*shape), axis=-1, **how)
    assert driver.asked[-1][0].name != "fixed_columns"


@pytest.fixture
def able(device: gpuprims.Device) -> gpuprims.Device:
    """Skip devices that do not have the kernel."""
    if "fixed_columns" not in {one.name for one in REGISTRY.variants("reduce", device.backend)}:
        pytest.skip("has no such kernel")
    return device


def assert_same_bits(
    able: gpuprims.Device, *arrays: np.ndarray, axis: Any = 0, variant: Any = "fixed_columns", **how: Any
) -> None:
    given = [able.asarray(x) for x in arrays]
    got = gpuprims.reduce(*given, axis=axis, determinism="device", variant=variant, device=able, **how)
    wanted = gpuprims.reduce(*arrays, axis=axis, device="reference", determinism="device", **how)
    assert bits(tuple(map(able.to_host, got)) if isinstance(got, tuple) else able.to_host(got)) == bits(wanted)


@pytest.mark.parametrize("size", SIZES)
def test_columns_have_the_bits_of_the_reference(able: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    for columns in (2, 5, 33) if size > 2000 else (2, 16, 37, 1027):
        x = rng.standard_normal((size, columns)).astype(np.float32)
        assert_same_bits(able, x)


@pytest.mark.parametrize("size", SIZES[::3])
@pytest.mark.parametrize("op", ["var", "prod", AFFINE])
def test_other_operators(able: gpuprims.Device, rng: np.random.Generator, size: int, op: Any) -> None:
    """Values of several words, and operands in order: runs of neighbours fold first."""
    need(able, "float64")
    x, y = rng.uniform(0.5, 1.5, (2, size, 6))
    assert_same_bits(able, *([x, y] if op is AFFINE else [x]), op=op)


def test_groups_that_take_several_tasks(
    able: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = rng.standard_normal((70_001, 3)).astype(np.float32)
    with two_groups(able, monkeypatch):
        assert_same_bits(able, x)


@pytest.mark.parametrize("size", [600, 1023, 1025, 3000, 20_000, 33_100])
def test_groups_that_share_a_block(able: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    """Each folds lanes of the tree that fold first; the last block may have fewer lanes than groups share it."""
    own = next(one for one in REGISTRY.variants("reduce", able.backend) if one.name == "fixed_columns")
    groups = 256 // able.capabilities.compute_units + 1
    many = dataclasses.replace(own, geometry=own.geometry._replace(groups_per_unit=groups))
    for op in ("sum", "var"):
        assert_same_bits(able, rng.standard_normal((size, 2)).astype(np.float32), op=op, variant=many)


def test_views_maps_masks_and_nan(able: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((600, 9, 64)).astype(np.float32)
    x[::5, :, 7] = np.nan
    for axis in (0, (0, 1)):
        assert_same_bits(able, x, axis=axis)
        assert_same_bits(able, x[::-1, :, 3:], axis=axis, op="nansum")
        assert_same_bits(able, x[:, 1:], axis=axis, map="x*x + 0.1")
    assert_same_bits(able, np.zeros((0, 5), np.float32), variant=None)
