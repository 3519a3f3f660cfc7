"""scan, cumsum and cumprod: every variant of every device against NumPy."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from kernel_cases import (
    AFFINE,
    COMPLEX,
    DTYPES,
    FLAT,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    Kernel,
    able_variants,
    affine_scan,
    assert_equal,
    on_device,
    on_host,
    poison,
    random_values,
    release_pools,
    two_groups,
)

import gpuprims
from gpuprims import errors
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.errors import ArgumentError

NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "sum": np.cumsum,
    "prod": np.cumprod,
    "min": np.minimum.accumulate,
    "max": np.maximum.accumulate,
}
# More columns than any variant asks for, and few enough elements in each.
COLUMNS = (37, 2500)


def numpys(op: str, x: np.ndarray, axis: int | None = None, **keywords: Any) -> np.ndarray:
    """Scan as NumPy does, ufuncs too of all elements in C order."""
    if axis is None:
        x, axis = np.ravel(x), 0
    return NUMPY[op](x, axis=axis, **keywords)


def exclusively(inclusive: np.ndarray, identity: Any, axis: int = 0) -> np.ndarray:
    """Shift an inclusive scan by one, the identity first."""
    first = np.full_like(np.take(inclusive, [0], axis), identity)
    return np.concatenate([first, np.delete(inclusive, -1, axis)], axis)


def places(x: np.ndarray, better: Callable[[Any, Any], Any] = np.greater) -> np.ndarray:
    """Find, along the last axis, the first place of the extreme so far: NumPy's argmax of each beginning."""
    best = (np.maximum if better is np.greater else np.minimum).accumulate(x, axis=-1)
    new = np.ones(x.shape, bool)
    new[..., 1:] = better(x[..., 1:], best[..., :-1]) | (np.isnan(x[..., 1:]) & ~np.isnan(best[..., :-1]))
    return np.maximum.accumulate(np.where(new, np.arange(x.shape[-1]), 0), axis=-1)


