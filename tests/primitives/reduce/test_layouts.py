"""reduce of empty arrays, numbers, lists, and of views with any strides."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, DTYPES, LAYOUTS, Kernel, assert_equal, poison, random_values
from reduce_cases import NUMPY

import gpuprims


@pytest.mark.parametrize(
    ("shape", "axis"), [((0,), None), ((0, 3), 0), ((0, 3), 1), ((0, 3), None), ((2, 0, 3), (1, 2)), ((0, 0), 0)]
)
@pytest.mark.parametrize("op", ["sum", "prod", "any", "all"])
def test_nothing_folds_to_the_identity(reduce_kernel: Kernel, op: str, shape: Any, axis: Any) -> None:
    poison(reduce_kernel.device)
    x = np.empty(shape, np.float32)
    for keepdims in (False, True):
        got = reduce_kernel.reduce(x, op=op, axis=axis, keepdims=keepdims)
        assert_equal(got, NUMPY[op](x, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
def test_nothing_has_no_extreme(reduce_kernel: Kernel, op: str) -> None:
    for shape, axis in (((0,), None), ((3, 0), 1), ((3, 0), None)):
        with pytest.raises(gpuprims.errors.EmptyReductionError):
            reduce_kernel.reduce(np.empty(shape), op=op, axis=axis)
    assert_equal(reduce_kernel.reduce(np.empty((3, 0), np.float32), op="max", axis=0), np.empty(0, np.float32))


def test_the_mean_of_nothing_is_nan(reduce_kernel: Kernel) -> None:
    assert_equal(reduce_kernel.reduce(np.empty((0, 2), np.float32), op="mean", axis=0), np.float32([np.nan, np.nan]))


def test_nothing_folds_to_the_identity_of_a_user_operator(reduce_kernel: Kernel) -> None:
    x = np.empty((0, 2), np.int64)
    slopes, offsets = reduce_kernel.reduce(x, x, op=AFFINE, axis=0)
    assert_equal(slopes, np.int64([1, 1]))
    assert_equal(offsets, np.int64([0, 0]))


@pytest.mark.parametrize("op", list(NUMPY))
def test_0d_arrays_lists_and_numbers(reduce_kernel: Kernel, op: str) -> None:
    for x in (np.array(7, np.int16), [3, 1, 2], [[True, False]], 5, np.float32(2.5), (1, 2)):
        expected = NUMPY[op](x)
        reduce_kernel.need(np.asarray(x).dtype, expected.dtype)
        assert_equal(reduce_kernel.reduce(x, op=op), expected)


def test_a_full_reduction_gives_a_numpy_scalar(reduce_kernel: Kernel) -> None:
    assert type(reduce_kernel.reduce(np.arange(9, dtype=np.float32))) is np.float32
    assert type(reduce_kernel.reduce(np.arange(9), op="argmax")) is np.int64
    assert isinstance(reduce_kernel.reduce(np.arange(9), keepdims=True), np.ndarray)


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_elements_are_found_wherever_they_lie(reduce_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    reduce_kernel.need(np.float64)
    x = LAYOUTS[layout](rng)
    before = x.copy()
    for axis in (None, 0, 1):
        assert_equal(reduce_kernel.reduce(x, op="max", axis=axis), np.max(before, axis=axis))
        assert_equal(reduce_kernel.reduce(x, op="argmin", axis=axis), np.argmin(before, axis=axis))
    np.testing.assert_array_equal(x, before)  # the call leaves its input alone


def test_arrays_of_different_layouts_meet(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, (60, 70))
    arrays = [x, np.asfortranarray(x), x[::-1, ::-1], np.broadcast_to(x[0], x.shape)]
    for a, b in itertools.permutations(arrays, 2):
        assert_equal(reduce_kernel.reduce(a, b, map="a - 2*b", axis=1), np.sum(a - 2 * b, axis=1, dtype=np.int64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_start_inside_another_array(reduce_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    reduce_kernel.need(dtype)
    x = random_values(rng, dtype, 4200)
    for start in range(9):
        assert_equal(reduce_kernel.reduce(x[start:4111], op="max"), np.max(x[start:4111]))


@pytest.mark.parametrize("columns", [2, 4, 8])
def test_few_columns(reduce_kernel: Kernel, rng: np.random.Generator, columns: int) -> None:
    x = random_values(rng, np.int32, (1030, columns))
    assert_equal(reduce_kernel.reduce(x, axis=0), x.sum(axis=0, dtype=np.int64))
    assert_equal(reduce_kernel.reduce(x[:5], op="max", axis=0), x[:5].max(axis=0))
