"""map with out= in the memory of an input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, Kernel, assert_equal, on_device, on_host, random_values

import gpuprims
from gpuprims.errors import ArgumentError


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("resident", [False, True])
def test_of_each_dtype_at_each_size(
    map_kernel: Kernel, rng: np.random.Generator, dtype: str, *, resident: bool
) -> None:
    map_kernel.need(dtype)
    for size in map_kernel.boundary_sizes:
        x = random_values(rng, dtype, size)
        place = on_device(map_kernel.device, x) if resident else x.copy()
        assert map_kernel.map("x + x", place, out=place) is place
        assert_equal(on_host(map_kernel.device, place) if resident else place, x + x)


VIEWS: dict[str, Any] = {
    "every second column": lambda whole: whole[:, ::2],
    "reversed": lambda whole: whole[::-1, ::-1],
    "transposed": lambda whole: whole.T,
    "in the middle": lambda whole: whole[3:50, 5:70],
}


@pytest.mark.parametrize("view", VIEWS)
def test_of_a_view(map_kernel: Kernel, rng: np.random.Generator, view: str) -> None:
    whole = random_values(rng, np.int32, (60, 90))
    expected, place = whole.copy(), VIEWS[view](whole)
    VIEWS[view](expected)[...] = 3 * place - 1
    map_kernel.map("3*x - 1", place, out=place)
    assert_equal(whole, expected)


@pytest.mark.parametrize("shape", [(5003,), (130, 70)])
def test_two_arrays_change_places(map_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x, y = random_values(rng, np.float32, (2, *shape))
    places = on_device(map_kernel.device, x), on_device(map_kernel.device, y)
    map_kernel.map(lambda x, y: (y, x), *places, out=places)
    for place, expected in zip(places, (y, x), strict=True):
        assert_equal(on_host(map_kernel.device, place), expected)


def test_beside_arrays_in_another_order_and_broadcast(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.int32, (150, 130)), np.asfortranarray(random_values(rng, np.int32, (150, 130)))
    row, expected = x[:1].copy(), x - 2 * y + x[:1]
    map_kernel.map("x - 2*y + row", x, y, row, out=x)
    assert_equal(x, expected)


def test_vectors(map_kernel: Kernel, rng: np.random.Generator) -> None:
    pixels = random_values(rng, np.uint8, (501, 4))
    expected = pixels[:, ::-1].copy()
    map_kernel.map(lambda p: (p[3], p[2], p[1], p[0]), pixels, vector_axis=-1, out=pixels)
    assert_equal(pixels, expected)


def test_by_a_plan_made_in_place(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 5003)
    place = on_device(device, x)
    plan = gpuprims.plan("map", "2*x", place, out=place, device=device)
    for _ in range(3):
        plan(place, out=place)
    assert_equal(on_host(device, place), 8 * x)
    assert_equal(on_host(device, plan(on_device(device, x))), 2 * x)
    apart = gpuprims.plan("map", "2*x", place, device=device)
    with pytest.raises(
        ArgumentError, match="map: out= apart from the arrays in memory; got one that overlaps an input"
    ):
        apart(place, out=place)


OVERLAPPING: dict[str, Any] = {
    "one element further": lambda x: (x[:-1], x[1:]),
    "backwards": lambda x: (x, x[::-1]),
    "every second": lambda x: (x[:50], x[::2]),
    "of another dtype": lambda x: (x, x.view(np.uint64)),
}


@pytest.mark.parametrize("case", OVERLAPPING)
def test_any_other_overlap_is_refused(device: gpuprims.Device, case: str) -> None:
    whole = np.arange(100)
    x, out = OVERLAPPING[case](whole)
    function = "uint64(x)" if out.dtype == np.uint64 else "2*x"
    with pytest.raises(ArgumentError, match="map: out= apart from the arrays in memory, or one of them; got one that"):
        gpuprims.map(function, x, out=out, device=device)
    assert_equal(whole, np.arange(100))