def affine_pair(rng: np.random.Generator, shape: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return maps whose compositions, in wrapping integers, never lose what came before."""
    return random_values(rng, np.int64, shape) | 1, random_values(rng, np.int64, shape)


def assert_close(got: Any, x: np.ndarray, axis: int = 0) -> None:
    """Hold running sums of floats against those in long double, within what additions in any brackets may round."""
    exact = np.cumsum(x.astype(np.result_type(x, np.longdouble)), axis=axis)
    assert got.dtype == x.dtype
    assert got.shape == exact.shape
    terms = x.shape[axis]
    working = np.finfo(np.float32 if x.dtype.itemsize < 4 else x.dtype).eps
    rounding = 4 * working * np.log2(terms + 2) * np.sqrt(terms)
    stored = 4 * np.finfo(x.dtype).eps * np.abs(exact)
    np.testing.assert_array_less(np.abs(got - exact), rounding + stored)


# The oracles ---------------------------------------------------------------------------------------------------------


def test_the_oracle_of_affine_maps_composes_one_by_one(rng: np.random.Generator) -> None:
    for size in (1, 2, 3, 4, 5, 99, 100, 101):
        slopes, offsets = affine_pair(rng, size)
        a, b = [slopes[0]], [offsets[0]]
        with np.errstate(over="ignore"):
            for slope, offset in zip(slopes[1:], offsets[1:], strict=True):
                b.append(b[-1] * slope + offset)
                a.append(a[-1] * slope)
        for got, expected in zip(affine_scan(slopes, offsets), (a, b), strict=True):
            assert got.tolist() == expected


def test_the_oracle_of_places_is_argmax_of_each_beginning(rng: np.random.Generator) -> None:
    x = rng.integers(0, 20, 60).astype(np.float32)
    for nans in ([], [17, 40]):
        x[nans] = np.nan
        assert places(x).tolist() == [np.argmax(x[: k + 1]) for k in range(60)]
        assert places(x, np.less).tolist() == [np.argmin(x[: k + 1]) for k in range(60)]


# Sizes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.optimised
def test_a_running_sum_is_exact_at_every_boundary(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in scan_kernel.scan_sizes(np.int64):
        x = random_values(rng, np.int32, size)
        assert_equal(scan_kernel.scan(x), np.cumsum(x))


def test_an_exclusive_sum_is_exact_at_every_boundary(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in scan_kernel.scan_sizes(np.int32):
        x = random_values(rng, np.int32, size)
        got = scan_kernel.scan(x, inclusive=False, dtype=np.int32)
        assert_equal(got, exclusively(np.cumsum(x, dtype=np.int32), 0))


def test_a_running_max_is_exact_at_every_boundary(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in scan_kernel.scan_sizes(np.float32):
        # Negative, so that a fold that starts at 0 shows, and rising, so that the last of many elements counts.
        x = -np.exp(random_values(rng, np.float32, size)) - np.linspace(9, 0, size, dtype=np.float32)
        assert_equal(scan_kernel.scan(x, op="max"), np.maximum.accumulate(x))


@pytest.mark.optimised
def test_an_operator_that_does_not_commute_folds_in_order_at_every_boundary(
    scan_kernel: Kernel, rng: np.random.Generator
) -> None:
    for size in scan_kernel.scan_sizes(np.int64, np.int64):
        slopes, offsets = affine_pair(rng, size)
        expected = affine_scan(slopes, offsets)
        for got, one in zip(scan_kernel.scan(slopes, offsets, op=AFFINE), expected, strict=True):
            assert_equal(got, one)
        got = scan_kernel.scan(slopes, offsets, op=AFFINE, inclusive=False)
        assert_equal(got[0], exclusively(expected[0], 1))
        assert_equal(got[1], exclusively(expected[1], 0))


@pytest.mark.optimised
def test_columns_are_scanned_each_at_every_length(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for length in (1, 2, 15, 16, 17, 33, 300):
        x = random_values(rng, np.int16, (length, 2049))
        assert_equal(scan_kernel.scan(x, axis=0), np.cumsum(x, axis=0))
        got = scan_kernel.scan(x, op="max", axis=0, inclusive=False)
        lowest = np.iinfo(np.int16).min
        assert_equal(got, exclusively(np.maximum.accumulate(x, axis=0), lowest))


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_rows_of_a_few_tiles_are_scanned_each(scan_kernel: Kernel, rng: np.random.Generator, rows: int) -> None:
    size = scan_kernel.several_scanned
    for length in (size // rows, size // rows + 1):
        x = random_values(rng, np.int32, (rows, length))
        assert_equal(scan_kernel.scan(x, axis=1), np.cumsum(x, axis=1))


# Operators and dtypes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", list(NUMPY))
@pytest.mark.parametrize("shape", ["flat", "columns"])
def test_operators_give_what_numpy_gives(
    scan_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str, shape: str
) -> None:
    x = random_values(rng, dtype, scan_kernel.several_scanned if shape == "flat" else COLUMNS)
    if op == "prod":  # odd integers, whose product is not 0 by wrapping, and floats whose product stays near 1
        x = x | np.array(1, dtype) if x.dtype.kind in "iub" else (1 + x / 1000).clip(0.99, 1.01).astype(dtype)
    axis = None if shape == "flat" else 0
    expected = numpys(op, x, axis)
    scan_kernel.need(dtype, expected.dtype)
    got = scan_kernel.scan(x, op=op, axis=axis)
    if expected.dtype.kind == "f" and op == "sum":
        assert_close(got, x)
    elif expected.dtype.kind == "f" and op == "prod":
        assert got.dtype == expected.dtype
        logarithms = np.cumsum(np.log(x.astype(np.float64)), axis=axis)
        error = np.abs(np.log(got.astype(np.float64)) - logarithms)  # n factors, each product rounded once
        working = np.finfo(np.float32 if x.dtype.itemsize < 4 else x.dtype).eps
        assert error.max() <= 4 * working * np.sqrt(x.shape[0]) * np.log2(x.shape[0]) + 4 * np.finfo(x.dtype).eps
    else:
        assert_equal(got, expected)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("shape", ["flat", "columns"])
def test_complex_numbers_are_summed_and_multiplied(
    scan_kernel: Kernel, rng: np.random.Generator, dtype: str, shape: str
) -> None:
    scan_kernel.need(dtype)
    x = random_values(rng, dtype, scan_kernel.several_scanned if shape == "flat" else COLUMNS)
    axis = None if shape == "flat" else 0
    assert_close(scan_kernel.scan(x, axis=axis), x)
    turns = np.array([1, 1j, -1, -1j], dtype)[rng.integers(0, 4, x.shape)]  # products of these are exact
    assert_equal(scan_kernel.scan(turns, op="prod", axis=axis), numpys("prod", turns, axis))
    whole = (rng.integers(-9, 9, (2, *x.shape)) * np.array([1, 1j], dtype).reshape(2, *[1] * x.ndim)).sum(axis=0)
    for op in ("sum", "min", "max"):
        assert_equal(scan_kernel.scan(whole.astype(dtype), op=op, axis=axis), numpys(op, whole.astype(dtype), axis))


@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_around_in_the_dtype_asked_for(
    scan_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str
) -> None:
    x = random_values(rng, dtype, COLUMNS) | np.array(1, dtype)
    assert_equal(scan_kernel.scan(x, op=op, dtype=dtype, axis=0), NUMPY[op](x, dtype=dtype, axis=0))


@pytest.mark.parametrize(
    ("given", "dtype"),
    [("float32", "float64"), ("float64", "float32"), ("int64", "int8"), ("float32", "int32"), ("bool", "uint8")],
)
def test_dtype_converts_the_elements_and_folds_in_it(
    scan_kernel: Kernel, rng: np.random.Generator, given: str, dtype: str
) -> None:
    scan_kernel.need(given, dtype)
    x = (random_values(rng, np.float32, COLUMNS) * 50).astype(given)
    expected = np.cumsum(x, axis=0, dtype=dtype)
    got = scan_kernel.scan(x, axis=0, dtype=dtype)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-3 if got.dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["min", "max", "sum"])
def test_nan_stays_from_its_place_on(scan_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    scan_kernel.need(dtype)
    size = scan_kernel.several_scanned
    for nans in ([0], [size - 1], [size // 2, size // 2 + 1, size - 1]):
        x = rng.integers(-3, 4, size).astype(dtype)
        if op == "sum":
            x[: size // 2] = 0  # so that sums in float16 stay exact
            x[size // 2 + 500 :] = 0
        x[nans] = np.nan
        assert_equal(scan_kernel.scan(x, op=op), numpys(op, x))


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_extreme_of_nothing_is_the_identity(scan_kernel: Kernel, op: str, dtype: str) -> None:
    scan_kernel.need(dtype)
    kind = np.dtype(dtype).kind
    bounds = (-np.inf, np.inf) if kind == "f" else (False, True) if kind == "b" else None
    low, high = bounds or (np.iinfo(dtype).min, np.iinfo(dtype).max)
    expected = np.full((5, 2048), low if op == "max" else high, dtype)
    assert_equal(scan_kernel.scan(expected.copy(), op=op, axis=0, inclusive=False), expected)


@pytest.mark.parametrize("op", ["argmin", "argmax"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float16", "uint8"])
def test_the_place_of_the_extreme_so_far(scan_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    better = np.greater if op == "argmax" else np.less
    for size in (scan_kernel.several_scanned, 77):
        drift = np.linspace(0, 60, size) * (1 if op == "argmax" else -1) + 100
        x = (rng.integers(0, 40, size) + drift).astype(dtype)  # new extremes up to the end, most of them twice
        assert_equal(scan_kernel.scan(x, op=op), places(x, better))
        if x.dtype.kind == "f":
            x[[size // 2, size - 1]] = np.nan
            assert_equal(scan_kernel.scan(x, op=op), places(x, better))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_places_are_counted_along_the_scanned_axis(scan_kernel: Kernel, rng: np.random.Generator, axis: int) -> None:
    x = rng.integers(0, 90, (30, 40, 50), dtype=np.int8)
    for array in (x, x[::-1, :, ::-1], np.asfortranarray(x)):
        expected = np.moveaxis(places(np.moveaxis(array, axis, -1)), -1, axis)
        assert_equal(scan_kernel.scan(array, op="argmax", axis=axis), expected)


@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_nothing_has_no_place(scan_kernel: Kernel, op: str) -> None:
    message = f"scan with {op}: inclusive=True, for nothing has no place; got inclusive=False"
    with pytest.raises(ArgumentError, match=message):
        scan_kernel.scan(np.arange(5.0, dtype=np.float32), op=op, inclusive=False)


@pytest.mark.parametrize("op", ["any", "all"])
def test_one_element_decides_all_from_its_place_on(scan_kernel: Kernel, op: str) -> None:
    size = scan_kernel.several_scanned
    for place in (None, 0, size // 2, size - 1):
        x = np.full(size, 0 if op == "any" else 2.5, np.float32)
        if place is not None:
            x[place] = 1e-30 if op == "any" else 0
        expected = (np.logical_or if op == "any" else np.logical_and).accumulate(x != 0)
        assert_equal(scan_kernel.scan(x, op=op), expected)
        assert_equal(scan_kernel.scan(x, op=op, inclusive=False), exclusively(expected, op == "all"))


def test_the_mean_is_a_running_one(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for shape, axis in ((COLUMNS, 0), ((scan_kernel.several_scanned,), 0)):
        x = rng.integers(-99, 99, shape).astype(np.float32)  # so that no sum is rounded
        counts = np.arange(1, shape[axis] + 1, dtype=np.float32).reshape(-1, *[1] * (x.ndim - 1))
        expected = np.cumsum(x, axis=axis) / counts
        np.testing.assert_array_max_ulp(scan_kernel.scan(x, op="mean", axis=axis), expected, 1)
        before = scan_kernel.scan(x, op="mean", axis=axis, inclusive=False)
        assert np.isnan(before[0]).all()  # of nothing, as np.mean has it
        np.testing.assert_array_max_ulp(before[1:], expected[:-1], 1)


def test_the_number_of_elements_that_are_not_zero(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.integers(0, 3, scan_kernel.several_scanned).astype(np.uint8)
    assert_equal(scan_kernel.scan(x, op="count_nonzero"), np.cumsum(x != 0))


def test_the_spread_is_a_running_one(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((40, 2100)) + 5).astype(np.float32)
    expected = np.stack([np.var(x[: k + 1].astype(np.float64), axis=0) for k in range(40)])
    np.testing.assert_allclose(scan_kernel.scan(x, op="var", axis=0), expected, rtol=1e-4, atol=1e-5)


def test_values_of_small_and_mixed_components_are_folded(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    both = gpuprims.Op(
        lambda p, q: (np.maximum(p[0], q[0]), p[1] + q[1], np.minimum(p[2], q[2])), (0, 0, 100), commutative=True
    )
    for shape in (COLUMNS, (scan_kernel.several_scanned,)):
        high, total, low = rng.integers(0, 90, (3, *shape))
        high, low = high.astype("float16"), low.astype("uint8")
        results = scan_kernel.scan(high, total, low, op=both, axis=0)
        assert_equal(results[0], np.maximum.accumulate(high, axis=0))
        assert_equal(results[1], np.cumsum(total, axis=0))
        assert_equal(results[2], np.minimum.accumulate(low, axis=0))


def test_an_operator_written_as_a_string(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.uint32, scan_kernel.several_scanned)
    xor = gpuprims.Op("a ^ b", 0, commutative=True)
    assert_equal(scan_kernel.scan(x, op=xor), np.bitwise_xor.accumulate(x))


def test_an_operator_that_keeps_its_last_operand_fills_forward(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    last = gpuprims.Op(lambda a, b: np.where(b != 0, b, a), 0)
    for shape in (COLUMNS, (scan_kernel.several_scanned,)):
        x = rng.integers(1, 1000, shape) * (rng.random(shape) < 0.01)
        rows = np.arange(shape[0]).reshape(-1, *[1] * (x.ndim - 1))
        at = np.maximum.accumulate(np.where(x != 0, rows, 0), axis=0)
        assert_equal(scan_kernel.scan(x, op=last, axis=0), np.take_along_axis(x, at, axis=0))


# The fused map -------------------------------------------------------------------------------------------------------


def test_a_fused_map_is_applied_on_the_way_in(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = rng.integers(-1000, 1000, (2, *COLUMNS))
    for axis in (None, 0):
        expected = np.cumsum(x * y - 1, axis=axis)
        if axis is not None or scan_kernel.variant.name != "each":
            assert_equal(scan_kernel.scan(x, y, map="x*y - 1", axis=axis), expected)
            assert_equal(scan_kernel.scan(x, y, map=lambda x, y: x * y - 1, axis=axis), expected)


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_a_fused_map_broadcasts_its_arrays(scan_kernel: Kernel, rng: np.random.Generator, axis: int | None) -> None:
    x, y, z = (rng.integers(-99, 99, shape) for shape in ((7, 1, 300), (11, 1), (300,)))
    got = scan_kernel.scan(x, y, z, map="x*y - z", axis=axis)
    assert_equal(got, np.cumsum(x * y - z, axis=axis))


def test_a_fused_map_mixes_dtypes_and_numbers(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.uint8, COLUMNS), random_values(rng, np.int16, COLUMNS[1])
    got = scan_kernel.scan(x, y, 3, map=lambda x, y, z: np.where(y > 0, x, y) * z, op="min", axis=0)
    assert_equal(got, np.minimum.accumulate(np.where(y > 0, x, y) * 3, axis=0))


def test_a_fused_map_that_gives_a_tuple_feeds_the_components(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int64, scan_kernel.several_scanned)
    got = scan_kernel.scan(x, map=lambda x: (2 * x + 1, x - 3), op=AFFINE)
    for one, expected in zip(got, affine_scan(2 * x + 1, x - 3), strict=True):
        assert_equal(one, expected)


# Axes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.optimised
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -2, -3, np.int64(1)])
@pytest.mark.parametrize("shape", [(9, 20, 30), (1, 50, 1), (40, 3, 2100), (3, 1000, 1)])
def test_every_axis(scan_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...], axis: Any) -> None:
    x = random_values(rng, np.int32, shape)
    assert_equal(scan_kernel.scan(x, axis=axis), np.cumsum(x, axis=axis))


@pytest.mark.optimised
@pytest.mark.parametrize("shape", [(3, 40_000), (40_000, 3), (300, 400), (40, 2100)])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_fold_in_order(
    scan_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, int], axis: int
) -> None:
    slopes, offsets = affine_pair(rng, shape)
    got = [np.moveaxis(one, axis, -1) for one in scan_kernel.scan(slopes, offsets, op=AFFINE, axis=axis)]
    slopes, offsets = (np.moveaxis(one, axis, -1) for one in (slopes, offsets))
    for line in (0, 1, -2, -1):
        expected = affine_scan(slopes[line], offsets[line])
        assert_equal(got[0][line], expected[0])
        assert_equal(got[1][line], expected[1])


@pytest.mark.optimised
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [1, 3, 37])
def test_more_than_65535_lines(scan_kernel: Kernel, rng: np.random.Generator, length: int, axis: int) -> None:
    shape = (70_001, length) if axis == 1 else (length, 70_001)
    x = random_values(rng, np.int16, shape)
    assert_equal(scan_kernel.scan(x, axis=axis), np.cumsum(x, axis=axis))
    got = scan_kernel.scan(x, op="max", axis=axis, inclusive=False)
    assert_equal(got, exclusively(np.maximum.accumulate(x, axis=axis), np.iinfo(np.int16).min, axis))


def test_groups_take_several_tiles(
    scan_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scan_kernel.device.backend == "reference":
        pytest.skip("the reference device has no groups")
    size = scan_kernel.several_scanned
    tile = scan_kernel.scanned_tile(size, np.int64, np.int64)
    for shape in ((7 * tile + 5,), (5, 3 * tile - 1), (2, tile + 1, 2), (301, 4)):
        if scan_kernel.variant.name == "each":
            shape = (35, 2048 + shape[0])
        axis = 1 if len(shape) > 1 and scan_kernel.variant.name != "each" else 0
        slopes, offsets = affine_pair(rng, shape)
        with two_groups(scan_kernel.device, monkeypatch):
            got = scan_kernel.scan(slopes, offsets, op=AFFINE, axis=axis)
        lines = [np.moveaxis(one, axis, -1).reshape(-1, shape[axis]) for one in (slopes, offsets, *got)]
        for a, b, *line in zip(*lines, strict=True):
            for one, expected in zip(line, affine_scan(a, b), strict=True):
                assert_equal(one, expected)


# Nothing, one, and what is not an array ------------------------------------------------------------------------------


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("op", list(NUMPY))
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4), (0, 0), (0, 3000)])
def test_the_scan_of_nothing_is_nothing(scan_kernel: Kernel, op: str, shape: tuple[int, ...], inclusive: bool) -> None:
    x = np.empty(shape, np.float32)
    for axis in (None, *range(len(shape))):
        assert_equal(scan_kernel.scan(x, op=op, axis=axis, inclusive=inclusive), numpys(op, x, axis))


def test_numbers_lists_and_arrays_of_no_dimensions_give_one_result(scan_kernel: Kernel) -> None:
    for x in (5, np.float32(2.5), np.array(7, np.int16), [3, 1, 2], [[True, False], [True, True]], (1, 2)):
        scan_kernel.need(np.asarray(x).dtype)
        assert_equal(scan_kernel.scan(x), np.cumsum(x))
        assert_equal(scan_kernel.scan(x, axis=0), np.cumsum(x, axis=0))
        assert_equal(scan_kernel.scan(x, inclusive=False), exclusively(np.cumsum(x), 0))


# Layouts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_elements_are_found_wherever_they_lie(scan_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    scan_kernel.need(np.float64)
    x = LAYOUTS[layout](rng)
    before = x.copy()
    for axis in (None, 0, 1):
        native = before.astype(before.dtype.newbyteorder("="))
        assert_equal(scan_kernel.scan(x, op="max", axis=axis), numpys("max", native, axis))
    np.testing.assert_array_equal(x, before)  # and they are still there


@pytest.mark.parametrize("view", ["reversed", "every third", "transposed", "one row for all", "one column for all"])
def test_columns_are_found_wherever_they_lie(scan_kernel: Kernel, rng: np.random.Generator, view: str) -> None:
    whole = random_values(rng, np.int32, (2 * 2300, 60))
    x = {
        "reversed": whole[::-1, ::-1].T,
        "every third": np.ascontiguousarray(whole.T)[::3, 1::2],
        "transposed": whole.T,
        "one row for all": np.broadcast_to(whole[:, 0], (70, whole.shape[0])),
        "one column for all": np.broadcast_to(whole[0][:, None], (60, 3000)),
    }[view]
    for axis in (0, 1):
        assert_equal(scan_kernel.scan(x, axis=axis), np.cumsum(x, axis=axis))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_arrays_of_different_layouts_meet(scan_kernel: Kernel, rng: np.random.Generator, axis: int | None) -> None:
    x = random_values(rng, np.int32, (60, 70))
    arrays = [x, np.asfortranarray(x), x[::-1, ::-1], np.broadcast_to(x[0], x.shape)]
    for a, b in itertools.permutations(arrays, 2):
        expected = np.cumsum(a - 2 * b, axis=axis, dtype=np.int64)
        assert_equal(scan_kernel.scan(a, b, map="a - 2*b", axis=axis), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_start_inside_another_array(scan_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    scan_kernel.need(dtype)
    x = random_values(rng, dtype, 4200)
    resident = on_device(scan_kernel.device, x)
    for start in range(9):
        expected = np.maximum.accumulate(x[start:4111])
        assert_equal(scan_kernel.scan(x[start:4111], op="max"), expected)
        got = scan_kernel.scan(resident[start:4111], op="max")
        assert_equal(on_host(scan_kernel.device, got), expected)


# out= ----------------------------------------------------------------------------------------------------------------

# Ways in which 40 x 2200 numbers can lie that nobody may write outside of.
PLACES: dict[str, Any] = {
    "contiguous": lambda whole: whole[:40, :2200],
    "every second column": lambda whole: whole[:40, 0:4400:2],
    "reversed": lambda whole: whole[39::-1, 2199::-1],
    "in the middle": lambda whole: whole[3:43, 50:2250],
    "transposed": lambda whole: whole.reshape(4500, 50)[:2200, :40].T,
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("place", PLACES)
def test_results_go_where_the_caller_says_and_nowhere_else(
    scan_kernel: Kernel, rng: np.random.Generator, place: str, axis: int
) -> None:
    x = random_values(rng, np.int32, (40, 2200))
    whole = np.full((50, 4500), -7, np.int64)
    expected = whole.copy()
    PLACES[place](expected)[...] = np.cumsum(x, axis=axis)
    out = PLACES[place](whole)
    assert scan_kernel.scan(x, axis=axis, out=out) is out
    assert_equal(whole, expected)


def test_a_flat_result_goes_to_a_strided_array(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int16, (40, 50))
    for step in (1, 3, -2):
        whole = np.full(6000, -7, np.int64)
        out = whole[::step][:2000]
        assert scan_kernel.scan(x, out=out) is out
        assert_equal(out, np.cumsum(x))
        assert np.count_nonzero(whole != -7) <= 2000


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("resident", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [("several tiles", None), ((7, 3001), 1), ((3001, 7), 0), (COLUMNS, 0)])
def test_in_place(
    scan_kernel: Kernel, rng: np.random.Generator, shape: Any, axis: int | None, *, resident: bool, inclusive: bool
) -> None:
    x = random_values(rng, np.int64, scan_kernel.several_scanned if shape == "several tiles" else shape)
    expected = np.cumsum(x, axis=axis)
    if not inclusive:
        expected = exclusively(expected, 0, axis or 0)
    place = on_device(scan_kernel.device, x) if resident else x.copy()
    assert scan_kernel.scan(place, axis=axis, out=place, inclusive=inclusive) is place
    assert_equal(on_host(scan_kernel.device, place) if resident else place, expected)


def test_in_place_of_each_component(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for shape in (COLUMNS, (scan_kernel.several_scanned,)):
        slopes, offsets = affine_pair(rng, shape)
        lines = [one.reshape(shape[0], -1) for one in (slopes, offsets)]
        expected = [affine_scan(lines[0][:, k].copy(), lines[1][:, k].copy()) for k in (0, -1)]
        scan_kernel.scan(slopes, offsets, op=AFFINE, axis=0, out=(slopes, offsets))
        for k, pair in zip((0, -1), expected, strict=True):
            assert_equal(lines[0][:, k], pair[0])
            assert_equal(lines[1][:, k], pair[1])


def test_in_place_of_one_of_two_arrays_and_of_a_view(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.int64, (2, *COLUMNS))
    expected = np.cumsum(x * y, axis=0)
    scan_kernel.scan(x, y, map="x*y", axis=0, out=y)
    assert_equal(y, expected)
    view = x[::-1, 3:2400]
    expected = np.cumsum(view, axis=0)
    scan_kernel.scan(view, axis=0, out=view)
    assert_equal(view, expected)


OVERLAPPING: dict[str, Any] = {
    "one element further": lambda x: (x[:-1], x[1:]),
    "backwards": lambda x: (x, x[::-1]),
    "every second": lambda x: (x[:50], x[::2]),
    "other numbers of the same bytes": lambda x: (x[:50].view(np.int32), x[:100]),
}


@pytest.mark.parametrize("case", OVERLAPPING)
def test_any_other_overlap_is_refused(device: gpuprims.Device, case: str) -> None:
    whole = np.arange(100)
    x, out = OVERLAPPING[case](whole)
    with pytest.raises(ArgumentError, match="scan: out= apart from the arrays in memory, or one of them; got one that"):
        gpuprims.scan(x, out=out, device=device)
    assert_equal(whole, np.arange(100))


# Floats --------------------------------------------------------------------------------------------------------------


def test_running_sums_of_float32_are_as_accurate_as_numpys(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.random(10**6, np.float32)
    exact = np.cumsum(x, dtype=np.float64)
    numpys_error = np.abs(np.cumsum(x) - exact).max()
    assert np.abs(scan_kernel.scan(x) - exact).max() <= 2 * numpys_error


def test_exclusive_sums_of_floats_are_inclusive_ones_shifted(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.random(scan_kernel.several_scanned, np.float32)
    inclusive, exclusive = scan_kernel.scan(x), scan_kernel.scan(x, inclusive=False)
    assert exclusive[0] == 0
    np.testing.assert_allclose(exclusive[1:], inclusive[:-1], rtol=1e-4)
    np.testing.assert_allclose(exclusive[1:], np.cumsum(x[:-1], dtype=np.float64), rtol=1e-4)


def test_running_sums_of_floats_have_the_same_bits_in_every_run(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    if not scan_kernel.variant.deterministic:
        pytest.skip("puts tiles in brackets by how far other groups have come, as its entry says")
    x = random_values(rng, np.float32, scan_kernel.several_scanned)
    first = scan_kernel.scan(x)
    poison(scan_kernel.device)
    assert all(scan_kernel.scan(array).tobytes() == first.tobytes() for array in [x, x.copy()] * 10)


def test_a_thousand_runs_of_the_default_have_the_same_bits(device: gpuprims.Device, rng: np.random.Generator) -> None:
    runs = 1000 if device.backend != "reference" else 50
    x = on_device(device, random_values(rng, np.float32, 100_003))
    plan = gpuprims.plan("scan", x, device=device)
    if not plan.variant.deterministic:
        pytest.skip("the default of this device does not promise it")
    first = plan(x)
    # Counted where they lie, as words of bits: a copy of each would take longer than the scan.
    same = gpuprims.plan("reduce", first, first, map="(x == y) & (x != 0)", op="count_nonzero", device=device)
    assert {same.item(first, plan(x)) for _ in range(runs)} == {100_003}


# Calls at the same time ----------------------------------------------------------------------------------------------


@pytest.mark.optimised
def test_scans_of_two_threads_do_not_meet(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    sizes = [1, 300, 5000, 70_001, 40_000, 2, 9999]
    arrays = [random_values(rng, np.int64, sizes[k % len(sizes)]) for k in range(40)]
    if scan_kernel.variant.name == "each":
        arrays = [random_values(rng, np.int64, (1 + k % 30, 2100)) for k in range(40)]

    def scanned(array: np.ndarray) -> np.ndarray:
        return on_host(scan_kernel.device, scan_kernel.scan(on_device(scan_kernel.device, array), axis=0))

    with ThreadPoolExecutor(2) as pool:
        for array, got in zip(arrays, pool.map(scanned, arrays), strict=True):
            assert_equal(got, np.cumsum(array, axis=0))


@pytest.mark.optimised
def test_scans_that_follow_each_other_on_the_device_do_not_meet(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    device = scan_kernel.device
    shapes = [scan_kernel.several_scanned, 5, (2, 3001), 257] if scan_kernel.variant.name != "each" else [COLUMNS]
    arrays = [random_values(rng, np.int32, shape) for shape in shapes * 6]
    residents = [on_device(device, array) for array in arrays]
    results = [scan_kernel.scan(resident, axis=0) for resident in residents]  # none is waited for
    for array, result in zip(arrays, results, strict=True):
        assert_equal(on_host(device, result), np.cumsum(array, axis=0))


@pytest.mark.optimised
def test_scans_of_two_queues_do_not_meet(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    device = scan_kernel.device
    if device.backend == "reference":
        pytest.skip("the reference device has no queues")
    size = 200_003
    if scan_kernel.variant not in able_variants(device, "scan", FLAT):
        pytest.skip("scans no flat arrays; its groups know nothing of each other")
    arrays = [random_values(rng, np.int64, size - k) for k in range(10)]
    expected = [np.cumsum(array) for array in arrays]
    if device.backend == "cuda":
        import cupy

        streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        results = []
        for k, array in enumerate(arrays * 2):
            with streams[k % 2]:
                results.append(scan_kernel.scan(cupy.asarray(array)))
        for stream in streams:
            stream.synchronize()
        got = [result.get() for result in results]
    else:
        import pyopencl as cl
        import pyopencl.array as cl_array

        queues = [cl.CommandQueue(device.driver.context) for _ in range(2)]
        residents = [cl_array.to_device(queues[k % 2], array) for k, array in enumerate(arrays * 2)]
        results = [gpuprims.scan(resident, variant=scan_kernel.variant.name) for resident in residents]
        got = [result.get() for result in results]
    for one, other in zip(got, expected * 2, strict=True):
        assert_equal(one, other)


# Memory --------------------------------------------------------------------------------------------------------------


@pytest.mark.optimised
@pytest.mark.parametrize("shape", [(50_000,), (50_000, 3), (3, 50_000), (20, 2500)])
def test_no_result_is_left_unwritten(scan_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    device = scan_kernel.device
    x = random_values(rng, np.float32, shape)
    resident = on_device(device, x)
    poison(device)
    assert_equal(scan_kernel.scan(x, op="max", axis=0), np.maximum.accumulate(x, axis=0))
    poison(device)
    got = on_host(device, scan_kernel.scan(resident, op="max", axis=0))
    assert_equal(got, np.maximum.accumulate(x, axis=0))


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_more_elements_than_32_bits_count(
    scan_kernel: Kernel, rng: np.random.Generator, dtype: str, axis: int | None
) -> None:
    device = scan_kernel.device
    rows, columns = 2**16 + 1, 2**15 + 3
    wanted = rows * columns * np.dtype(dtype).itemsize * 5 // 4
    if device.capabilities.kind != "gpu" or device.capabilities.memory < max(wanted, 2**34):
        pytest.skip(f"needs a GPU with {max(wanted, 2**34) >> 30} GiB; {device.capabilities.name} is none")
    release_pools()
    # The element at (r, c) is x[r] * y[c], so that sums of whole rows are products, and no input is large.
    x, y = rng.integers(0, 100, rows), rng.integers(0, 100, columns)
    heights, widths = np.cumsum(x), np.cumsum(y)
    operands = [on_device(device, one) for one in (x[:, None].astype(np.int32), y.astype(np.int32))]
    got = scan_kernel.scan(*operands, map="x*y", dtype=dtype, axis=axis)
    flat = got.reshape(-1) if axis == 0 else got
    assert flat.shape == (rows * columns,)
    for row in (0, 1, 255, 256, rows // 2, rows - 2, rows - 1):
        line = on_host(device, flat[row * columns : (row + 1) * columns])
        flat_sums = (heights[row] - x[row]) * widths[-1] + x[row] * widths
        assert_equal(line, (heights[row] * y if axis == 0 else flat_sums).astype(dtype))
    del got, flat
    release_pools()


# cumsum, cumprod and plan --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_cumsum_and_cumprod_take_what_numpys_take(device: gpuprims.Device, rng: np.random.Generator, name: str) -> None:
    ours, theirs = getattr(gpuprims, name), getattr(np, name)
    x = rng.integers(1, 5, (6, 50), dtype=np.int16)
    for axis in (None, 0, 1, -1):
        assert_equal(ours(x, axis, device=device), theirs(x, axis))
        for dtype in ("int16", "uint64", "float32"):
            small = x[:, :8] if dtype == "float32" else x  # whose products float32 still holds
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


# What devices must offer ---------------------------------------------------------------------------------------------

WAITING = [("opencl", "lookback"), ("opencl", "round_robin"), ("cuda", "lookback"), ("cuda", "round_robin")]


@pytest.mark.parametrize(("backend", "name"), WAITING)
def test_kernels_whose_groups_wait_refuse_devices_where_they_may_not(backend: str, name: str) -> None:
    (variant,) = (variant for variant in REGISTRY.variants("scan", backend) if variant.name == name)
    able = dataclasses.replace(
        gpuprims.Device("reference").capabilities, kind="gpu", group_limit=1024, local_memory=2**15,
        int64_atomics=True, tries_progress=lambda: True,
    )  # fmt: skip
    call = CallTraits((np.dtype(np.float32),), 2**20)
    assert variant.refuse(able, call) is None
    alone = variant.refuse(dataclasses.replace(able, tries_progress=lambda: False), call)
    assert alone == (f"needs groups that run at the same time; {able.name}: its backend says so")
    lacking = variant.refuse(dataclasses.replace(able, int64_atomics=False), call)
    assert lacking == f"needs atomics on 64 bits, which {able.name} lacks"


def test_a_trial_of_groups_that_run_together_ends_whatever_it_finds(
    device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    if device.backend != "opencl":
        pytest.skip("is about OpenCL devices; the others are known")
    from gpuprims.backends.opencl import progress

    for looks in (progress._LOOKS, 1, 0):
        monkeypatch.setattr(progress, "_LOOKS", looks)
        assert progress.trial(device.driver.queue) in (True, False)
    assert not progress.trial(device.driver.queue)  # nobody has looked even once


def test_all_queues_of_a_device_choose_the_same_kernels(device: gpuprims.Device) -> None:
    if device.backend != "opencl":
        pytest.skip("is about OpenCL devices; the others are known")
    import pyopencl as cl

    from gpuprims.backends.opencl.progress import groups_run_together

    queues = [cl.CommandQueue(device.driver.context) for _ in range(3)]
    assert {groups_run_together(queue) for queue in queues} == {device.capabilities.progress}


# Errors --------------------------------------------------------------------------------------------------------------

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)
WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no array": (lambda: gpuprims.scan(), errors.ArgumentError, "scan: at least one array; got none"),
    "an unknown operator": (lambda: gpuprims.scan(X, op="median"), errors.UnknownOperatorError, "op: .*; got 'median'"),
    "an operator of no kind": (lambda: gpuprims.scan(X, op=[1]), errors.UnknownOperatorError, r"op: .*; got \[1\]"),
    "an axis of half": (lambda: gpuprims.scan(X, axis=0.5), errors.AxisError, "axis: an int; got 0.5"),
    "an axis of truth": (lambda: gpuprims.scan(X, axis=True), errors.AxisError, "axis: an int; got True"),
    "two axes": (lambda: gpuprims.scan(X, axis=(0, 1)), errors.AxisError, r"axis: an int; got \(0, 1\)"),
    "an axis too far": (lambda: gpuprims.scan(X, axis=2), errors.AxisError, "from -2 to 1 for 2 dimension.*; got 2"),
    "an axis too far back": (lambda: gpuprims.scan(X, axis=-3), errors.AxisError, "from -2 to 1 .*; got -3"),
    "two arrays to sum": (lambda: gpuprims.scan(X, X), errors.ArgumentError, "got 2"),
    "too few arrays for a map": (lambda: gpuprims.scan(X, map=lambda x, y: x + y), errors.ArgumentError, "got 1"),
    "shapes that do not match": (
        lambda: gpuprims.scan(X, X[:, :2], map="x*y"), errors.ShapeError, r"\(2, 3\) and \(2, 2\)",
    ),
    "out= of another shape": (
        lambda: gpuprims.scan(X, axis=0, out=np.empty((3, 2), np.float32)), errors.ShapeError,
        r"scan: out= of the result's shape, \(2, 3\); got \(3, 2\)",
    ),
    "out= of another shape, of a flat scan": (
        lambda: gpuprims.scan(X, out=np.empty((2, 3), np.float32)), errors.ShapeError, r"\(6,\); got \(2, 3\)",
    ),
    "out= of another dtype": (
        lambda: gpuprims.scan(X, axis=0, out=np.empty((2, 3))), errors.DtypeError, "float32; got float64",
    ),
    "out= of too many": (
        lambda: gpuprims.scan(X, axis=0, out=(X.copy(), X.copy())), errors.ArgumentError, r"1 array\(s\).*; got 2",
    ),
    "an unknown variant": (lambda: gpuprims.scan(X, variant="fast"), errors.UnknownVariantError, "; got 'fast'"),
    "an unknown dtype": (lambda: gpuprims.scan(X, dtype="float33"), errors.DtypeError, "float33"),
    "strings": (lambda: gpuprims.scan(["a"]), errors.DtypeError, "<U1"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_scanned_is_named(case: str) -> None:
    call, error, message = WRONG[case]
    with gpuprims.use_device("reference"), pytest.raises(error, match=message) as raised:
        call()
    assert ": " in str(raised.value)
    assert "; got " in str(raised.value)


def test_an_unknown_keyword_is_not_swallowed() -> None:
    for function in (gpuprims.scan, gpuprims.cumsum, gpuprims.cumprod):
        with pytest.raises(TypeError, match="keepdims"):
            function(X, keepdims=True)
