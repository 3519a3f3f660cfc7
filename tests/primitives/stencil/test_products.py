"""Products of a row and a column: rings of rows, rows that begin anywhere, integers that are summed in floats."""

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

KERNELS = ("separable", None)


def blurred(device: gpuprims.Device, x: np.ndarray, kind: Any, **how: Any) -> list[np.ndarray]:
    """Return blurs by the kernels of this device that take the call, and by the call without a name."""
    return by_kernels(device, KERNELS, lambda name: gpuprims.blur(x, kind, device=device, variant=name, **how))


# Rings of 40 and of 56 rows, shorter than two steps of 32 and not; three strips of columns, and several channels.
@pytest.mark.parametrize(("sigma", "mode"), [(1, "reflect"), (3, "constant")])
@pytest.mark.parametrize(("shape", "channels"), [((150, 170), None), ((2, 110, 33), None), ((90, 60, 3), -1)])
def test_gaussians_of_many_rows(
    device: gpuprims.Device,
    rng: np.random.Generator,
    shape: tuple[int, ...],
    channels: int | None,
    sigma: int,
    mode: str,
) -> None:
    x = rng.random(shape)
    sigmas = (sigma, sigma, 0) if channels else (0,) * (x.ndim - 2) + (sigma, sigma)
    expected = ndimage.gaussian_filter(x, sigmas, mode=mode, cval=2)
    for got in blurred(device, x, "gaussian", sigma=sigma, channel_axis=channels, mode=mode, cval=2):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16"])
def test_boxes_of_narrow_integers_are_exact(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, (75, 100), endpoint=True).astype(dtype)[1:, 3:]
    for size in (5, 31):  # sums of 31 x 31 numbers of 16 bits do not fit in float32
        total = ndimage.correlate(x.astype(np.int64), np.ones((size, size), np.int64), mode="mirror")
        means = (np.sign(total) * (np.abs(total) // size**2)).astype(dtype)
        for got in blurred(device, x, "box", size=size, mode="mirror"):
            assert_equal(got, means)


@pytest.mark.parametrize(
    ("columns", "dtype", "size", "name"),
    [
        (4096, "u1", 5, "rolling"),
        (4095, "u1", 5, "separable"),
        (4095, "f4", 5, "rolling"),
        (4096, "i2", 25, "separable"),
    ],
)
def test_rows_that_begin_anywhere_are_filtered_in_strips(columns: int, dtype: str, size: int, name: str) -> None:
    driver = CompilingDriver("cuda", usual_device("gpu", 32))
    gpuprims.blur(resident(4096, columns, dtype=dtype), "box", size=size, device=gpuprims.Device._of(driver))
    assert [variant.name for variant, _ in driver.asked] == [name]


def test_products_of_three_lines_take_two_launches() -> None:
    driver = CompilingDriver("cuda", usual_device("gpu", 32))
    lines = np.multiply.outer(np.arange(1, 6), np.outer(np.arange(1, 6), np.arange(1, 6))) / 7
    gpuprims.stencil(resident(64, 64, 64), lines, device=gpuprims.Device._of(driver))
    assert [variant.name for variant, _ in driver.asked] == ["rolling", "rolling"]
