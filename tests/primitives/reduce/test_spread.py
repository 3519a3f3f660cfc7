"""reduce with var, std, norm and count_nonzero: every variant of every device against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, FLOATS, LAYOUTS, Kernel, assert_equal, on_device, on_host, random_values

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError
from gpuprims.expressions import expression
from gpuprims.operators import find_op, make_folding

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Degrees of freedom|Mean of empty|invalid value|divide by zero|overflow):RuntimeWarning"  # NumPy's own
)


def euclidean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return np.linalg.norm over any axes, rounded once, in the dtype that NumPy gives."""
    x = np.asarray(x)
    wide = np.sqrt(np.sum(np.square(x.astype(np.float64)), axis=axis, keepdims=keepdims))
    return wide.astype(np.linalg.norm(x[..., None].ravel()).dtype)


def spread(name: str) -> Any:
    """Return np.var or np.std that computes in long double and rounds once to the dtype that NumPy gives."""

    def oracle(x: Any, axis: Any = None, keepdims: bool = False, ddof: float = 0) -> Any:
        x = np.asarray(x)
        wide = getattr(np, name)(x.astype(np.float64).astype(np.longdouble), axis=axis, keepdims=keepdims, ddof=ddof)
        return wide.astype(getattr(np, name)(np.ones(2, x.dtype)).dtype)

    return oracle


def nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.int64(1) * np.count_nonzero(np.asarray(x), axis=axis, keepdims=keepdims)


ORACLES = {"var": spread("var"), "std": spread("std"), "norm": euclidean, "count_nonzero": nonzero}
NAMES = pytest.mark.parametrize("op", list(ORACLES))
SPREADS = pytest.mark.parametrize("op", ["var", "std"])


