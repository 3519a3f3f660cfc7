"""Binary filters of NumPy arrays that NumPy computes: of other dtypes, with masks, and along more than three axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage as scipys

import gpuprims
from gpuprims import ndimage

NAMES = ["binary_erosion", "binary_dilation", "binary_opening", "binary_closing"]


def keywords(rng: np.random.Generator, shape: tuple[int, ...]) -> dict[str, Any]:
    drawn: dict[str, Any] = {"iterations": int(rng.integers(1, 4)), "border_value": int(rng.integers(2))}
    if rng.random() < 0.5:
        drawn["structure"] = rng.random(tuple(rng.integers(1, 4, len(shape)))) < 0.7
        drawn["structure"].flat[0] = True
        drawn["origin"] = tuple(int(rng.integers(-(n // 2), (n + 1) // 2)) for n in drawn["structure"].shape)
    if rng.random() < 0.5:
        drawn["mask"] = rng.random(shape) < 0.7
    return drawn


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("name", NAMES)
def test_random_calls(device: gpuprims.Device, rng: np.random.Generator, name: str) -> None:
    for ndim in (1, 2, 3, 4, 5, 4):
        shape = tuple(rng.integers(1, 8, ndim))
        how = keywords(rng, shape)
        for x in (rng.random(shape) < 0.6, rng.integers(0, 3, shape, dtype=np.int16)[::-1]):
            expected = getattr(scipys, name)(x, brute_force=True, **how)
            for _ in range(2):  # the second call is a warm one
                np.testing.assert_array_equal(getattr(ndimage, name)(x, device=device, **how), expected)
            out = np.empty(shape, np.int32)
            getattr(ndimage, name)(x, output=out, device=device, **how)
            np.testing.assert_array_equal(out, expected)


@pytest.mark.usefixtures("numpy_computes")
def test_until_nothing_changes(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, mask = np.zeros((9, 11), np.uint8), rng.random((9, 11)) < 0.8
    x[4, 5] = 1
    got = ndimage.binary_dilation(x, iterations=-1, mask=mask, device=device)
    np.testing.assert_array_equal(got, scipys.binary_dilation(x, iterations=-1, mask=mask))


@pytest.mark.parametrize(
    ("name", "before"),
    [("uniform_filter", (3,)), ("gaussian_filter", (1.0, 0)), ("binary_dilation", (None, 1, None)), ("laplace", ())],
)
def test_an_output_without_its_name_is_written_again(
    device: gpuprims.Device, rng: np.random.Generator, name: str, before: tuple[Any, ...]
) -> None:
    x = rng.random((12, 17))
    expected = getattr(scipys, name)(x, *before)
    out = np.zeros_like(expected)
    for _ in range(4):  # from the third call on, the output has the elements of a call before
        getattr(ndimage, name)(x, *before, out, device=device)
        np.testing.assert_allclose(out, expected, rtol=1e-12)
    out[:] = 0
    getattr(ndimage, name)(x, *before, out, device=device)
    np.testing.assert_allclose(out, expected, rtol=1e-12)
