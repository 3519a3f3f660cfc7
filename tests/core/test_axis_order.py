"""Axes in the order in which arrays lie in memory, and indices that are split by multiplications."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kernel_cases import assert_equal

import gpuprims
from gpuprims.core.axis_order import divider
from gpuprims.core.layout import Form, plan_layout

F32 = np.dtype(np.float32)


def test_dividers_divide_every_number_below_two_to_the_31(rng: np.random.Generator) -> None:
    lengths = [2, 3, 5, 7, 100, 641, 2**20, 2**30, 2**30 + 1, 2**31 - 1, *rng.integers(2, 2**31, 200).tolist()]
    for length in lengths:
        factor, shift = divider(length) & 0xFFFFFFFF, divider(length) >> 32
        near = [0, 1, length - 1, length, length + 1, 2 * length - 1, 2 * length, 2**31 - 1]
        for k in [k for k in (*near, *rng.integers(0, 2**31, 50).tolist()) if k < 2**31]:
            assert (k * factor >> 32) >> shift == k // length


def form(x: np.ndarray) -> Form:
    return Form(x.dtype, x.shape, x.strides, x.__array_interface__["data"][0] % 4, 16)


def test_arrays_in_any_order_are_one_axis() -> None:
    x = np.zeros((4, 5, 6), np.float32)
    for axes in itertools.permutations(range(3)):
        view = x.transpose(axes)[::-1, :, ::-1]
        layout = plan_layout([form(view)], view.shape, (0, 1, 2), reduced_by=(0,))
        assert layout.reduced == (120,)
        assert layout.reduced_strides == ((1,),)
        indexed = plan_layout([form(view)], view.shape, (0, 1, 2), reduced_by=(0,), indexed=True)
        steps = np.arange(120).reshape(view.shape)
        assert indexed.index_strides is not None
        first, strides = indexed.index_offset, indexed.index_strides
        found = [first + sum(map(int.__mul__, k, strides)) for k in np.ndindex(*indexed.reduced)]
        assert found == steps[::-1, :, ::-1].transpose(np.argsort(axes)).ravel().tolist()


def test_axes_stay_in_index_order_where_nothing_says_otherwise() -> None:
    x = np.zeros((4, 5), np.float32).T
    layout = plan_layout([form(x)], x.shape, (0, 1))
    assert (layout.reduced, layout.reduced_strides, layout.index_strides) == ((5, 4), ((1, 5),), None)


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_places_of_equal_elements_are_the_first_in_index_order(
    device: gpuprims.Device, rng: np.random.Generator, axis: int | None
) -> None:
    x = rng.integers(0, 3, (6, 70, 50)).astype(np.float32)
    for axes in itertools.permutations(range(3)):
        for view in (x.transpose(axes), x.transpose(axes)[:, ::-1, ::2]):
            for op in ("argmin", "argmax"):
                assert_equal(gpuprims.reduce(view, op=op, axis=axis, device=device), getattr(np, op)(view, axis=axis))
