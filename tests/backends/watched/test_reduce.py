"""reduce under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, affine_fold, assert_equal, on_device, on_host, random_values, two_groups
from watched_kernels import each, many, of, sizes

import gpuprims
from gpuprims.operators import find_op
from gpuprims.primitives.reduce.limbs import sum_limbs

pytestmark = pytest.mark.oclgrind

PICKING = [variant for variant in of("reduce") if variant.name == "cpu_best"]
STAGED = [variant for variant in of("reduce") if variant.name == "staged"]  # whose rows lie one after the other
# Folds by a fixed tree, and exact sums, have tests of their own at the end.
FIXED = [variant for variant in of("reduce") if variant.level == "device"]
EXACT = [variant for variant in of("reduce") if variant.level == "order"]
REDUCTIONS = [variant for variant in of("reduce") if variant not in (*PICKING, *STAGED, *FIXED, *EXACT)]


@each(REDUCTIONS)
def test_sum_in_one_pass_and_in_two(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in sizes(kernel):
        x = random_values(rng, np.int32, size)
        assert_equal(kernel.reduce(x), np.sum(x))


@pytest.mark.whole  # one kernel folds values of at most 8 bytes
@each(REDUCTIONS)
@pytest.mark.parametrize("op", ["max", "argmax"])
def test_extremes_in_one_pass_and_in_two(kernel: Kernel, rng: np.random.Generator, op: str) -> None:
    for size in (200, sizes(kernel)[-1]):
        x = random_values(rng, np.float32, size)
        assert_equal(kernel.reduce(x, op=op), getattr(np, op)(x))


@each(PICKING)
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_places_of_extremes_in_spans_and_in_parts(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    for size in (1, 31, 32, 4500):
        x = random_values(rng, dtype, size)
        rising = np.sort(x)
        for op, one in (("argmax", x), ("argmin", x), ("argmax", rising), ("argmin", rising[::-1])):
            assert_equal(kernel.reduce(one, op=op), getattr(np, op)(one))
        if x.dtype.kind == "f":
            assert_equal(kernel.reduce(x, op="max"), np.max(x))
            x[rng.integers(0, size, 3)] = np.nan
            assert_equal(kernel.reduce(x, op="argmin"), np.argmin(x))


@each(PICKING)
def test_places_of_extremes_along_axes(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float16, (5, 40, 7))
    for axis in (0, 1, 2):
        assert_equal(kernel.reduce(x, op="argmax", axis=axis), np.argmax(x, axis=axis))


@each(REDUCTIONS)
def test_an_operator_that_does_not_commute(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in (200, sizes(kernel)[-1]):
        slopes, offsets = random_values(rng, np.int64, size) | 1, random_values(rng, np.int64, size)
        for got, expected in zip(kernel.reduce(slopes, offsets, op=AFFINE), affine_fold(slopes, offsets), strict=True):
            assert_equal(got, expected)


@each(REDUCTIONS)
def test_values_of_many_words(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (many(kernel, 70), 47))
    for cut in (x[:, 3:], x[:9, :40]):
        np.testing.assert_allclose(kernel.reduce(cut, op="var", axis=1), np.var(cut, axis=1), rtol=1e-4)


@each(REDUCTIONS)
def test_max_of_float16(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float16, sizes(kernel)[-1])
    assert_equal(kernel.reduce(x, op="max"), np.max(x))


@each(REDUCTIONS)
def test_sum_of_complex_numbers(kernel: Kernel, rng: np.random.Generator) -> None:
    parts = rng.integers(-9, 9, (2, sizes(kernel)[-1])).astype(np.float32)  # whole numbers: no sum is rounded
    x = parts[0] + 1j * parts[1]
    assert_equal(kernel.reduce(x), np.sum(x))


@each(REDUCTIONS)
def test_any_of_bools(kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.random((30, 40)) < 0.04
    for axis in (None, 0, 1):
        assert_equal(kernel.reduce(x, op="any", axis=axis), np.any(x, axis=axis))


@each(REDUCTIONS)
def test_a_fused_map_of_several_arrays(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = (rng.integers(-99, 99, sizes(kernel)[-1]) for _ in range(2))
    assert_equal(kernel.reduce(x, y, map="x*y"), x @ y)


@each(REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), (0, 1)])
def test_every_kind_of_axis(kernel: Kernel, rng: np.random.Generator, axis: Any) -> None:
    x = random_values(rng, np.int16, (7, many(kernel, 40), 11))
    assert_equal(kernel.reduce(x, axis=axis), np.sum(x, axis=axis))


@each(REDUCTIONS)
@pytest.mark.parametrize(("rows", "length"), [(3, 5000), (400, 3), (100, 1)])
def test_long_short_many_and_few_rows(kernel: Kernel, rng: np.random.Generator, rows: int, length: int) -> None:
    x = random_values(rng, np.int32, (many(kernel, rows) if rows > 3 else rows, length))
    assert_equal(kernel.reduce(x, op="min", axis=1), np.min(x, axis=1))
    assert_equal(kernel.reduce(x.T, op="min", axis=0), np.min(x, axis=1))


@each(REDUCTIONS)
def test_groups_that_take_several_tasks(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, axis = ((20, 1100), 0) if kernel.variant.outputs_per_group > 256 else ((33, 703), 1)
    x = random_values(rng, np.int8, shape)
    with two_groups(kernel.device, monkeypatch):
        got = kernel.reduce(x, op="argmin", axis=axis)
    assert_equal(got, np.argmin(x, axis=axis))


@each(REDUCTIONS)
def test_the_fold_of_nothing(kernel: Kernel) -> None:
    outputs = many(kernel, 300)
    assert_equal(kernel.reduce(np.empty((0, outputs), np.float32), axis=0), np.zeros(outputs, np.float32))


@each(REDUCTIONS)
def test_the_fold_of_part_of_a_device_array(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.uint8, 5000)
    got = kernel.reduce(on_device(kernel.device, x)[13:4900:3])
    assert_equal(on_host(kernel.device, got), np.sum(x[13:4900:3]))


@each(STAGED)
@pytest.mark.parametrize("length", [3, 17, 101])
def test_short_rows_in_local_memory(kernel: Kernel, rng: np.random.Generator, length: int) -> None:
    x = rng.integers(-99, 99, (1030, length)).astype(np.int32)
    assert_equal(kernel.reduce(x, op="max", axis=1), x.max(axis=1))
    assert_equal(kernel.reduce(x, op="argmin", axis=1), x.argmin(axis=1))


@each([variant for variant in REDUCTIONS if variant.by_rows])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
def test_rows_cut_from_longer_ones(kernel: Kernel, rng: np.random.Generator, axis: Any) -> None:
    whole = random_values(rng, np.int32, (6, 5, 75))
    for x in (whole[..., 3:], whole[..., ::2], whole[:, :, 70:], whole.transpose(1, 0, 2)):
        assert_equal(kernel.reduce(x, axis=axis), np.sum(x, axis=axis))


@each(PICKING)
def test_the_best_of_rows_cut_from_longer_ones(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (7, 40))[:, 3:]
    assert_equal(kernel.reduce(x, op="argmax"), np.argmax(x))


@each([variant for variant in FIXED if variant.block == 1])
def test_a_fixed_tree_in_one_part_and_in_two(kernel: Kernel, rng: np.random.Generator) -> None:
    """Not in order, nor by reduce/fixed: Oclgrind 19.10 stops at a marker of its compiler, noalias.scope.decl."""
    for size in (1, 1030, 16_384 + 1030):
        x = rng.standard_normal(size).astype(np.float32)
        how = {"determinism": "device"}
        assert_equal(kernel.reduce(x, **how), gpuprims.reduce(x, device="reference", **how))


@each([variant for variant in FIXED if variant.name == "fixed_few"])
def test_a_fixed_tree_of_few_elements(kernel: Kernel, rng: np.random.Generator) -> None:
    for shape, axis in (((1030, 37), 1), ((1030, 6), 1), ((9, 1030), 0)):
        x, how = rng.standard_normal(shape).astype(np.float32), {"determinism": "device", "axis": axis}
        assert_equal(kernel.reduce(x, **how), gpuprims.reduce(x, device="reference", **how))


@each([variant for variant in FIXED if variant.name == "cpu_fixed"])
@pytest.mark.parametrize("size", [8, 16, 32, 64])
def test_a_fixed_tree_of_rows_side_by_side(kernel: Kernel, rng: np.random.Generator, size: int) -> None:
    x, how = rng.standard_normal((40, size)).astype(np.float32), {"determinism": "device", "axis": 1}
    assert_equal(kernel.reduce(x, **how), gpuprims.reduce(x, device="reference", **how))


@each([variant for variant in FIXED if variant.name == "fixed_columns"])
def test_a_fixed_tree_of_columns(kernel: Kernel, rng: np.random.Generator) -> None:
    """Lanes of one element and of several, some of which lack elements, and groups that share a block."""
    for shape, op in (((100, 70), "sum"), ((1030, 5), "sum"), ((4100, 2), "var")):
        x, how = rng.standard_normal(shape).astype(np.float32), {"determinism": "device", "axis": 0, "op": op}
        assert_equal(kernel.reduce(x, **how), gpuprims.reduce(x, device="reference", **how))


@each(EXACT)
def test_exact_sums_in_one_part_and_in_two(kernel: Kernel, rng: np.random.Generator) -> None:
    for dtype, size in (("float64", 300), ("float32", 9000)):
        x = (rng.standard_normal(size) * 2.0 ** rng.integers(-90, 90, size)).astype(dtype)
        x[::7] *= -1
        assert_equal(kernel.reduce(x), x.dtype.type(math.fsum(x.astype(np.float64))))


@each(EXACT)
def test_limbs_of_exact_sums(kernel: Kernel, rng: np.random.Generator) -> None:
    for shape, axis in (((9000,), None), ((5, 30, 3), 1)):
        x = rng.standard_normal(shape).astype(np.float32)
        how: dict[str, Any] = {"op": find_op("sum"), "axis": axis}
        found = sum_limbs(x, device=kernel.device, variant=kernel.variant.name, **how)
        assert_equal(found, sum_limbs(x, device="reference", **how))
