"""map with the index of each element."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_cases import LAYOUTS, Kernel, assert_equal, on_device, on_host, random_values, two_groups

import gpuprims
from gpuprims.core.operands import Operands
from gpuprims.errors import ArgumentError
from gpuprims.expressions import along_axes, expression, typed


def test_at_each_size(map_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in map_kernel.boundary_sizes:
        x = random_values(rng, np.int32, size)
        assert_equal(map_kernel.map("x * 3 + i", x, index="i"), x * 3 + np.arange(size))


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_in_c_order_wherever_elements_lie(map_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    map_kernel.need(np.float64)
    x = LAYOUTS[layout](rng)
    got = map_kernel.map(lambda i, x: (x, i), x, index="i")
    assert_equal(got[0], x.astype(x.dtype.newbyteorder("=")))
    assert_equal(got[1], np.arange(x.size).reshape(x.shape))


SHAPES = [(5003,), (70, 90), (1, 90), (90, 1), (3, 5, 7, 11), (2, 3, 4, 5, 6), (40, 33, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_along_each_axis(map_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    names, axes = tuple("ijklm"[: len(shape)]), range(len(shape))
    x = random_values(rng, np.int16, shape)
    indices = np.indices(shape)
    text = " + ".join(f"{10**k}*{name}" for k, name in enumerate(names))
    expected = sum((10**k * indices[k] for k in axes), x.astype(np.int64))
    assert_equal(map_kernel.map(f"x + {text}", x, index=names), expected)
    turned = x.transpose(*axes[1:], 0)
    expected = sum((10**k * one for k, one in enumerate(np.indices(turned.shape))), turned.astype(np.int64))
    assert_equal(map_kernel.map(f"x + {text}", turned, index=names), expected)


def test_of_the_result_that_arrays_broadcast_to(map_kernel: Kernel, rng: np.random.Generator) -> None:
    column, row = random_values(rng, np.int32, (80, 1)), random_values(rng, np.int32, 50)
    i, j = np.indices((80, 50))
    got = map_kernel.map(lambda x, j, y, i: (x + y) * (i > j), column, row, index=("i", "j"))
    assert_equal(got, (column + row) * (i > j))


def test_to_arrays_of_the_caller_and_in_place(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int64, (60, 50))
    place = on_device(map_kernel.device, x)
    map_kernel.map("x - i", place, index="i", out=place)
    assert_equal(on_host(map_kernel.device, place), x - np.arange(3000).reshape(60, 50))
    out = np.empty((50, 60), np.int64).T
    map_kernel.map("x - i", x, index="i", out=out)
    assert_equal(out, x - np.arange(3000).reshape(60, 50))


def test_by_several_groups(map_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    if map_kernel.device.backend == "reference":
        pytest.skip("the reference device has no groups")
    x = random_values(rng, np.int8, 13 * map_kernel.variant.tile + 5)
    with two_groups(map_kernel.device, monkeypatch):
        assert_equal(map_kernel.map("x ^ int8(i)", x, index="i"), x ^ np.arange(x.size).astype(np.int8))


def test_warm_calls_and_plans(device: gpuprims.Device, rng: np.random.Generator) -> None:
    for name, expected in (("i", np.arange(6000)), (("i",), np.arange(6000)), (None, None)):
        for _ in range(2):
            x = random_values(rng, np.int64, 6000)
            if name is None:
                assert_equal(gpuprims.map("x + i", x, 7, device=device), x + 7)
                continue
            assert_equal(gpuprims.map("x + i", x, index=name, device=device), x + expected)
            plan = gpuprims.plan("map", "x + i", x, index=name, device=device)
            assert_equal(plan(x), x + expected)


def test_of_nothing(map_kernel: Kernel) -> None:
    assert_equal(map_kernel.map("x + i", np.empty((0, 3), int), index="i"), np.empty((0, 3), int))
    assert_equal(map_kernel.map("x + i + j", np.empty((3, 0), int), index=("i", "j")), np.empty((3, 0), int))


def test_of_host_arrays_that_are_copied_whole(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(1000)
    monkeypatch.setattr(Operands, "gain_by_slabs", True)
    assert_equal(gpuprims.map("x + i", x, index="i", device=device), 2 * x)
    monkeypatch.setattr(Operands, "exceed_room", True)
    with pytest.raises(ArgumentError, match="index= with arrays that the device has room for"):
        gpuprims.map("x + i", x, index="i", device=device)


def test_more_elements_than_words_of_32_bits_count() -> None:
    shape = (3, 2**20, 2**15)
    function = along_axes(typed(expression(lambda i, j, k: (i, j, k)), [np.dtype(np.int64)] * 3), shape)
    places = np.array([0, 5, 2**32 - 1, 2**32, 2**35 + 12345, 3 * 2**35 - 1])
    for got, expected in zip(function(places), np.unravel_index(places, shape), strict=True):
        np.testing.assert_array_equal(got, expected)


WRONG: dict[str, tuple[Any, str]] = {
    "a name that the function lacks": ("k", "index= parameters of the function, each once, among x, i; got 'k'"),
    "a name twice": (("i", "i"), "each once, among x, i; got 'i'"),
    "another number of axes": (("i",), "index= a name for each of 2 dimension(s), or one name without a tuple; got 1"),
    "no name": ((), "index= the name of a parameter of the function, or a tuple of one for each axis; got ()"),
    "a flag": (True, "index= the name of a parameter of the function, or a tuple of one for each axis; got True"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_index_is_refused(device: gpuprims.Device, case: str) -> None:
    index, message = WRONG[case]
    for function in ("x + i", lambda x, i: x + i):
        with pytest.raises(ArgumentError, match=re.escape(message)):
            gpuprims.map(function, np.ones((2, 3)), index=index, device=device)


def test_vectors_have_no_index(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match="index= or vector_axis=; got both, 'i' and 0"):
        gpuprims.map(lambda p, i: p[0] + i, np.ones((2, 3)), index="i", vector_axis=0, device=device)
    with pytest.raises(ArgumentError, match=r"one array for each of \(x\); got 2"):
        gpuprims.map("x + i", np.ones(3), np.ones(3), index="i", device=device)
