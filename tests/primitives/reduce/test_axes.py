"""reduce along every set of axes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, affine_fold, assert_equal, random_values, two_groups
from reduce_cases import several_tiles

import gpuprims


def subsets(ndim: int) -> list[tuple[int, ...]]:
    return [axes for size in range(ndim + 1) for axes in itertools.combinations(range(ndim), size)]


@pytest.mark.optimised
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(9, 20, 30), (3, 4, 5, 60), (1, 50, 1, 40)])
def test_every_subset_of_axes(
    reduce_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...], *, keepdims: bool
) -> None:
    x = random_values(rng, np.int32, shape)
    for axes in subsets(len(shape)):
        got = reduce_kernel.reduce(x, axis=axes, keepdims=keepdims)
        assert_equal(got, np.sum(x, axis=axes, keepdims=keepdims))


@pytest.mark.parametrize("axis", [-1, -3, np.int64(1), (-1, 0), (2, 0), (-2, -1)])
def test_negative_unordered_and_numpy_axes(reduce_kernel: Kernel, rng: np.random.Generator, axis: Any) -> None:
    x = random_values(rng, np.float32, (5, 60, 70))
    assert_equal(reduce_kernel.reduce(x, op="max", axis=axis), np.max(x, axis=axis))


@pytest.mark.parametrize("axis", [0, -1, np.int64(0)])
@pytest.mark.parametrize("op", ["sum", "max", "any", "argmin"])
def test_a_number_has_an_axis_to_fold_as_in_numpy(reduce_kernel: Kernel, op: str, axis: Any) -> None:
    x = np.array(2.5, np.float32)
    for keepdims in (False, True):
        got = reduce_kernel.reduce(x, op=op, axis=axis, keepdims=keepdims)
        assert_equal(got, getattr(np, op)(x, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_places_are_counted_along_the_folded_axis(reduce_kernel: Kernel, rng: np.random.Generator, axis: int) -> None:
    x = rng.integers(0, 20, (30, 40, 50), dtype=np.int8)
    for array in (x, x[::-1, :, ::-1], np.asfortranarray(x)):
        assert_equal(reduce_kernel.reduce(array, op="argmax", axis=axis), np.argmax(array, axis=axis))
        got = reduce_kernel.reduce(array, op="argmin", axis=axis, keepdims=True)
        assert_equal(got, np.argmin(array, axis=axis, keepdims=True))


def test_places_along_several_axes_are_counted_in_c_order(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.integers(0, 100, (30, 40, 50), dtype=np.int16)
    expected = x.transpose(1, 0, 2).reshape(40, -1).argmax(axis=1)
    assert_equal(reduce_kernel.reduce(x, op="argmax", axis=(0, 2)), expected)
    assert_equal(reduce_kernel.reduce(np.asfortranarray(x), op="argmax", axis=(0, 2)), expected)


@pytest.mark.optimised
@pytest.mark.parametrize("shape", [(3, 40_000), (40_000, 3), (300, 400)])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_fold_in_order(
    reduce_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, int], axis: int
) -> None:
    slopes, offsets = random_values(rng, np.int64, shape) | 1, random_values(rng, np.int64, shape)
    got = reduce_kernel.reduce(slopes, offsets, op=AFFINE, axis=axis)
    lines = zip(np.moveaxis(slopes, axis, -1)[-3:], np.moveaxis(offsets, axis, -1)[-3:], strict=True)
    expected = np.array([affine_fold(*line) for line in lines])
    assert_equal(got[0][-3:], expected[:, 0])
    assert_equal(got[1][-3:], expected[:, 1])
    assert got[0].shape == (shape[1 - axis],)


def test_several_axes_fold_in_c_order_whatever_the_layout(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    slopes, offsets = (random_values(rng, np.int64, (30, 4, 50)) | 1 for _ in range(2))
    rows = [affine_fold(slopes[:, k].ravel(), offsets[:, k].ravel()) for k in range(4)]
    for arrays in ((slopes, offsets), (np.asfortranarray(slopes), offsets)):
        got = reduce_kernel.reduce(*arrays, op=AFFINE, axis=(2, 0))
        assert_equal(np.stack(got, axis=1), np.array(rows))


@pytest.mark.optimised
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [1, 3, 37])
def test_more_than_65535_outputs(reduce_kernel: Kernel, rng: np.random.Generator, length: int, axis: int) -> None:
    shape = (70_001, length) if axis == 1 else (length, 70_001)
    x = random_values(rng, np.int16, shape)
    assert_equal(reduce_kernel.reduce(x, axis=axis), np.sum(x, axis=axis))
    assert_equal(reduce_kernel.reduce(x, op="argmax", axis=axis), np.argmax(x, axis=axis))


def test_few_long_outputs_are_shared_among_groups(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    for outputs in (1, 2, 3, 7):
        x = random_values(rng, np.int32, (several_tiles(reduce_kernel), outputs))
        assert_equal(reduce_kernel.reduce(x, axis=0), np.sum(x, axis=0))
        assert_equal(reduce_kernel.reduce(x.T, axis=1, op="max"), np.max(x.T, axis=1))
        assert_equal(reduce_kernel.reduce(np.ascontiguousarray(x.T), axis=1), np.sum(x.T, axis=1))


def test_groups_take_several_tasks(
    reduce_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reduce_kernel.device.backend == "reference":
        pytest.skip("the reference device has no groups")
    x = random_values(rng, np.int16, (501, 307))
    with two_groups(reduce_kernel.device, monkeypatch):
        got = [reduce_kernel.reduce(x, op=op, axis=1) for op in ("max", "argmax")]
    assert_equal(got[0], np.max(x, axis=1))
    assert_equal(got[1], np.argmax(x, axis=1))


@pytest.mark.parametrize("axis", [0, 1, 3, (1, 3), (0, 2)])
@pytest.mark.parametrize("op", ["sum", "min", "argmax", "var"])
def test_results_of_arrays_in_fortran_order_lie_in_it_too(
    device: gpuprims.Device, rng: np.random.Generator, op: str, axis: Any
) -> None:
    x = np.asfortranarray(rng.integers(-9, 9, (4, 40, 3, 57)).astype(np.float32))
    if op == "argmax" and isinstance(axis, tuple):
        pytest.skip("NumPy has no argmax of several axes")
    got, expected = gpuprims.reduce(x, op=op, axis=axis, device=device), getattr(np, op)(x, axis=axis)
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    if device.driver.shares_host_memory:
        assert got.flags.f_contiguous
    kept = gpuprims.reduce(x, op="max", axis=axis, keepdims=True, device=device)
    np.testing.assert_array_equal(kept, x.max(axis=axis, keepdims=True))
    out = np.empty_like(expected, order="C")
    assert gpuprims.reduce(x, op=op, axis=axis, out=out, device=device) is out
    np.testing.assert_allclose(out, expected, rtol=1e-5)
