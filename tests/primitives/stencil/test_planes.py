"""stencil/planes: rows of every length, whole vectors or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import on_device, on_host
from scipy import ndimage

import gpuprims


@pytest.fixture
def planes(device: gpuprims.Device) -> gpuprims.Device:
    if device.backend == "reference":
        pytest.skip("has one kernel")
    return device


def check(device: gpuprims.Device, x: np.ndarray, weights: np.ndarray, **how: Any) -> None:
    expected = ndimage.correlate(x.astype(np.float64), weights, **how)
    got = gpuprims.stencil(x, weights, device=device, variant="planes", **how)
    assert got.dtype == x.dtype
    if x.dtype.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=1e-2 if x.dtype == np.float16 else 1e-4, atol=1e-4)
    else:
        np.testing.assert_array_equal(got, expected.astype(np.int64).astype(x.dtype))


# Either side of a work-item's elements, and of the lanes that share a row.
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 65, 97, 99, 127, 129, 131])
@pytest.mark.parametrize("dtype", ["uint16", "float32", "float64"])
def test_rows_of_every_length(planes: gpuprims.Device, rng: np.random.Generator, length: int, dtype: str) -> None:
    weights = np.arange(1, 28).reshape(3, 3, 3) % 5 * 1.0
    for shape in ((5, 4, length), (2, 37, length)):
        x = rng.integers(0, 200, shape).astype(dtype)
        for mode in ("reflect", "constant"):
            check(planes, x, weights, mode=mode, cval=3)


@pytest.mark.parametrize("mode", ["nearest", "reflect", "mirror", "wrap", "constant"])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "int16"])
def test_every_border(planes: gpuprims.Device, rng: np.random.Generator, mode: str, dtype: str) -> None:
    x = rng.integers(0, 9, (6, 7, 22)).astype(dtype)
    check(planes, x, np.ones((3, 3, 5)), mode=mode, cval=2)


def test_parts_of_arrays_in_place(planes: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.random((9, 10, 41), np.float32)
    for cut in (np.s_[:, :, 3:], np.s_[1:, 2:7, 1:36], np.s_[:, :, :4], np.s_[..., 8:40]):
        whole, out = (on_device(planes, one) for one in (x, np.full_like(x, 7)))
        gpuprims.stencil(whole[cut], np.ones((3, 3, 3)), out=out[cut], variant="planes")
        expected = np.full_like(x, 7)
        expected[cut] = ndimage.correlate(x[cut], np.ones((3, 3, 3)), mode="nearest")
        np.testing.assert_allclose(on_host(planes, out), expected, rtol=1e-5)
