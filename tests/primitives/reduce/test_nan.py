"""Operators that leave NaN out, minmax and ptp: every variant of every device against NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, FLOATS, LAYOUTS, Kernel, assert_equal, need, on_device, on_host, random_values
from reduce_cases import several_tiles

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError, EmptyReductionError
from gpuprims.operators import OPERATORS

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Degrees of freedom|Mean of empty|All-NaN|invalid value|overflow):RuntimeWarning"  # NumPy's own
)
SUMS = ("nansum", "nanprod", "nanmean", "nanvar", "nanstd")
ENDS = ("nanmin", "nanmax", "nanargmin", "nanargmax")


def minmax(x: Any, **how: Any) -> tuple[Any, Any]:
    return np.min(x, **how), np.max(x, **how)


def nans(rng: np.random.Generator, dtype: Any, shape: Any) -> np.ndarray:
    """Return integers, or floats of which a third is NaN, and a few infinite if their extremes are sought."""
    x = np.asarray((random_values(rng, np.float32, shape) * 9).astype(dtype))
    if x.dtype.kind in "fc":
        x[rng.random(shape) < 0.3] = np.nan
    return x


def assert_near(got: Any, expected: Any) -> None:
    """Compare sums of floats up to rounding: same dtype, same shape, NaN in the same places."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if got.dtype.kind in "fc":
        eps = 30 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(got, expected, rtol=eps, atol=eps * np.nanmax(np.abs(expected), initial=1))
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", SUMS)
def test_sums_along_every_axis(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    x = nans(rng, dtype, (3, 40, 50))
    if op == "nanprod":
        x = np.where(np.isnan(x), x, np.sign(x) * (1 + np.abs(x) / 2**14)).astype(dtype)
    if x.dtype.kind == "f":
        x[0, :, 7] = np.nan  # a slice of nothing but NaN
        x[1, 5] = np.nan
    for axis, keepdims in ((None, False), (-1, True), (1, False), ((0, 2), True)):
        wide = np.float64 if x.dtype == np.float16 else x.dtype  # NumPy rounds each step to float16
        expected = np.asarray(getattr(np, op)(x.astype(wide), axis=axis, keepdims=keepdims))
        expected = expected.astype(x.dtype) if x.dtype.kind == "f" else expected
        reduce_kernel.need(dtype, expected.dtype)
        assert_near(reduce_kernel.reduce(x, op=op, axis=axis, keepdims=keepdims), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ENDS)
def test_extremes_along_every_axis(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    x = nans(rng, dtype, (3, 40, 50))
    for axis, keepdims in ((None, False), (-1, True), (1, False)):
        expected = getattr(np, op)(x, axis=axis, keepdims=keepdims)
        assert_equal(reduce_kernel.reduce(x, op=op, axis=axis, keepdims=keepdims), expected)


@pytest.mark.parametrize("op", [*ENDS, "nansum", "nanmean"])
def test_every_boundary(reduce_kernel: Kernel, rng: np.random.Generator, op: str) -> None:
    for size in (*reduce_kernel.boundary_sizes, several_tiles(reduce_kernel)):
        x = rng.integers(-9, 9, size).astype(np.float32)
        x[rng.random(size) < 0.5] = np.nan
        for place in {0, size // 2, size - 1}:
            x[place] = 3
            got = reduce_kernel.reduce(x, op=op)
            assert_near(got, getattr(np, op)(x))
            x[place] = np.nan


@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities_count_among_nan(reduce_kernel: Kernel, dtype: str) -> None:
    reduce_kernel.need(dtype)
    x = np.full(several_tiles(reduce_kernel), np.nan, dtype)
    x[[5, -5]] = -np.inf
    for op in ("nanmax", "nanmin", "nansum"):
        assert_equal(reduce_kernel.reduce(x, op=op), np.array(-np.inf, dtype)[()])
    for op in ("nanargmax", "nanargmin"):
        assert reduce_kernel.reduce(x, op=op) == 5  # NumPy's nanargmax gives 0, the index of a NaN


@pytest.mark.parametrize("op", [*SUMS, "nanmin", "nanmax"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_slices_of_nothing_but_nan(reduce_kernel: Kernel, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    for shape, axis in (((several_tiles(reduce_kernel),), None), ((5, 300), 1), ((300, 5), 0)):
        x = np.full(shape, np.nan, dtype)
        assert_equal(reduce_kernel.reduce(x, op=op, axis=axis), getattr(np, op)(x, axis=axis))


@pytest.mark.parametrize("op", ["nanargmin", "nanargmax"])
def test_no_index_for_nothing_but_nan(device: gpuprims.Device, op: str) -> None:
    x = np.float32([[np.nan, np.nan], [np.nan, 3]])
    into = np.zeros(2, np.int64)
    for _ in range(2):  # a warm call raises too
        for how in ({"axis": 1}, {"axis": 1, "out": into}, {"segments": [0, 2, 4]}, {"by": [0, 0, 1, 1]}):
            given = x if "axis" in how else x.ravel()
            with pytest.raises(EmptyReductionError, match=f"{op}: a number in each slice; got one where all are NaN"):
                gpuprims.reduce(given, op=op, device=device, **how)
    with pytest.raises(ValueError, match=r"(group_by|reduce) with nanarg"):
        gpuprims.group_by([0, 0, 1], np.float32([np.nan, np.nan, 2]), op=op, device=device)
    assert gpuprims.reduce(x, op=op, device=device) == 3
    own = on_device(device, x)
    if not isinstance(own, np.ndarray):
        assert_equal(on_host(device, gpuprims.reduce(own, op=op, axis=1)), np.array([-1, 1]))
        keys = on_device(device, np.array([0, 0, 1, 1]))
        by_key = gpuprims.reduce(on_device(device, x.ravel()), op=op, by=keys)
        assert_equal(on_host(device, by_key), np.array([-1, 3]))


@pytest.mark.parametrize("ddof", [1, 2, 3.5])
def test_too_few_numbers_for_ddof_have_no_spread(reduce_kernel: Kernel, ddof: float) -> None:
    reduce_kernel.need(np.float64)
    x = np.array([[1, np.nan, 4, 6], [np.nan, np.nan, 3, 5], [2, np.nan, np.nan, np.nan]])
    for op in ("nanvar", "nanstd"):
        got = reduce_kernel.reduce(x, op=op, axis=1, ddof=ddof)
        np.testing.assert_allclose(got, getattr(np, op)(x, axis=1, ddof=ddof), rtol=1e-14)
    counts = reduce_kernel.reduce(np.arange(3), op="nanvar", ddof=ddof)
    np.testing.assert_allclose(counts, np.var(np.arange(3), ddof=min(ddof, 3)), rtol=1e-14)


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_any_layout(reduce_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    reduce_kernel.need(np.float64)
    x = np.array(LAYOUTS[layout](rng))
    x[rng.random(x.shape) < 0.3] = np.nan
    assert_equal(reduce_kernel.reduce(x, op="nanargmax", axis=1), np.nanargmax(x, axis=1))
    np.testing.assert_allclose(reduce_kernel.reduce(x, op="nanmean", axis=1), np.nanmean(x, axis=1), rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_minmax_and_ptp(reduce_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    reduce_kernel.need(dtype)
    for shape in ((3, 40, 50), (2, 1, several_tiles(reduce_kernel))):
        x = random_values(rng, dtype, shape)
        for axis, keepdims in ((None, False), (-1, True), ((0, 2), False)):
            for got, expected in zip(
                reduce_kernel.reduce(x, op="minmax", axis=axis, keepdims=keepdims),
                minmax(x, axis=axis, keepdims=keepdims),
                strict=True,
            ):
                assert_equal(got, expected)
            if dtype != "bool":
                got = reduce_kernel.reduce(x, op="ptp", axis=axis, keepdims=keepdims)
                assert_equal(got, np.ptp(x, axis=axis, keepdims=keepdims))


def test_nan_reaches_minmax_and_ptp(reduce_kernel: Kernel) -> None:
    x = np.zeros(several_tiles(reduce_kernel), np.float32)
    x[7] = np.nan
    assert_equal(reduce_kernel.reduce(x, op="ptp"), np.float32(np.nan))
    assert_equal(reduce_kernel.reduce(x, op="minmax"), np.float32([np.nan, np.nan]))


def test_the_map_is_applied_before_nan_is_left_out(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = rng.integers(0, 3, (2, several_tiles(reduce_kernel))).astype(np.float32)
    with np.errstate(all="ignore"):
        expected = np.nansum(np.where(y == 0, np.nan, x * y))
    assert_equal(reduce_kernel.reduce(x, y, op="nansum", map="where(y == 0, 0/y, x*y)"), expected)


@pytest.mark.parametrize("op", [*SUMS, *ENDS, "ptp"])
def test_segments_and_keys(device: gpuprims.Device, rng: np.random.Generator, op: str) -> None:
    x = rng.integers(-5, 5, 3000).astype(np.float32)
    x[rng.random(3000) < 0.3] = np.nan
    if op == "ptp":
        x = np.nan_to_num(x)
    if op == "nanprod":
        x = np.sign(x)
    offsets = [0, 1000, 1005, 2999, 3000]
    x[-1] = 3
    one = getattr(np, op)
    expected = np.array([one(x[a:b]) + (a if "arg" in op else 0) for a, b in pairwise(offsets)])
    assert_near(gpuprims.reduce(x, op=op, segments=offsets, device=device), expected)
    keys = np.repeat(np.arange(4), np.diff(offsets))
    shuffled = rng.permutation(3000)
    if "arg" not in op:
        assert_near(gpuprims.reduce(x[shuffled], op=op, by=keys[shuffled], device=device), expected)


def test_a_dtype_converts_numbers_alone(reduce_kernel: Kernel) -> None:
    x = np.float32([1.7, np.nan, 2.5, -3.5])
    assert_equal(reduce_kernel.reduce(x, op="nansum", dtype="int64"), np.int64(0))
    reduce_kernel.need("float64")
    assert_equal(reduce_kernel.reduce(x, op="nanmean", dtype="float64"), np.nanmean(x, dtype="float64"))
    with pytest.raises(DtypeError, match="nanmin, nanmax: a floating dtype for elements of float32; got dtype=int64"):
        reduce_kernel.reduce(x, op="nanmax", dtype="int64")


def test_what_has_no_result_is_refused(device: gpuprims.Device) -> None:
    for op in (*ENDS, "minmax", "ptp"):
        with pytest.raises(EmptyReductionError, match=f"{op}: at least one element"):
            gpuprims.reduce(np.zeros(0, np.float32), op=op, device=device)
    with pytest.raises(DtypeError, match=r'ptp: numbers; got bools \(write op="minmax"\)'):
        gpuprims.reduce([True, False], op="ptp", device=device)
    with pytest.raises(ArgumentError, match="nansum: ddof for var, std, nanvar, nanstd only"):
        gpuprims.reduce([1.0], op="nansum", ddof=1, device=device)


@pytest.mark.parametrize("op", ["nansum", "nanmean", "nanmax", "nanmin", "nanprod"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    x = (rng.integers(-3, 4, 300) + 1j * rng.integers(-3, 4, 300)).astype(dtype)
    x[::3] = complex(np.nan, 1)
    x[1::7] = complex(2, np.nan)
    if op == "nanprod":
        x /= np.abs(x).clip(1)
    np.testing.assert_allclose(reduce_kernel.reduce(x, op=op), getattr(np, op)(x), rtol=1e-4)


def test_each_operator_folds_integers_as_the_one_without_nan() -> None:
    integers = (np.dtype(np.int32),)
    for name in (*SUMS, *ENDS):
        assert OPERATORS[name].instead(integers, integers) is OPERATORS[name.removeprefix("nan")]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("op", ["min", "max", "nanmin", "nanmax"])
def test_the_first_of_complex_nans_remains(
    device: gpuprims.Device, rng: np.random.Generator, op: str, dtype: str
) -> None:
    """NaN in the real part, in the other one, and in both are different results."""
    need(device, dtype)
    for shape, share in (((9000,), 0.01), ((300, 7), 0.05), ((5, 900), 0.02), ((40, 3), 1.0)):
        x = (rng.integers(-3, 4, shape) + 1j * rng.integers(-3, 4, shape)).astype(dtype)
        x.real[rng.random(shape) < share / 2] = np.nan
        x.imag[rng.random(shape) < share] = np.nan
        for axis in (None, *range(len(shape))):
            got, expected = gpuprims.reduce(x, op=op, axis=axis, device=device), getattr(np, op)(x, axis=axis)
            assert_equal(np.asarray(got).real, np.asarray(expected).real)
            assert_equal(np.asarray(got).imag, np.asarray(expected).imag)


@pytest.mark.parametrize("op", ["sum", "mean", "max"])
def test_nan_of_float16_has_the_same_bits_everywhere(
    device: gpuprims.Device, rng: np.random.Generator, op: str
) -> None:
    x = random_values(rng, np.float16, (3, 5000))
    x[1, 4000] = np.nan
    got, wanted = (
        gpuprims.reduce(x, op=op, axis=1, device=where, determinism="device") for where in (device, "reference")
    )
    assert got.tobytes() == wanted.tobytes()
