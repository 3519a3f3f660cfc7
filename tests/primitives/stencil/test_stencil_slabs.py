"""Stencils of host arrays larger than a device's memory: the rows beside each slab, and all borders."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from kernel_cases import assert_equal, need
from scipy import ndimage

import gpuprims
from gpuprims.core import operands as arrays
from gpuprims.primitives.stencil.spec import Mode

MODES = get_args(Mode)
LOPSIDED = np.zeros((5, 5), np.int64)
LOPSIDED[[1, 2, 4], [0, 2, 4]] = 1, 2, 9


def _expected(x: np.ndarray, weights: np.ndarray, mode: Any, iterations: int) -> np.ndarray:
    weights = weights.reshape((1,) * (x.ndim - weights.ndim) + weights.shape)
    for _ in range(iterations):
        x = ndimage.correlate(x, weights, mode=mode, cval=3)
    return x


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(317, 131), (3, 200, 90), (40, 41, 22)])
def test_every_border(small: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...], mode: Any) -> None:
    x = rng.integers(-100, 100, shape, dtype=np.int32)
    for weights in (np.ones((3, 3), np.int64), LOPSIDED, LOPSIDED[::-1, ::-1], np.array([[1], [2], [3]])):
        for iterations in (1, 2):
            how = {"mode": mode, "cval": 3, "iterations": iterations, "device": small}
            assert_equal(gpuprims.stencil(x, weights, **how), _expected(x, weights, mode, iterations))


@pytest.mark.parametrize("mode", MODES)
def test_one_axis_and_three(small: gpuprims.Device, rng: np.random.Generator, mode: Any) -> None:
    x, weights = rng.integers(-100, 100, 50_021, dtype=np.int32), np.array([1, 2, 0, 0, 5])
    assert_equal(gpuprims.stencil(x, weights, mode=mode, cval=3, device=small), _expected(x, weights, mode, 1))
    x, weights = x[:50_000].reshape(40, 50, 25), rng.integers(-3, 3, (3, 5, 3))
    assert_equal(gpuprims.stencil(x, weights, mode=mode, cval=3, device=small), _expected(x, weights, mode, 1))


def test_sizes_around_the_ends_of_slabs(small: gpuprims.Device, rng: np.random.Generator) -> None:
    for rows in range(170, 180):  # slabs of 14 rows
        x = rng.integers(-100, 100, (rows, 64), dtype=np.int32)
        got = gpuprims.stencil(x, LOPSIDED, mode="wrap", device=small)
        assert_equal(got, _expected(x, LOPSIDED, "wrap", 1))


@pytest.mark.parametrize("kind", ["cross", "box", "gaussian"])
def test_blurs_of_channels(
    small: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    x = rng.integers(0, 255, (3, 150, 171), dtype=np.uint8)
    for axis in (0, 2):
        image = np.ascontiguousarray(np.moveaxis(x, 0, axis))
        how: dict[str, Any] = {"channel_axis": axis, "mode": "reflect", "device": small}
        got = gpuprims.blur(image, kind, **how)
        assert_equal(gpuprims.blur(image, kind, out=np.empty_like(image)[:], **how), got)
        for k in range(3):
            there = small.asarray(np.take(image, k, axis))
            expected = small.to_host(gpuprims.blur(there, kind, mode="reflect"))
            assert_equal(np.take(got, k, axis), expected)


def test_sums_in_halves_and_functions(small: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(-(2**62), 2**62, (130, 90))
    got = gpuprims.blur(x, "box", size=9, device=small)
    assert_equal(got, small.to_host(gpuprims.blur(small.asarray(x), "box", size=9)))
    y = rng.random((200, 90), np.float32).T
    out = np.empty((90, 400), np.float32)[:, ::2]
    found = gpuprims.stencil(y, lambda n: np.maximum(n[-2, 0], n[0, 1]), mode="constant", cval=9, out=out, device=small)
    assert found is out
    padded = np.pad(y, 2, constant_values=9)
    assert_equal(out, np.maximum(padded[:-4, 2:-2], padded[2:-2, 3:-1]))


def test_floats_are_the_same_in_every_run(small: gpuprims.Device, rng: np.random.Generator) -> None:
    need(small, np.float32)
    x = rng.standard_normal((300, 200)).astype(np.float32)
    got = gpuprims.blur(x, "gaussian", sigma=3, device=small)
    assert_equal(gpuprims.blur(x, "gaussian", sigma=3, device=small), got)
    assert arrays._ALWAYS_ROOM == 0
    np.testing.assert_allclose(got, ndimage.gaussian_filter(x, 3, mode="nearest"), rtol=1e-4, atol=1e-5)
