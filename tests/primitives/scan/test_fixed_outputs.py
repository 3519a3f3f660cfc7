"""scan/fixed_rows and scan/fixed_columns: which calls they take, and the bits of the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_calls import CompilingDriver, resident
from kernel_cases import AFFINE, bits, need

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.primitives.fixed_outputs import FixedColumnsSpec, FixedRowsSpec
from gpuprims.primitives.fixed_scans import RUN, TILE

GPU = usual_device("gpu", 32)


def asked(shape: tuple[int, ...], axis: int, dtype: str = "float32", **how: Any) -> tuple[Variant, KernelSpec]:
    """Return the kernel that a scan at the level "device" takes on a GPU of 132 multiprocessors."""
    driver = CompilingDriver("cuda", GPU)
    arrays = [resident(*shape, dtype=dtype)] * (2 if how.get("op") is AFFINE else 1)
    gpuprims.scan(*arrays, axis=axis, device=gpuprims.Device._of(driver), determinism="device", **how)
    return driver.asked[-1]


@pytest.mark.parametrize(
    ("shape", "axis", "dtype", "name"),
    [
        ((1024, 2), 1, "float32", "fixed_rows"),
        ((1024, TILE), 1, "float64", "fixed_rows"),
        ((1024, TILE + 1), 1, "float32", "fixed"),
        ((1023, TILE), 1, "float32", "fixed"),
        ((2000, 100), 1, "complex128", "fixed_rows"),
        ((5, 2), 0, "float32", "fixed_columns"),
        ((2**20, 2), 0, "float32", "fixed_round_robin"),
        ((2**20, 3), 0, "float32", "fixed_columns"),
        ((5, 1), 0, "float32", "fixed"),
        ((TILE * TILE + 1, 8), 0, "float32", "fixed_columns"),
        ((9, 4000, 50), 1, "float64", "fixed_columns"),
        ((5000, 1), 1, "float32", "fixed_columns"),
    ],
)
def test_many_short_rows_and_columns_take_them(shape: tuple[int, ...], axis: int, dtype: str, name: str) -> None:
    assert asked(shape, axis, dtype)[0].name == name


def test_values_of_many_words_do_not() -> None:
    assert asked((2000, 100), 1, "float64", op="var")[0].name == "fixed"


@pytest.mark.parametrize(
    ("size", "dtype", "lanes", "items", "halves"),
    [
        (2, "float64", 1, 2, 0),
        (3, "float32", 1, 4, 0),
        (16, "float32", 1, 16, 0),
        (17, "float32", 2, 16, 0),
        (512, "float32", 32, 16, 0),
        (513, "float32", 32, 16, 1),
        (TILE, "float32", 32, 16, 3),
    ],
)
def test_a_row_has_a_lane_for_each_run(size: int, dtype: str, lanes: int, items: int, halves: int) -> None:
    _, spec = asked((5000, size), 1, dtype)
    assert isinstance(spec, FixedRowsSpec)
    assert spec.taken == (lanes, items, halves)


def test_a_lane_holds_whole_vectors_of_rows_that_lie_apart() -> None:
    driver = CompilingDriver("cuda", GPU)
    gpuprims.cumsum(resident(5000, 4)[:, :2], axis=1, device=gpuprims.Device._of(driver), variant="fixed_rows")
    spec = driver.asked[-1][1]
    assert isinstance(spec, FixedRowsSpec)
    assert spec.vector <= spec.taken.items


@pytest.mark.parametrize(
    ("shape", "dtype", "down", "halves"),
    [
        ((16, 100_000), "float32", 1, 0),
        ((17, 100_000), "float32", 2, 0),
        ((64, 100_000), "float32", 4, 0),
        ((TILE, 100_000), "float32", 8, 5),
        ((TILE, 100_000), "float64", 16, 4),
        ((2**18, 256), "float32", 8, 5),
        ((2**20, 9), "float32", 16, 4),
        ((2**24, 3), "float32", 64, 2),
        ((TILE, 256), "float32", 32, 3),  # more groups of fewer columns
        ((TILE, 8), "complex128", 128, 1),
    ],
)
def test_a_group_takes_a_line_of_columns(shape: tuple[int, int], dtype: str, down: int, halves: int) -> None:
    _, spec = asked(shape, 0, dtype)
    assert isinstance(spec, FixedColumnsSpec)
    assert spec.taken == (down, halves)


@pytest.fixture
def able(device: gpuprims.Device) -> gpuprims.Device:
    """Skip devices that have none of the kernels."""
    if "fixed_rows" not in {one.name for one in REGISTRY.variants("scan", device.backend)}:
        pytest.skip("compiles no kernels")
    return device


def assert_same_bits(able: gpuprims.Device, name: str, *arrays: np.ndarray, there: Any = None, **how: Any) -> None:
    given = [able.asarray(one) for one in arrays] if there is None else [there]
    got = gpuprims.scan(*given, determinism="device", variant=name, **how)
    wanted = gpuprims.scan(*arrays, device="reference", determinism="device", **how)
    pairs = zip(got, wanted, strict=True) if isinstance(got, tuple) else ((got, wanted),)
    for one, other in pairs:
        assert bits(able.to_host(one)) == bits(other)


def with_zeros(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Return random numbers, and zeros with a sign, whose sums with the identity have none."""
    x = rng.standard_normal(shape).astype(dtype)
    x[::3] = np.array(-0.0, dtype)
    return x


