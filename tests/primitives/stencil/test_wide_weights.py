"""Weights wider than a function's neighbourhood, against SciPy in float64 or exact integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need
from scipy import ndimage

import gpuprims

MODES = ["nearest", "reflect", "mirror", "wrap", "constant"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(33,), (101,), (601,), (33, 1), (1, 71), (35, 33), (41, 3), (5, 33, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int32"])
def test_one_array(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str, shape: tuple[int, ...], mode: Any
) -> None:
    need(device, dtype)
    lengths = {1: (3, 900), 2: (60, 110), 3: (9, 40, 50)}[len(shape)]
    whole = dtype in ("uint8", "int32")
    x = (rng.integers(0, 90, lengths) if whole else rng.standard_normal(lengths)).astype(dtype)
    weights = rng.integers(-9, 9, shape) if whole else rng.standard_normal(shape)
    axes = [*[1] * (x.ndim - len(shape)), *shape]
    exact = ndimage.correlate(x.astype(np.float64), weights.reshape(axes).astype(np.float64), mode=mode)
    got = gpuprims.stencil(x, weights, mode=mode, device=device)
    assert got.dtype == dtype
    if whole:
        assert_equal(got, np.rint(exact).astype(np.int64).astype(dtype))
    else:
        size = np.sqrt(np.prod(shape)) * {"float32": 1e-5, "float64": 1e-13}[dtype]
        np.testing.assert_allclose(got, exact, rtol=0, atol=size)


PADS = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap", "constant": "constant"}


@pytest.mark.parametrize("mode", MODES)
def test_weights_wider_than_the_array(device: gpuprims.Device, rng: np.random.Generator, mode: Any) -> None:
    """NumPy pads as the modes say; SciPy 1.17 reads other elements where "reflect" goes there and back."""
    for length in (2, 3, 5, 7):
        for width in (9, 33, 41, 101):
            x, weights = rng.standard_normal((2, length)).astype(np.float32), rng.standard_normal(width)
            pads: Any = PADS[mode]
            around = np.pad(x.astype(np.float64), ((0, 0), (width // 2, width // 2)), mode=pads)
            exact = [np.convolve(row, weights[::-1], "valid") for row in around]
            got = gpuprims.stencil(x, weights, mode=mode, device=device)
            np.testing.assert_allclose(got, exact, rtol=0, atol=1e-4)


def test_integers_of_64_bits(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need(device, "int64")
    x, weights = rng.integers(-(2**40), 2**40, 700), rng.integers(-9, 9, 61)
    exact = np.convolve(np.pad(x, 30, mode="edge"), weights[::-1], "valid")
    assert_equal(gpuprims.stencil(x, weights, device=device), exact)
