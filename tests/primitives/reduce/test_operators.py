"""reduce by every operator, of every dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, FLOATS, INTEGERS, Kernel, assert_equal, random_values
from reduce_cases import NUMPY, several_tiles

import gpuprims

ROUNDING = ("sum", "prod", "mean")


def assert_close(got: Any, exact: Any, expected: Any, terms: int, largest: float = 1.0) -> None:
    """Compare a float result with the exact one, within the rounding of a pairwise sum of so many terms.

    Terms are around 1, or as large as ``largest``: where terms of both signs cancel, their rounding stays.
    """
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    working = np.float32 if expected.dtype.itemsize < 4 else expected.dtype
    rounding = np.finfo(working).eps * math.log2(terms + 2) * 4 * max(largest, 1.0)
    last = np.spacing(np.abs(expected).astype(expected.dtype)).astype(np.float64)
    scale = max(1.0, math.sqrt(terms)) if terms else 1.0
    np.testing.assert_array_less(np.abs(got.astype(np.float64) - exact), rounding * scale + 4 * last)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", [name for name in NUMPY if name not in ("any", "all")])
def test_operators_give_what_numpy_gives(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    x = random_values(rng, dtype, several_tiles(reduce_kernel))
    if op == "prod":  # products of odd integers never wrap to 0; products of these floats stay near 1
        x = x | np.array(1, dtype) if x.dtype.kind in "iub" else (1 + x / 1000).clip(0.99, 1.01).astype(dtype)
    expected = NUMPY[op](x)
    reduce_kernel.need(dtype, expected.dtype)
    got = reduce_kernel.reduce(x, op=op)
    if op in ROUNDING and expected.dtype.kind == "f":
        largest = float(np.abs(x.astype(np.float64)).max()) if x.dtype.kind in "iu" else 1.0
        assert_close(got, NUMPY[op](x.astype(np.float64)), expected, x.size, largest)
    else:
        assert_equal(got, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["any", "all"])
def test_one_element_decides_any_and_all(reduce_kernel: Kernel, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    size = several_tiles(reduce_kernel)
    for place in (None, 0, size // 2, size - 1):
        x = np.full(size, op == "all", dtype)
        if place is not None:
            x[place] = op == "any"
        assert_equal(reduce_kernel.reduce(x, op=op), NUMPY[op](x))


@pytest.mark.parametrize("op", ["any", "all"])
def test_nan_infinities_and_tiny_numbers_are_true(reduce_kernel: Kernel, op: str) -> None:
    for value in (np.nan, np.inf, 1e-30, -0.5):
        x = np.full(5, op == "all", np.float32)
        x[3] = value
        assert_equal(reduce_kernel.reduce(x, op=op), np.True_)
    assert_equal(reduce_kernel.reduce(np.float32([-0.0, 0.0]), op=op), np.False_)


def test_bools_of_other_bytes_than_0_and_1_count_once(reduce_kernel: Kernel) -> None:
    x = np.array([0, 1, 2, 255, 128], np.uint8).view(bool)
    assert_equal(reduce_kernel.reduce(x), np.int64(4))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax", "sum", "prod", "mean"])
def test_nan_propagates_from_any_place(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    size = several_tiles(reduce_kernel)
    for places in ([0], [size - 1], [size // 2, size // 2 + 1, size - 1], range(size)):
        x = (random_values(rng, dtype, size) / 1000 + 1).astype(dtype)
        x[size // 3] = np.inf
        x[list(places)] = np.nan
        assert_equal(reduce_kernel.reduce(x, op=op), NUMPY[op](x))


@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_that_equal_the_identity_are_found(reduce_kernel: Kernel, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    kind = np.dtype(dtype).kind
    limits = [-np.inf, np.inf] if kind == "f" else [False, True] if kind == "b" else None
    for limit in limits or [np.iinfo(dtype).min, np.iinfo(dtype).max]:
        x = np.full(several_tiles(reduce_kernel), limit, dtype)
        assert_equal(reduce_kernel.reduce(x, op=op), NUMPY[op](x))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy warns of inf - inf
def test_infinities_add_up_as_in_numpy(reduce_kernel: Kernel, dtype: str) -> None:
    reduce_kernel.need(dtype)
    for ends in ((np.inf, 1), (-np.inf, -np.inf), (np.inf, -np.inf)):
        x = np.ones(several_tiles(reduce_kernel) % 1000, dtype)
        x[0], x[-1] = ends
        assert_equal(reduce_kernel.reduce(x), np.sum(x))


def test_sums_of_small_integers_do_not_wrap(reduce_kernel: Kernel) -> None:
    size = several_tiles(reduce_kernel)
    assert reduce_kernel.reduce(np.full(size, 127, np.int8)) == 127 * size
    assert reduce_kernel.reduce(np.full(size, 255, np.uint8)) == 255 * size
    assert reduce_kernel.reduce(np.ones(size, bool)) == size


@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_around_in_the_dtype_asked_for(
    reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str
) -> None:
    x = random_values(rng, dtype, 1001) | np.array(1, dtype)
    assert_equal(reduce_kernel.reduce(x, op=op, dtype=dtype), NUMPY[op](x, dtype=dtype))


@pytest.mark.parametrize(
    ("given", "dtype", "op"),
    [
        ("float32", "float64", "sum"),
        ("float64", "float32", "sum"),
        ("float16", "float32", "mean"),
        ("int32", "float32", "mean"),
        ("int64", "int8", "sum"),
        ("float32", "int32", "sum"),
        ("bool", "uint8", "sum"),
        ("uint8", "float64", "prod"),
    ],
)
def test_dtype_converts_the_elements_and_folds_in_it(
    reduce_kernel: Kernel, rng: np.random.Generator, given: str, dtype: str, op: str
) -> None:
    reduce_kernel.need(given, dtype)
    x = (random_values(rng, np.float32, 300) * 50 if given != "uint8" else rng.integers(1, 3, 300)).astype(given)
    expected = NUMPY[op](x, dtype=dtype)
    got = reduce_kernel.reduce(x, op=op, dtype=dtype)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-3 if got.dtype == np.float32 else 0)


def test_an_operator_written_as_a_string_folds(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.uint32, several_tiles(reduce_kernel))
    xor = gpuprims.Op("a ^ b", 0, commutative=True)
    assert_equal(reduce_kernel.reduce(x, op=xor), np.bitwise_xor.reduce(x))


def test_an_operator_that_keeps_its_first_operand_gives_the_first_element(reduce_kernel: Kernel) -> None:
    first = gpuprims.Op(lambda a, b: np.where(a != 0, a, b), 0)
    for size in reduce_kernel.boundary_sizes:
        assert reduce_kernel.reduce(np.arange(5, 5 + size, dtype=np.int64), op=first) == 5


@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_values_of_small_and_mixed_components_fold(reduce_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    both = gpuprims.Op(
        lambda p, q: (np.maximum(p[0], q[0]), p[1] + q[1], np.minimum(p[2], q[2])), (0, 0, 100), commutative=True
    )
    high, total, low = (rng.integers(0, 3, several_tiles(reduce_kernel)) for _ in range(3))
    high, low = high.astype(dtype), low.astype("uint8")
    results = reduce_kernel.reduce(high, total, low, op=both)
    assert_equal(results[0], high.max())
    assert_equal(results[1], total.sum())
    assert_equal(results[2], low.min())
