"""reduce(compensated=True): error-free sums on every variant of every device."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, FLOATS, Kernel, assert_equal, poison, random_values

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.operators.rounding import fast_two_sum, two_sum


def ulps(got: Any, exact: float) -> float:
    """Return how far a result is from the exact one, in units of the exact one's last bit."""
    return abs(float(got) - exact) / float(np.spacing(np.abs(got.dtype.type(exact))))


def ill_conditioned(rng: np.random.Generator, dtype: str, size: int) -> np.ndarray:
    """Return terms whose magnitudes span five decades and whose sum cancels to some hundredth of them."""
    spread = (rng.choice([-1, 1], size) * 10.0 ** rng.uniform(-2, 3, size)).astype(dtype)
    spread[size // 2 : size // 2 * 2] = -spread[: size // 2]
    return rng.permutation(np.append(spread, np.array([1.25], dtype)))


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_sum_is_exact_to_its_last_bits_where_a_plain_one_is_not(
    reduce_kernel: Kernel, rng: np.random.Generator, dtype: str
) -> None:
    reduce_kernel.need(dtype)
    plain = []
    for size in (10, 1000, 20_001, 200_001):
        x = ill_conditioned(rng, dtype, size)
        exact = math.fsum(x.tolist())
        assert ulps(reduce_kernel.reduce(x, compensated=True), exact) <= 1
        assert ulps(reduce_kernel.reduce(x, op="mean", compensated=True), exact / x.size) <= 2
        plain.append(ulps(reduce_kernel.reduce(x), exact))
    assert max(plain) > 2


def test_a_small_term_survives_two_large_ones(reduce_kernel: Kernel) -> None:
    x = np.array([1e8, 1, -1e8], np.float32)
    assert reduce_kernel.reduce(x, compensated=True) == 1


def test_float16_is_summed_in_float32_with_errors(reduce_kernel: Kernel) -> None:
    x = np.full(2**17, 0.1, np.float16)
    x[::2] = -np.float16(0.1)
    x[7] = 3e-6
    got = reduce_kernel.reduce(x, compensated=True)
    assert got == np.float16(math.fsum(x.tolist()))
    assert got.dtype == np.float16


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["sum", "mean"])
def test_dtypes_are_numpys_and_integers_are_exact_as_they_are(
    reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str
) -> None:
    x = (random_values(rng, np.float32, (5, 700)) * 9).astype(dtype)
    for axis in (None, 0):
        expected = getattr(np, op)(x, axis=axis)
        reduce_kernel.need(dtype, expected.dtype)
        got = reduce_kernel.reduce(x, op=op, axis=axis, compensated=True)
        assert got.dtype == expected.dtype
        if x.dtype.kind == "f":
            exact = getattr(np, op)(x.astype(np.longdouble), axis=axis)
            np.testing.assert_array_less(np.abs(got - exact), 2 * np.spacing(np.abs(expected)))
        else:
            assert_equal(got, reduce_kernel.reduce(x, op=op, axis=axis))


@pytest.mark.filterwarnings("ignore:(invalid|overflow):RuntimeWarning")  # NumPy's, of inf - inf
@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities_and_nan_are_numpys(reduce_kernel: Kernel, dtype: str) -> None:
    reduce_kernel.need(dtype)
    for special in ([np.inf], [-np.inf, -np.inf], [np.inf, -np.inf], [np.nan], [np.nan, np.inf]):
        for size in (2, 500, 30_000):
            x = np.ones(size, dtype)
            x[: len(special)] = special
            assert_equal(reduce_kernel.reduce(x, compensated=True), np.sum(x))
            assert_equal(reduce_kernel.reduce(x[::-1], op="mean", compensated=True), np.mean(x))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_sum_that_overflows_is_infinite(reduce_kernel: Kernel) -> None:
    for sign in (1, -1):
        x = np.full(300, sign * 3e38, np.float32)
        assert_equal(reduce_kernel.reduce(x, compensated=True), np.sum(x))


def test_nothing_and_one_element(reduce_kernel: Kernel) -> None:
    assert_equal(reduce_kernel.reduce(np.empty(0, np.float32), compensated=True), np.float32(0))
    assert_equal(
        reduce_kernel.reduce(np.empty((0, 2), np.float32), op="mean", axis=0, compensated=True),
        np.array([np.nan] * 2, np.float32),
    )
    assert_equal(reduce_kernel.reduce(np.float32(0.1), compensated=True), np.float32(0.1))


def test_any_order_of_memory(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (40, 60, 10))
    for array in (x.transpose(2, 0, 1), x[::-1, ::2], np.asfortranarray(x)):
        for axis in (1, (0, 2)):
            exact = np.sum(array.astype(np.float64), axis=axis)
            got = reduce_kernel.reduce(array, axis=axis, compensated=True)
            np.testing.assert_array_less(np.abs(got - exact), np.spacing(np.abs(exact).astype(np.float32)))


def test_a_fused_map_and_a_dtype_are_summed_with_errors(reduce_kernel: Kernel) -> None:
    x, y = np.array([1e4, 1, -1e4], np.float32), np.array([1e4, 1, 1e4], np.float32)
    assert reduce_kernel.reduce(x, y, map="x*y", compensated=True) == 1
    reduce_kernel.need(np.float64)
    got = reduce_kernel.reduce(np.array([2**53, 1], np.int64), dtype=np.float64, compensated=True)
    assert_equal(got, np.float64(2**53))  # rounded once
    assert_equal(reduce_kernel.reduce([True, True], dtype=bool, compensated=True), np.True_)


@pytest.mark.optimised
def test_the_same_bits_in_every_run(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, reduce_kernel.striding_size)
    first = reduce_kernel.reduce(x, compensated=True)
    poison(reduce_kernel.device)
    assert all(reduce_kernel.reduce(x.copy(), compensated=True).tobytes() == first.tobytes() for _ in range(3))


@pytest.mark.parametrize("op", ["max", "prod", "var", "any", gpuprims.Op("a + b", 0, name="mine")])
def test_other_operators_have_no_compensated_form(op: Any) -> None:
    name = op if isinstance(op, str) else op.name
    with pytest.raises(ArgumentError, match=rf"reduce with {name}: compensated=True for sum and mean only; got "):
        gpuprims.reduce([1.0], op=op, compensated=True, device="reference")


def test_the_error_of_a_sum_is_exact(rng: np.random.Generator) -> None:
    a, b = (
        rng.standard_normal(1000).astype(np.float32) * np.float32(10) ** rng.integers(-6, 7, 1000) for _ in range(2)
    )
    total, error = two_sum(a, b)
    np.testing.assert_array_equal(total.astype(np.float64) + error, a.astype(np.float64) + b)
    large, small = np.where(abs(a) > abs(b), a, b), np.where(abs(a) > abs(b), b, a)
    for got, expected in zip(fast_two_sum(large, small), (total, error), strict=True):
        np.testing.assert_array_equal(got, expected)