def assert_near(got: Any, expected: Any, few: float = 8) -> None:
    """Compare with the result rounded once: same dtype, same shape, a few last bits apart."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    rtol = few * np.finfo(expected.dtype).eps if expected.dtype.kind == "f" else 0
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=0)


@NAMES
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_along_every_axis(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    x = (random_values(rng, np.float32, (3, 50, 70)) * 20).astype(dtype)
    x[:, :, ::3] = 0
    for axis, keepdims in ((None, False), (-1, True), (0, False), ((0, 2), True)):
        expected = ORACLES[op](x, axis=axis, keepdims=keepdims)
        reduce_kernel.need(dtype, expected.dtype)
        assert_near(reduce_kernel.reduce(x, op=op, axis=axis, keepdims=keepdims), expected)


@pytest.mark.optimised
@NAMES
def test_every_boundary(reduce_kernel: Kernel, rng: np.random.Generator, op: str) -> None:
    for size in reduce_kernel.boundary_sizes:
        x = random_values(rng, np.float32, size) + 3
        x[size // 2 :: 7] = 0
        assert_near(reduce_kernel.reduce(x, op=op), ORACLES[op](x), few=16)


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_any_layout(reduce_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    reduce_kernel.need(np.float64)
    x = LAYOUTS[layout](rng)
    got = reduce_kernel.reduce(x, op="var", axis=1)
    np.testing.assert_allclose(got, np.var(x, axis=1), rtol=1e-13, atol=1e-15)


@NAMES
def test_axes_in_any_order_of_memory(reduce_kernel: Kernel, rng: np.random.Generator, op: str) -> None:
    x = random_values(rng, np.float32, (40, 60, 10))
    for array in (x.transpose(2, 0, 1), x[::-1, ::2], np.asfortranarray(x)):
        for axis in (1, (0, 2)):
            assert_near(reduce_kernel.reduce(array, op=op, axis=axis), ORACLES[op](array, axis=axis))


@NAMES
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_and_infinities(reduce_kernel: Kernel, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    for specials in ([np.nan], [np.inf], [-np.inf], [np.inf, -np.inf], [np.nan, np.inf]):
        for size in (1, 2, 3, 20_000):
            x = np.ones(size, dtype)
            x[-len(specials) :] = specials[:size]
            assert_equal(reduce_kernel.reduce(x, op=op), ORACLES[op](x))


@NAMES
@pytest.mark.parametrize(("shape", "axis"), [((0,), None), ((0, 3), 0), ((0, 3), 1), ((2, 0, 3), (1, 2))])
def test_of_nothing(reduce_kernel: Kernel, op: str, shape: tuple[int, ...], axis: Any) -> None:
    for keepdims in (False, True):
        x = np.empty(shape, np.float32)
        assert_equal(reduce_kernel.reduce(x, op=op, axis=axis, keepdims=keepdims), ORACLES[op](x, axis, keepdims))


@NAMES
def test_0d_arrays_lists_and_numbers(reduce_kernel: Kernel, op: str) -> None:
    for x in (np.array(7, np.int16), [3, 1, 2], [[True, False]], 5, np.float32(2.5), (1, 2)):
        reduce_kernel.need(np.asarray(x).dtype, ORACLES[op](x).dtype)
        got = reduce_kernel.reduce(x, op=op)
        assert_near(got, ORACLES[op](x))
        assert isinstance(got, np.generic)


@NAMES
def test_arrays_of_the_device_stay_there(device: gpuprims.Device, rng: np.random.Generator, op: str) -> None:
    x = random_values(rng, np.float32, (40, 300))
    got = gpuprims.reduce(on_device(device, x), op=op, axis=1)
    assert type(got) is type(on_device(device, x))
    assert_near(on_host(device, got), ORACLES[op](x, axis=1))


# var and std ---------------------------------------------------------------------------------------------------------


@pytest.mark.optimised
@SPREADS
@pytest.mark.parametrize("offset", [0, 1e3, 1e6, -1e7])
def test_small_noise_around_a_large_mean(
    reduce_kernel: Kernel, rng: np.random.Generator, op: str, offset: float
) -> None:
    for size in (100, 5000, 300_000):
        x = (offset + rng.standard_normal(size)).astype(np.float32)
        assert_near(reduce_kernel.reduce(x, op=op), ORACLES[op](x), few=16)


def test_outliers_at_either_end(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    for place in (0, -1, 70_000):
        x = rng.standard_normal(200_000).astype(np.float32)
        x[place] = 1e6
        assert_near(reduce_kernel.reduce(x, op="var"), ORACLES["var"](x), few=16)


def test_elements_that_are_all_alike_do_not_vary(reduce_kernel: Kernel) -> None:
    assert reduce_kernel.reduce(np.full(50_001, 0.1, np.float32), op="var") == 0


@pytest.mark.parametrize("dtype", ["b1", "i1", "u1", "i2", "u2"])
def test_narrow_integers_vary_exactly(reduce_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    reduce_kernel.need(dtype, np.float64)
    least, most = (0, 1) if dtype == "b1" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for size in (1, 2, 3, 5000):
        anything = rng.integers(least, most, size, endpoint=True).astype(dtype)
        for first, others in ((least, most), (most, least), (most, most), (most - 1, most), (anything, anything)):
            x = np.full(size, others, dtype) if np.ndim(others) == 0 else others.copy()
            x[:1] = np.ravel(first)[0]
            assert_near(reduce_kernel.reduce(x, op="var"), ORACLES["var"](x), few=3)
            assert_near(reduce_kernel.reduce(x, op="std", ddof=1), ORACLES["std"](x, ddof=1), few=3)


@SPREADS
@pytest.mark.parametrize("ddof", [1, 0.5, -1, 5, 100, np.int64(2), np.float32(1.5)])
def test_ddof_is_numpys(reduce_kernel: Kernel, rng: np.random.Generator, op: str, ddof: Any) -> None:
    x = random_values(rng, np.float32, (5, 9))
    for axis in (None, 0):
        got = reduce_kernel.reduce(x, op=op, axis=axis, ddof=ddof)
        assert_near(got, ORACLES[op](x, axis=axis, ddof=ddof))
    alike = np.ones(5, np.float32)
    assert_equal(reduce_kernel.reduce(alike, op=op, ddof=ddof), ORACLES[op](alike, ddof=ddof))


def test_calls_that_differ_in_ddof_alone_do_not_share_a_plan(reduce_kernel: Kernel) -> None:
    x = np.float32([1, 2, 4])
    got = [reduce_kernel.reduce(x, op="var", ddof=ddof) for ddof in (0, 1, 0, 1.5)]
    np.testing.assert_allclose(got, [np.var(x, ddof=ddof) for ddof in (0, 1, 0, 1.5)], rtol=1e-6)


def test_an_operator_from_the_table_takes_ddof_too() -> None:
    assert find_op(find_op("var"), ddof=1) is find_op("var", ddof=1.0) is find_op("var", ddof=np.int32(1))
    assert find_op("var", ddof=1) is not find_op("std", ddof=1)


@pytest.mark.parametrize("op", ["sum", "norm", "max", gpuprims.Op("a + b", 0, name="var")])
def test_ddof_is_for_var_and_std_alone(op: Any) -> None:
    with pytest.raises(ArgumentError, match=r"ddof for var, std, nanvar, nanstd only; got ddof=1"):
        gpuprims.reduce([1.0], op=op, ddof=1, device="reference")
    assert gpuprims.reduce([1.0], op=op, ddof=0, device="reference") == 1


@pytest.mark.parametrize("ddof", [None, "1", True, np.nan, np.inf, [1]])
def test_a_ddof_that_is_no_number_is_refused(ddof: Any) -> None:
    with pytest.raises(ArgumentError, match=r"ddof: a (finite )?number; got"):
        gpuprims.reduce([1.0], op="var", ddof=ddof, device="reference")


def test_counts_are_exact_where_float32_stops_counting(cpu: gpuprims.Device) -> None:
    x = np.tile(np.float32([0, 0, 0, 4]), 2**23)
    got = [
        gpuprims.reduce(x, op="var", device=cpu),
        gpuprims.reduce(x, x, map=np.hypot, op="count_nonzero", device=cpu),
    ]
    assert got == [pytest.approx(3, rel=1e-6), 2**23]  # a device may round a division to the one beside


@pytest.fixture
def cpu(device: gpuprims.Device) -> gpuprims.Device:
    if device.backend == "reference":
        pytest.skip("the reference is slow at this size")
    return device


@pytest.mark.parametrize("op", ["var", "std", "nanvar", "nanstd"])
def test_nothing_has_no_spread(device: gpuprims.Device, op: str) -> None:
    for level in (None, "device", "order") if device.capabilities.fp64 else (None, "device"):
        for shape in ((0,), (0, 3), (3, 0)):
            x = np.zeros(shape, np.float32)
            got = gpuprims.reduce(x, op=op, axis=0, ddof=1, determinism=level, device=device)
            assert_equal(got, getattr(np, op)(x, axis=0, ddof=1))


# Dtypes --------------------------------------------------------------------------------------------------------------


def test_elements_are_squared_in_the_dtype_of_the_result(reduce_kernel: Kernel) -> None:
    assert_equal(reduce_kernel.reduce(np.float16([300, 400]), op="norm"), np.float16(500))
    assert_equal(reduce_kernel.reduce(np.float16([300, -300]), op="std"), np.float16(300))
    reduce_kernel.need(np.float64)
    assert_equal(reduce_kernel.reduce(np.int8([-128, 96]), op="norm"), np.float64(160))
    assert_equal(reduce_kernel.reduce(np.int8([-128, 96]), op="norm", dtype=np.float32), np.float32(160))
    assert_equal(reduce_kernel.reduce(np.uint8([1, 3]), op="var", dtype=np.float32), np.float32(1))


@pytest.mark.parametrize(
    ("op", "asked"), [("var", "int64"), ("std", "bool"), ("norm", "int32"), ("count_nonzero", "int32")]
)
def test_a_dtype_without_a_result_is_refused(op: str, asked: str) -> None:
    with pytest.raises(DtypeError, match=rf"{op}: .*; got dtype={asked}"):
        gpuprims.reduce([1.0], op=op, dtype=asked, device="reference")


def test_float32_needs_no_float64() -> None:
    operators = [find_op(name) for name in ORACLES] + [find_op(name, compensated=True) for name in ("sum", "mean")]
    for op in [*operators, find_op("std", ddof=1.5)]:
        for dtype in ("float32", "float16"):
            made = make_folding(op, expression("x"), (np.dtype(dtype),), None)
            assert np.dtype(np.float64) not in made.computed_in
