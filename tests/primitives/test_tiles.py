"""map/tile: arrays that lie in memory along another axis than the results; and results in Fortran order."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, in_order, random_values, two_groups

import gpuprims
from gpuprims.errors import NoVariantError


@pytest.fixture
def tiles(device: gpuprims.Device) -> gpuprims.Device:
    if device.backend == "reference":
        pytest.skip("the reference has one kernel a primitive")
    return device


def mapped(device: gpuprims.Device, function: Any, *arrays: np.ndarray) -> Any:
    """Apply the kernel to arrays on the device whose axes lie in the same order as on the host."""
    result = gpuprims.map(function, *(in_order(device, array) for array in arrays), variant="tile")
    return tuple(map(device.to_host, result)) if isinstance(result, tuple) else device.to_host(result)


# Either side of a tile in both directions, and axes shorter than a side of one.
@pytest.mark.parametrize("shape", [(37, 29), (3, 400), (400, 3), (64, 65), (130, 200), (2, 2)])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex64"])
def test_an_array_and_its_transpose(
    tiles: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, int], dtype: str
) -> None:
    x, y = random_values(rng, dtype, shape[::-1]).T, random_values(rng, dtype, shape)
    assert_equal(mapped(tiles, "x + y", x, y), x + y)
    assert_equal(mapped(tiles, "x + y", x[:, ::-1], y[::-1]), x[:, ::-1] + y[::-1])
    both, right = mapped(tiles, "(x + z, y)", x, np.array(1, dtype), y)
    assert_equal(both, x + np.array(1, dtype))
    assert_equal(right, y)


@pytest.mark.parametrize("columns", [33, 39, 40, 41, 48, 49, 65, 97, 100, 160])
def test_tiles_of_other_sides(tiles: gpuprims.Device, rng: np.random.Generator, columns: int) -> None:
    for dtype in ("int32", "uint8", "complex128"):
        x, y = random_values(rng, dtype, (5, 3, 17, columns)), random_values(rng, dtype, (5, 3, columns, 17))
        turned = y.swapaxes(-1, -2)
        assert_equal(mapped(tiles, "x + y", x, turned), x + turned)
        assert_equal(mapped(tiles, "x + y", x[:, :, ::-1], turned[1:2]), x[:, :, ::-1] + turned[1:2])


# Rows of whole vectors in both, one or neither of the arrays; several squares of tiles, more along one axis.
@pytest.mark.parametrize("shape", [(1040, 1056), (1030, 1041), (2100, 520), (16, 66_000), (1028, 1023)])
@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8"])
def test_tiles_of_vectors(tiles: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> None:
    x, y = random_values(rng, dtype, shape), random_values(rng, dtype, shape[::-1])
    assert_equal(mapped(tiles, "x + y", x, y.T), x + y.T)
    resident = in_order(tiles, y.T)
    out = tiles.asarray(np.zeros((shape[0], shape[1] + 3), dtype))[:, 3:]
    gpuprims.map("x > 3", resident, out=tiles.asarray(np.zeros(shape, bool)), variant="tile")
    gpuprims.map("3 * x", resident, out=out, variant="tile")
    assert_equal(tiles.to_host(gpuprims.map("x", out)), 3 * y.T)


def test_small_arrays_that_are_broadcast_need_no_tiles(tiles: gpuprims.Device, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.float32, (5, 40, 30)), random_values(rng, np.float32, (5, 40))
    with pytest.raises(NoVariantError, match="lie in memory along another axis"):
        mapped(tiles, "x + y", x, y.T[:, :, None].transpose(1, 0, 2))
    assert_equal(gpuprims.map("x + y", x, y[:, :, None], device=tiles), x + y[:, :, None])


@pytest.mark.parametrize("shape", [(7, 40, 33), (3, 50, 70), (70, 3, 50), (50, 70, 3)])
def test_every_order_of_three_axes(tiles: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x = random_values(rng, np.int16, shape)
    for axes in itertools.permutations(range(3)):
        view = x.transpose(axes)
        y = np.ascontiguousarray(view)
        if axes in ((0, 1, 2), (1, 0, 2)):  # the last axis is still the last
            with pytest.raises(NoVariantError, match="lie in memory along another axis"):
                mapped(tiles, "x - 3*y", view, y)
        else:
            assert_equal(mapped(tiles, "x - 3*y", view, y), view - 3 * y)


def test_groups_of_several_tiles(
    tiles: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = random_values(rng, np.float32, (150, 170))
    with two_groups(tiles, monkeypatch):
        got = mapped(tiles, "x + y", x, random_values(rng, np.float32, (170, 150)).T * 0)
    assert_equal(got, x)


@pytest.mark.parametrize("shape", [(30, 40), (5, 6, 7)])
def test_results_lie_in_memory_as_the_arrays_do(
    device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...]
) -> None:
    x, y = random_values(rng, np.float32, shape), random_values(rng, np.float32, shape)
    for arrays in ((x,), (x.T,), (x.T, y.T), (x.T, x.T[:, :1]), (x[..., 1:].T,), (x[::-1].T,)):
        function = "x + x" if len(arrays) == 1 else "x + y"
        got, expected = gpuprims.map(function, *arrays, device=device), np.add(*(arrays * 2)[:2])
        assert_equal(got, expected)
        if device.driver.shares_host_memory:  # other devices get a copy in C order
            assert got.strides == expected.strides
        out = np.empty(expected.shape, np.float32)
        assert gpuprims.map(function, *arrays, out=out, device=device) is out
        assert_equal(out, expected)
    resident = in_order(device, x.T)
    got = gpuprims.map("x + x", resident, device=device)
    assert_equal(device.to_host(got), x.T + x.T)
    assert got.strides == x.T.strides
    mixed = gpuprims.map("x + y", x.T, np.ascontiguousarray(y.T), device=device)
    assert mixed.flags.c_contiguous


def test_results_of_device_arrays_lie_in_any_order_that_their_library_reads(
    device: gpuprims.Device, rng: np.random.Generator
) -> None:
    x = random_values(rng, np.float32, (5, 6, 7))
    for axes in itertools.permutations(range(3)):
        view = x.transpose(axes)
        resident, part = in_order(device, view), in_order(device, view[:1])
        got, less = gpuprims.map("(x + y + 1, x < y)", resident, part, device=device)
        assert_equal(device.to_host(got), view + view[:1] + 1)
        assert_equal(device.to_host(less), view < view[:1])
        if hasattr(resident, "__dlpack__") or axes in ((0, 1, 2), (2, 1, 0)):  # pyopencl reads C and Fortran order
            assert got.strides == view.strides
        out = device.asarray(np.zeros(view.shape, np.float32))
        assert gpuprims.map("2 * x", resident, out=out) is out
        assert_equal(device.to_host(out), 2 * view)


def test_results_of_host_arrays_lie_in_any_order_of_axes(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if not device.driver.shares_host_memory:
        pytest.skip("results come from the device in C or Fortran order")
    x, y = random_values(rng, np.float32, (2, 5, 6, 7))
    for axes in itertools.permutations(range(3)):
        a, b = x.transpose(axes), y.transpose(axes)[::-1]
        for arrays in ((a, b), (a, b[:1]), (a, b[0, :, :1]), (a, np.float32(3)), (a[..., ::2], b[..., ::2])):
            got, expected = gpuprims.map("x - 2*y", *arrays, device=device), arrays[0] - 2 * arrays[1]
            assert_equal(got, expected)
            if np.shape(arrays[1]) in ((), arrays[0].shape):
                assert got.strides == expected.strides
        left, right = gpuprims.map("(x + y, x > y)", a, b, device=device)
        assert_equal(left, a + b)
        assert_equal(right, a > b)
        assert right.strides == (a > b).strides
        out = np.empty(a.shape, np.float32)
        assert gpuprims.map("x - y", a, b, out=out, device=device) is out
        assert_equal(out, a - b)
    mixed = gpuprims.map("x + y", x.transpose(1, 0, 2), np.ascontiguousarray(y.transpose(1, 0, 2)), device=device)
    assert mixed.flags.c_contiguous
