"""stencil and blur under Oclgrind and compute-sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal
from scipy import ndimage
from watched_kernels import each, of

import gpuprims

pytestmark = pytest.mark.oclgrind

COLUMNS = [variant for variant in of("stencil") if variant.name == "columns"]
ROLLING = [variant for variant in of("stencil") if variant.name == "rolling"]
SEPARABLE = [variant for variant in of("stencil") if variant.name == "separable"]
LONG_ROWS = [variant for variant in of("stencil") if variant.name in ("long_rows", "cpu_long_rows")]
VOLUMES = [variant for variant in of("stencil") if variant.name == "volumes"]
STENCILS = [variant for variant in of("stencil") if variant not in COLUMNS + SEPARABLE + LONG_ROWS + VOLUMES]
IN_SPACE = [variant for variant in STENCILS if variant.name in ("cpu_rows", "cpu_dense", "planes", "dense")]


@each(STENCILS)
@pytest.mark.parametrize("mode", ["reflect", "constant"])
def test_stencils_at_borders(kernel: Kernel, rng: np.random.Generator, mode: str) -> None:
    weights = np.arange(-7, 8).reshape(3, 5)
    for shape in ((1, 1), (21, 70)):
        x = rng.integers(-9, 9, shape).astype(np.int32)
        got = gpuprims.stencil(x, weights, mode=mode, cval=2, device=kernel.device, variant=kernel.variant.name)
        assert_equal(got, ndimage.correlate(x, weights, mode=mode, cval=2))


@each(STENCILS)
def test_stencils_in_two_steps_and_of_channels(kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, (9, 30, 3)).astype(np.float32)
    weights = np.outer([1, 2, 1], [1, 0, 2, 0, 1])
    how = {"device": kernel.device, "variant": kernel.variant.name}
    got = gpuprims.stencil(x, weights * 0.5, mode="reflect", channel_axis=-1, **how)
    expected = [ndimage.correlate(x[..., c], weights * 0.5, mode="reflect") for c in range(3)]
    np.testing.assert_allclose(got, np.stack(expected, -1), rtol=1e-5)


@each(STENCILS)
def test_stencils_of_bytes_three_times(kernel: Kernel, rng: np.random.Generator) -> None:
    means = x = rng.integers(0, 256, (15, 30, 3)).astype(np.uint8)
    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])[..., np.newaxis]
    for _ in range(3):
        means = (ndimage.correlate(means.astype(np.int64), cross, mode="reflect") // 5).astype(np.uint8)
    how = {"device": kernel.device, "variant": kernel.variant.name}
    assert_equal(gpuprims.blur(x, mode="reflect", channel_axis=-1, iterations=3, **how), means)


@each(ROLLING)
@pytest.mark.parametrize("mode", ["wrap", "constant"])
def test_narrow_rows_that_begin_anywhere(kernel: Kernel, rng: np.random.Generator, mode: str) -> None:
    weights = np.array([[1, 0, 2], [0, 3, 1], [2, 1, 1]])
    how = {"mode": mode, "cval": 2, "device": kernel.device, "variant": kernel.variant.name}
    for dtype in (np.uint8, np.int16):
        x = rng.integers(0, 9, (11, kernel.variant.tile + 91)).astype(dtype)
        for view in (x, x[1:, 3:]):
            expected = ndimage.correlate(view.astype(np.int64), weights, mode=mode, cval=2)
            assert_equal(gpuprims.stencil(view, weights, **how), expected.astype(dtype))


@each(COLUMNS)
@pytest.mark.parametrize("mode", ["reflect", "constant"])
def test_columns_at_borders(kernel: Kernel, rng: np.random.Generator, mode: str) -> None:
    how = {"mode": mode, "device": kernel.device, "variant": kernel.variant.name}
    for length in (3, 31):
        weights = rng.integers(-9, 9, (length, 1))
        for shape in ((1, 1), (2, 19, 130), (70, 40)):
            x = rng.integers(-9, 9, shape).astype(np.int32)
            own = weights if x.ndim == 2 else weights[np.newaxis]
            assert_equal(gpuprims.stencil(x, own, cval=2, **how), ndimage.correlate(x, own, mode=mode, cval=2))
    wide = rng.integers(0, 9, (40, 20)).astype(np.float32)  # fewer rows than the weights reach
    expected = ndimage.gaussian_filter1d(wide, 12, 0, mode=mode, cval=2)
    np.testing.assert_allclose(gpuprims.blur(wide, "gaussian", sigma=(12, 0.1), cval=2, **how), expected, rtol=1e-4)


@each(SEPARABLE)
@pytest.mark.parametrize("mode", ["reflect", "constant"])
def test_products_at_borders(kernel: Kernel, rng: np.random.Generator, mode: str) -> None:
    how = {"mode": mode, "cval": 2, "device": kernel.device, "variant": kernel.variant.name}
    weights = np.outer(rng.random(7), rng.random(9)) / 9
    for shape in ((1, 2, 2), (20, 14, 2)):
        x = rng.random(shape).astype(np.float16)
        expected = ndimage.correlate(x.astype(np.float64), weights[..., np.newaxis], mode=mode, cval=2)
        np.testing.assert_allclose(gpuprims.stencil(x, weights, channel_axis=2, **how), expected, rtol=1e-2)
    x = rng.integers(0, 99, (2, 13, 22)).astype(np.uint8)  # fewer rows than the weights reach
    expected = ndimage.gaussian_filter(x.astype(np.float64), (0, 4, 4), mode=mode, cval=2)
    assert np.abs(gpuprims.blur(x, "gaussian", sigma=4, **how) - expected).max() <= 1


@each(IN_SPACE)
@pytest.mark.parametrize("mode", ["mirror", "constant"])
def test_stencils_in_space(kernel: Kernel, rng: np.random.Generator, mode: str) -> None:
    how = {"mode": mode, "cval": 2, "device": kernel.device, "variant": kernel.variant.name}
    weights = rng.integers(-9, 9, (3, 3, 3))
    for shape in ((1, 2, 3), (3, 9, 33)):
        x = rng.integers(-9, 9, shape).astype(np.int32)
        assert_equal(gpuprims.stencil(x, weights, **how), ndimage.correlate(x, weights, mode=mode, cval=2))


@each(VOLUMES)
@pytest.mark.parametrize(("mode", "dtype"), [("mirror", np.float32), ("constant", np.uint8)])
def test_volumes_at_borders(kernel: Kernel, rng: np.random.Generator, mode: str, dtype: Any) -> None:
    how = {"mode": mode, "cval": 2, "device": kernel.device, "variant": kernel.variant.name}
    weights = np.einsum("i,j,k", [2, 1, 0.5, 0, 1], [1, 0, 3, 1, 2], [3, 1, 4, 1, 5])
    for shape in ((1, 1, 2), (5, 17, 34), (2, 1, 3, 132)):
        x = rng.integers(0, 9, shape).astype(dtype)
        got = gpuprims.stencil(x, weights, dtype=np.float32, **how)
        own = weights[(None,) * (x.ndim - 3)]
        np.testing.assert_allclose(got, ndimage.correlate(x.astype(float), own, mode=mode, cval=2), rtol=1e-5)


@each(LONG_ROWS)
@pytest.mark.parametrize("mode", ["mirror", "constant"])
def test_long_rows_at_borders(kernel: Kernel, rng: np.random.Generator, mode: str) -> None:
    how = {"mode": mode, "cval": 2, "device": kernel.device, "variant": kernel.variant.name}
    for weights in (rng.integers(-9, 9, 41), rng.integers(-9, 9, 165), np.full(45, -2)):
        for shape in ((90,), (2, 3, 41), (1, 1300)):
            x = rng.integers(-9, 9, shape).astype(np.int32)
            assert_equal(gpuprims.stencil(x, weights, **how), ndimage.correlate1d(x, weights, mode=mode, cval=2))
