"""Filters by shape, grey and binary, and by functions of neighbours, against SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from device_doubles import runtimes
from ndimage_cases import compare, draw_shape, draws
from scipy import ndimage as scipy_ndimage

import gpuprims
from gpuprims import ndimage
from gpuprims.backends.opencl.device import OpenCLDriver
from gpuprims.errors import ArgumentError

# Each call is a kernel to compile, but for NumPy.
COMPILED, BY_NUMPY = 5, 200


def test_random_calls(device: gpuprims.Device) -> None:
    count = BY_NUMPY if device.backend == "reference" else COMPILED
    for name, x, args, keywords in draws(draw_shape, 0, count):
        compare(device, name, x, *args, **keywords)


def test_large_structures(device: gpuprims.Device, rng: np.random.Generator) -> None:
    y, x = np.ogrid[-9:10, -9:10]
    disk, image = y * y + x * x <= 81, rng.random((60, 90)) > 0.02
    assert (ndimage.binary_erosion(image, disk, device=device) == scipy_ndimage.binary_erosion(image, disk)).all()
    grey = rng.integers(0, 99, (60, 90)).astype(np.uint8)
    expected = scipy_ndimage.grey_dilation(grey, footprint=disk)
    assert (ndimage.grey_dilation(grey, footprint=disk, device=device) == expected).all()


@pytest.mark.parametrize("masked", [False, True])
def test_until_nothing_changes(device: gpuprims.Device, rng: np.random.Generator, masked: bool) -> None:
    x, mask = np.zeros((40, 50), bool), rng.random((40, 50)) < 0.7
    x[20, 20] = True
    how: dict[str, Any] = {"iterations": 0, "mask": mask if masked else None}
    assert (ndimage.binary_dilation(x, device=device, **how) == scipy_ndimage.binary_dilation(x, **how)).all()


def test_devices_with_memory_of_their_own(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = runtimes()[0]
    if not isinstance(spec, str):
        pytest.skip("OpenCL's runtimes for CPUs are absent")
    monkeypatch.setattr(OpenCLDriver, "shares_host_memory", property(lambda driver: False))
    x = rng.integers(0, 99, (6, 7, 4, 5))
    for name, argument in (("correlate", np.ones((2, 2, 2, 3))), ("maximum_filter", (1, 1, 1, 40)), ("laplace", None)):
        args = () if argument is None else (argument,)
        compare(gpuprims.Device(spec), name, x, *args)


FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    lambda v: v.max() - np.min(v),
    lambda v: v.std() + v[0] * v[-1],
    lambda v: np.mean(v[1:3]) - np.sqrt(np.sum(v * v)),
    lambda v: v.var(ddof=1) + sum(v),
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_neighbours(
    device: gpuprims.Device, rng: np.random.Generator, function: Callable[[Any], Any]
) -> None:
    footprint = np.array([[1, 0, 1], [1, 1, 0]])
    for dtype in (np.float64, np.float32, np.uint8):
        x = (100 * rng.random((20, 30))).astype(dtype)
        how: dict[str, Any] = {"footprint": footprint, "mode": "mirror", "origin": (-1, 0), "output": np.float64}
        expected = scipy_ndimage.generic_filter(x, function, **how)
        got = ndimage.generic_filter(x, function, device=device, **how)
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    x4 = rng.random((5, 4, 3, 6))
    expected = scipy_ndimage.generic_filter(x4, lambda v, a, b=0: v[0] * a + b, 2, extra_arguments=(3,))
    got = ndimage.generic_filter(x4, lambda v, a, b=0: v[0] * a + b, 2, extra_arguments=(3,), device=device)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: ndimage.grey_erosion(x), "size= or footprint=; got neither"),
        (lambda x: ndimage.grey_erosion(x, structure=np.ones((3, 50))), "structure= of up to 128 neighbours; got 150"),
        (
            lambda x: ndimage.grey_erosion(x, footprint=np.ones((3, 3)), structure=np.ones((1, 3))),
            r"structure= of the footprint's shape, \(3, 3\); got \(1, 3\)",
        ),
        (lambda x: ndimage.binary_erosion(x, np.zeros((3, 3))), "with an element that counts"),
        (lambda x: ndimage.binary_erosion(x, iterations=True), "iterations= a whole number; got True"),
        (
            lambda x: ndimage.binary_erosion(x, iterations=10**30),
            "iterations= a whole number up to 2147483647",
        ),
        (lambda x: ndimage.binary_opening(x, brute_force=np.ones(2)), "brute_force= True or False; got"),  # type: ignore[arg-type]
        (lambda x: ndimage.uniform_filter(x, 10**30), "size= a whole number up to 2147483647; got 1000"),
        (lambda x: ndimage.median_filter(x, 2**63), "size= a whole number up to 2147483647; got 9223"),
        (lambda x: ndimage.binary_dilation(x, mask=np.ones(5)), r"mask= of the array's shape, \(4, 5\); got \(5,\)"),
        (lambda x: ndimage.binary_erosion(x, [[1, 0, 1]], iterations=0), "which may never stop changing; got 0"),
        (
            lambda x: ndimage.generic_filter(x, lambda v: v[9], 3),
            r"a row of neighbours, .* got index 9 is out of bounds",
        ),
        (lambda x: ndimage.generic_filter(x, lambda v: v * 2, 3), "returns one number; got a row of 9"),
        (lambda x: ndimage.generic_filter(x, lambda v: v[0], 23), "up to 512 neighbours; got 529"),
        (lambda x: ndimage.generic_filter(x, lambda v: max(v), 3), "np.maximum"),
    ],
)
def test_errors_say_what_to_do(call: Callable[[Any], object], said: str) -> None:
    with gpuprims.use_device("reference"), pytest.raises(gpuprims.errors.GpuprimsError, match=said):
        call(np.ones((4, 5)))


@pytest.mark.parametrize(
    ("name", "args"), [("gaussian_filter", (1,)), ("minimum_filter", (3,)), ("grey_erosion", (3,)), ("laplace", ())]
)
def test_more_axes_than_scipy_filters(rng: np.random.Generator, name: str, args: tuple[Any, ...]) -> None:
    """SciPy's results are wrong beyond 32 axes, so the oracle has those along which there is more than one element."""
    x, call = rng.random((6, 7)), getattr(ndimage, name)
    expected = getattr(scipy_ndimage, name)(x, *args)
    for axes in (33, 64):
        found = call(x.reshape((6, *(1,) * (axes - 2), 7)), *args, device="reference")
        np.testing.assert_allclose(found.reshape(6, 7), expected, atol=1e-12 if name != "laplace" else 1e-9)


def test_a_default_structure_of_many_axes_is_refused() -> None:
    x = np.ones((1,) * 31 + (3, 3), bool)
    with pytest.raises(ArgumentError, match=r"structure= for more than 12 axes.*3\^33 bools; got none"):
        ndimage.binary_erosion(x, device="reference")
    with pytest.raises(ArgumentError, match=r"size= a box of at most 16777216 neighbours along all axes; got"):
        ndimage.median_filter(x, 3, device="reference")
    inner = ndimage.binary_erosion(x, axes=(31, 32), device="reference")
    assert inner.sum() == 1