SIZES = (2, 3, 5, 8, 9, RUN, RUN + 1, 33, 64, 100, 129, 255, 512, 513, 1000, 2049, TILE)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("inclusive", [True, False])
def test_rows_have_the_bits_of_the_reference(
    able: gpuprims.Device, rng: np.random.Generator, size: int, *, inclusive: bool
) -> None:
    assert_same_bits(able, "fixed_rows", with_zeros(rng, 1027, size), axis=1, inclusive=inclusive)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (2, 9),
        (RUN, 300),
        (RUN + 1, 33),
        (100, 70),
        (129, 1000),
        (TILE, 16),
        (TILE + 1, 20),
        (TILE + RUN, 40),
        (RUN * TILE + 9, 11),
        (2 * TILE + 50, 2),
    ],
)
@pytest.mark.parametrize("inclusive", [True, False])
def test_columns_have_the_bits_of_the_reference(
    able: gpuprims.Device, rng: np.random.Generator, rows: int, columns: int, *, inclusive: bool
) -> None:
    assert_same_bits(able, "fixed_columns", with_zeros(rng, rows, columns), axis=0, inclusive=inclusive)


@pytest.mark.parametrize(
    ("dtype", "op"), [("float16", "sum"), ("float64", "prod"), ("complex64", "sum"), ("complex128", "sum")]
)
def test_other_values(able: gpuprims.Device, rng: np.random.Generator, dtype: str, op: str) -> None:
    need(able, dtype)
    x = rng.uniform(0.9, 1.1, (1030, 530)).astype(dtype)
    assert_same_bits(able, "fixed_rows", x, axis=1, op=op)
    assert_same_bits(able, "fixed_columns", x, axis=0, op=op)


def test_operators_that_do_not_commute(able: gpuprims.Device, rng: np.random.Generator) -> None:
    pair = rng.uniform(0.9, 1.1, (2, 1050, 70)).astype(np.float32)
    for inclusive in (True, False):
        assert_same_bits(able, "fixed_rows", *pair, axis=1, op=AFFINE, inclusive=inclusive)
        assert_same_bits(able, "fixed_columns", *pair, axis=0, op=AFFINE, inclusive=inclusive)


@pytest.mark.parametrize("inclusive", [True, False])
def test_the_identity_is_folded_as_often_as_in_the_reference(
    able: gpuprims.Device, rng: np.random.Generator, *, inclusive: bool
) -> None:
    """By an operator to which it makes a difference."""
    op, x = gpuprims.Op("a*0.5 + b", identity=1.0), rng.standard_normal((4200, 530)).astype(np.float32)
    assert_same_bits(able, "fixed_rows", x, axis=1, op=op, inclusive=inclusive)
    assert_same_bits(able, "fixed_columns", x, axis=0, op=op, inclusive=inclusive)


def test_views_and_nan(able: gpuprims.Device, rng: np.random.Generator) -> None:
    x = with_zeros(rng, 3001, 64)
    x[::5, 7] = np.nan
    there = able.asarray(x)
    for view in (lambda x: x[:, ::-1], lambda x: x[:, 1:], lambda x: x[::2, ::3], lambda x: x[:, :9]):
        assert_same_bits(able, "fixed_rows", view(x), there=view(there), axis=1)
        assert_same_bits(able, "fixed_columns", view(x), there=view(there), axis=0, map="x*x + 0.1")
    cube, on_device = x[:3000].reshape(60, 50, 64), there[:3000].reshape(60, 50, 64)
    assert_same_bits(able, "fixed_columns", cube, there=on_device, axis=1, reverse=True)


@pytest.mark.parametrize("axis", [0, 1])
def test_results_may_take_the_place_of_elements(able: gpuprims.Device, rng: np.random.Generator, axis: int) -> None:
    x = rng.standard_normal((5000, 33)).astype(np.float32)
    there = able.asarray(x.copy())
    name = "fixed_rows" if axis else "fixed_columns"
    gpuprims.scan(there, axis=axis, out=there, variant=name, determinism="device")
    assert bits(able.to_host(there)) == bits(gpuprims.scan(x, axis=axis, device="reference", determinism="device"))


def test_more_rows_than_groups_take_at_once(able: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (4_400_003, 3)).astype(np.float32)
    got = gpuprims.cumsum(able.asarray(x), axis=1, variant="fixed_rows")
    np.testing.assert_array_equal(able.to_host(got), np.cumsum(x, axis=1))
