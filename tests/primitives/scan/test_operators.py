"""scan by every operator, of every dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import COMPLEX, DTYPES, FLOATS, INTEGERS, Kernel, assert_equal, random_values
from scan_cases import COLUMNS, NUMPY, exclusively, numpys

import gpuprims


def assert_close(got: Any, x: np.ndarray, axis: int = 0) -> None:
    """Compare running sums of floats with long double; additions may round in any order."""
    exact = np.cumsum(x.astype(np.result_type(x, np.longdouble)), axis=axis)
    assert got.dtype == x.dtype
    assert got.shape == exact.shape
    terms = x.shape[axis]
    working = np.finfo(np.float32 if x.dtype.itemsize < 4 else x.dtype).eps
    rounding = 4 * working * np.log2(terms + 2) * np.sqrt(terms)
    stored = 4 * np.finfo(x.dtype).eps * np.abs(exact)
    np.testing.assert_array_less(np.abs(got - exact), rounding + stored)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", list(NUMPY))
@pytest.mark.parametrize("shape", ["flat", "columns"])
def test_operators_give_what_numpy_gives(
    scan_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str, shape: str
) -> None:
    x = random_values(rng, dtype, scan_kernel.several_scanned if shape == "flat" else COLUMNS)
    if op == "prod":  # products of odd integers never wrap to 0; products of these floats stay near 1
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
            x[: size // 2] = 0  # sums in float16 stay exact
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
        x = rng.integers(-99, 99, shape).astype(np.float32)  # no sum is rounded
        counts = np.arange(1, shape[axis] + 1, dtype=np.float32).reshape(-1, *[1] * (x.ndim - 1))
        expected = np.cumsum(x, axis=axis) / counts
        np.testing.assert_array_max_ulp(scan_kernel.scan(x, op="mean", axis=axis), expected, 1)
        before = scan_kernel.scan(x, op="mean", axis=axis, inclusive=False)
        assert np.isnan(before[0]).all()  # np.mean of no elements is NaN
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
