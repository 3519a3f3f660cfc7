"""Many weights, and weights of three axes: kernels that read weights from memory, or keep planes in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_calls import CompilingDriver, resident
from kernel_cases import assert_equal
from scipy import ndimage
from stencil_cases import by_kernels

import gpuprims
from gpuprims.cli.text_driver import usual_device

MODES = ("nearest", "reflect", "mirror", "wrap", "constant")
KERNELS = ("dense", "columns", "planes", "cpu_dense", "cpu_rows", "rolling", "separable", None)


def results(device: gpuprims.Device, x: np.ndarray, weights: np.ndarray, **how: Any) -> list[np.ndarray]:
    """Return the results of the kernels of this device that take the call, and of the call without a name."""
    return by_kernels(device, KERNELS, lambda name: gpuprims.stencil(x, weights, device=device, variant=name, **how))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(3, 1, 1), (1, 5, 3), (3, 3, 3), (5, 3, 7)])
def test_weights_of_three_axes(
    device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...], mode: str
) -> None:
    weights = rng.integers(-3, 4, shape)
    for size in ((1, 2, 3), (9, 21, 64), (6, 35, 131)):
        x = rng.integers(-9, 9, size).astype(np.int32)
        expected = ndimage.correlate(x, weights, mode=mode, cval=2)
        for got in results(device, x, weights, mode=mode, cval=2):
            assert_equal(got, expected)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(15, 15), (31, 1), (3, 31), (7, 5, 9)])
def test_many_weights_of_every_dtype(
    device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...], dtype: str
) -> None:
    weights = rng.random(shape) / np.prod(shape)
    x = (100 * rng.random((11, 40, 150)[-len(shape) :])).astype(dtype)
    expected = ndimage.correlate(x.astype(np.float64), weights, mode="mirror")
    close = {"float16": 0.1, "float32": 1e-4, "float64": 1e-10}.get(dtype, 1)  # whole numbers are cut
    for got in results(device, x, weights, mode="mirror"):
        assert got.dtype == x.dtype
        assert np.abs(got - expected).max() <= close


@pytest.mark.parametrize("channels", [2, 3])
def test_many_weights_of_channels(device: gpuprims.Device, rng: np.random.Generator, channels: int) -> None:
    weights = rng.integers(-9, 9, (9, 31))
    x = rng.integers(-9, 9, (20, 70, channels)).astype(np.int32)
    expected = np.stack([ndimage.correlate(x[..., c], weights, mode="wrap") for c in range(channels)], -1)
    for axis in range(3):
        moved = np.ascontiguousarray(np.moveaxis(x, -1, axis))
        got = gpuprims.stencil(moved, weights, mode="wrap", channel_axis=axis, device=device)
        assert_equal(np.moveaxis(got, axis, -1), expected)


def test_zeros_among_many_weights_keep_nan_out(device: gpuprims.Device, rng: np.random.Generator) -> None:
    weights = rng.random((13, 13))
    weights[rng.random((13, 13)) < 0.4] = 0
    x = rng.random((40, 60)).astype(np.float32)
    x[20, 30] = np.nan
    for got in results(device, x, weights):
        assert np.isnan(got).sum() == np.count_nonzero(weights)


def test_products_of_three_lines_that_are_rounded(device: gpuprims.Device, rng: np.random.Generator) -> None:
    lines = [0.1 + rng.random(length) for length in (5, 7, 5)]
    weights = np.multiply.outer(np.multiply.outer(*lines[:2]), lines[2]).astype(np.float32)
    x = rng.random((9, 30, 50)).astype(np.float32)
    for mode in ("constant", "reflect"):
        expected = ndimage.correlate(x.astype(np.float64), weights.astype(np.float64), mode=mode, cval=3)
        got = gpuprims.stencil(x, weights, mode=mode, cval=3, device=device)
        np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_rows_that_do_not_lie_side_by_side(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, weights = rng.integers(-9, 9, (20, 30, 40)).astype(np.int32), rng.integers(-9, 9, (3, 3, 3))
    for view in (x.T, x[..., ::-1], x[:, ::2, 3:], x.transpose(1, 0, 2)):
        got = gpuprims.stencil(view, weights, mode="reflect", device=device)
        assert_equal(got, ndimage.correlate(np.ascontiguousarray(view), weights, mode="reflect"))


@pytest.mark.parametrize(
    ("rows", "sigma", "names"),
    [
        (4096, 1, ["rolling"]),
        (4096, 3, ["separable"]),
        (4096, 8, ["separable"]),
        (4096, 20, ["long_rows", "separable"]),
    ],
)
def test_many_weights_of_products_are_read_from_memory_on_gpus(rows: int, sigma: int, names: list[str]) -> None:
    driver = CompilingDriver("cuda", usual_device("gpu", 32))
    gpuprims.blur(resident(rows, 4096), "gaussian", sigma=sigma, device=gpuprims.Device._of(driver))
    assert [variant.name for variant, _ in driver.asked] == names


@pytest.mark.parametrize("shape", [(5, 5, 9), (3, 5, 15), (3, 3, 31), (13, 15)])
def test_rows_of_more_weights_than_are_applied_at_once(
    device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...]
) -> None:
    weights = rng.random(shape)
    for size in ((9, 33, 65), (4, 5, 30), (3, 40, 70)):
        x = rng.random(size[-len(shape) :])
        for got in results(device, x, weights, mode="nearest"):
            np.testing.assert_allclose(got, ndimage.correlate(x, weights, mode="nearest"), rtol=1e-12)


@pytest.mark.parametrize(("columns", "block"), [(90, 32), (256, 64), (8192, 128)])
def test_short_rows_take_small_groups_on_gpus(columns: int, block: int) -> None:
    driver = CompilingDriver("cuda", usual_device("gpu", 32))
    gpuprims.blur(resident(64, columns), "box", device=gpuprims.Device._of(driver))
    assert [variant.block for variant, _ in driver.asked] == [block]


def test_small_arrays_take_more_tiles_on_gpus(rng: np.random.Generator) -> None:
    driver = CompilingDriver("cuda", usual_device("gpu", 32))
    for size in (64, 256):
        x = resident(size, size, size, dtype="f8")
        gpuprims.stencil(x, rng.random((7, 7, 7)), variant="dense", device=gpuprims.Device._of(driver))
    small, large = (spec.block for _, spec in driver.asked)
    assert small.rows * small.planes < large.rows * large.planes


def test_broadcast_arrays_are_one_element_everywhere(device: gpuprims.Device) -> None:
    for shape in ((1,), (1, 300), (300, 1), (1, 1)):
        x = np.broadcast_to(np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape), (300, 300)[: len(shape)])
        weights = np.ones((3,) * len(shape))
        got = gpuprims.stencil(x, weights, mode="nearest", device=device)
        assert_equal(got, ndimage.correlate(np.ascontiguousarray(x), weights, mode="nearest"))
