"""Weighted sums, Gaussian filters and derivatives against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from ndimage_cases import Draw, compare, draw_derivative, draw_gaussian, draw_linear, draws
from scipy import ndimage as scipy_ndimage

import gpuprims
from gpuprims import ndimage

DRAWS = (draw_linear, draw_gaussian, draw_derivative)
# Each call is a kernel to compile, but for NumPy.
COMPILED, BY_NUMPY = 6, 200


@pytest.mark.parametrize("draw", DRAWS)
def test_random_calls(device: gpuprims.Device, draw: Draw) -> None:
    count = BY_NUMPY if device.backend == "reference" else COMPILED
    for name, x, args, keywords in draws(draw, 0, count):
        compare(device, name, x, *args, **keywords)


@pytest.mark.parametrize("sigma", [0.5, 2, 5])
def test_means_of_equal_bytes_are_cut_as_by_scipy(device: gpuprims.Device, sigma: float) -> None:
    for number in (100, 255):
        x = np.full((40, 50), number, np.uint8)
        assert (ndimage.gaussian_filter(x, sigma, device=device) == scipy_ndimage.gaussian_filter(x, sigma)).all()


def test_long_lines_of_weights(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, weights = rng.random((3, 700)), rng.random(601)
    for axis in (0, 1):
        expected = scipy_ndimage.correlate1d(x, weights, axis)
        np.testing.assert_allclose(ndimage.correlate1d(x, weights, axis, device=device), expected, rtol=1e-12)
    expected = scipy_ndimage.gaussian_filter(x, 90)
    np.testing.assert_allclose(ndimage.gaussian_filter(x, 90, device=device), expected, rtol=1e-12)


def test_output_is_written_and_returned(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.random((20, 30)).astype(np.float32)
    out = np.empty((20, 30))
    assert ndimage.gaussian_filter(x, 1, output=out, device=device) is out
    np.testing.assert_allclose(out, scipy_ndimage.gaussian_filter(x, 1, output=np.float64), rtol=1e-12)
    expected = scipy_ndimage.gaussian_laplace(x, 1, output=np.float64)
    assert ndimage.gaussian_laplace(x, 1, output=out, device=device) is out
    np.testing.assert_allclose(out, expected, atol=1e-12)
    expected = scipy_ndimage.gaussian_filter(x, 1)
    assert ndimage.gaussian_filter(x, 1, output=x, device=device) is x  # in place
    np.testing.assert_allclose(x, expected, rtol=1e-5)


def test_warm_calls_see_new_elements_and_weights(device: gpuprims.Device, rng: np.random.Generator) -> None:
    weights = rng.random((3, 3))
    for k in range(4):
        x = rng.random((20, 30))
        weights[1, 1] = k // 2
        got = ndimage.correlate(x, weights, device=device)
        np.testing.assert_allclose(got, scipy_ndimage.correlate(x, weights), rtol=1e-12)


def test_arrays_without_elements(device: gpuprims.Device) -> None:
    for shape in ((0,), (3, 0), (2, 0, 4, 2)):
        assert ndimage.gaussian_filter(np.zeros(shape), 1, device=device).shape == shape
        assert ndimage.correlate(np.zeros(shape), np.ones((3,) * len(shape)), device=device).shape == shape
        assert ndimage.laplace(np.zeros(shape), device=device).shape == shape


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: ndimage.correlate(x, [1, 2]), r"ndimage.correlate: weights of 2 axes; got shape \(2,\)"),
        (lambda x: ndimage.correlate1d(x, []), r"one weight or more; got shape \(0,\)"),
        (lambda x: ndimage.correlate1d(x, [1, np.nan]), "finite weights; got nan"),
        (lambda x: ndimage.correlate1d(x, [1, 2, 3], origin=2), "origin= from -1 to 1 for 3 neighbours; got 2"),
        (lambda x: ndimage.correlate1d(x, [1, 2, 3], axis=2), r"axis from -2 to 1 for 2 dimension\(s\); got 2"),
        (lambda x: ndimage.correlate1d(x, [1, 2, 3], mode="edge"), r"got 'edge' \(did you mean 'nearest'\?\)"),
        (lambda x: ndimage.gaussian_filter(x, (1, 2, 3)), "one for each of 2 axes"),
        (lambda x: ndimage.gaussian_filter(x, "wide"), "sigma= a number"),
        (lambda x: ndimage.gaussian_filter(x, 1, order=-1), "order= a whole number from 0 on; got -1"),
        (lambda x: getattr(ndimage, "gaussian_filter")(x, 1, sigmas=2), "got sigmas"),  # noqa: B009 - an unknown keyword
        (lambda x: ndimage.uniform_filter(x, 0), "size= a whole number from 1 on; got 0"),
        (lambda x: ndimage.laplace(x * 1j), r"real numbers; got dtype complex128 \(filter .real and .imag\)"),
        (lambda x: ndimage.laplace(x[0, 0]), r"one axis or more; got shape \(\)"),
        (lambda x: ndimage.laplace(x, axes=(0, 0)), "each axis once"),
        (lambda x: ndimage.laplace(x.astype(np.uint8), mode="constant", cval=-1), "uint8 holds; got -1"),
        (lambda x: ndimage.laplace(x, np.empty((3, 3))), r"of the array's shape, \(4, 5\); got \(3, 3\)"),
    ],
)
def test_errors_say_what_to_do(call: object, said: str) -> None:
    with gpuprims.use_device("reference"), pytest.raises(gpuprims.errors.GpuprimsError, match=said):
        call(np.ones((4, 5)))  # type: ignore[operator]  # each is a function
