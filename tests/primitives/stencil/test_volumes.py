"""stencil/volumes: rows, columns and planes in one launch, against SciPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_calls import CompilingDriver, resident
from scipy import ndimage
from stencil_calls import filtered
from stencil_cases import by_kernels

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.errors import NoVariantError

# Two launches, too, which must not differ.
KERNELS = ("volumes", None)
MODES = ("nearest", "reflect", "mirror", "wrap", "constant")
ERRORS = {"f2": 1e-3, "f4": 2e-6, "f8": 1e-14}


def check(device: gpuprims.Device, name: str, x: np.ndarray, argument: Any, dtype: str, **how: Any) -> None:
    """Compare a filter with SciPy's."""
    if dtype == "f8" and not device.capabilities.fp64:
        pytest.skip("needs float64")
    expected = getattr(ndimage, name)(x.astype(float), argument, **how)
    for got in by_kernels(device, KERNELS, lambda v: filtered(name, x, argument, device, v, output=dtype, **how)):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=0, atol=ERRORS[dtype] * max(np.abs(x).max(), 1))


# Tiles of 128 x 16, 64 x 32 and 32 x 64 columns and rows of float32; planes in one strip and in several.
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (9, 15, 127), (3, 17, 129), (41, 16, 128), (2, 5, 33, 64), (6, 31, 65), (2, 64, 32)]
)
def test_sizes_around_tiles(
    device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...], mode: str
) -> None:
    x = rng.standard_normal(shape).astype("f4")
    check(device, "gaussian_filter", x, 1, "f4", mode=mode, cval=0.0, axes=(-3, -2, -1))


@pytest.mark.parametrize(
    ("element", "result"),
    [("f2", "f2"), ("f2", "f4"), ("f8", "f8"), ("u1", "f4"), ("i2", "f2"), ("i8", "f8"), ("?", "f4")],
)
@pytest.mark.parametrize("columns", [72, 75])  # whole vectors, and rows that begin anywhere
def test_dtypes(device: gpuprims.Device, rng: np.random.Generator, element: str, result: str, columns: int) -> None:
    scaled = rng.uniform(0, 9, (11, 19, columns))
    x = scaled > 5 if element == "?" else scaled.astype(element)
    check(device, "gaussian_filter", x, (0.7, 1, 1.2), result, mode="mirror")


@pytest.mark.parametrize("mode", MODES)
def test_even_lengths_and_origins(device: gpuprims.Device, rng: np.random.Generator, mode: str) -> None:
    x = rng.standard_normal((13, 37, 71)).astype("f4")
    check(device, "uniform_filter", x, (4, 6, 5), "f4", mode=mode, origin=(1, -2, 2))
    check(device, "gaussian_filter", x, (0.6, 1.6, 1), "f4", mode=mode, order=(1, 0, 2))


# Sums of 8, of 4 and of 2 rows fit in the registers of a work-item.
@pytest.mark.parametrize("sigmas", [(1, 2, 0.5), (2, 1, 1), (1, 2, 2)])
def test_lines_of_many_weights(device: gpuprims.Device, rng: np.random.Generator, sigmas: tuple[float, ...]) -> None:
    for dtype in ("f4", "f8"):
        check(device, "gaussian_filter", rng.standard_normal((19, 35, 70)).astype(dtype), sigmas, dtype)


def test_rows_of_a_larger_array(device: gpuprims.Device, rng: np.random.Generator) -> None:
    whole = rng.standard_normal((9, 40, 80)).astype("f4")
    for columns in (slice(0, 67), slice(4, 79), slice(1, 66)):  # the last vector of a row is not whole
        check(device, "gaussian_filter", whole[1:, 2:-1, columns], 1, "f4", mode="wrap")


def test_elements_beyond_the_borders(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((6, 20, 41)).astype("f4")
    check(device, "gaussian_filter", x, 1, "f4", mode="constant", cval=3.5)


def test_weights_of_zero_keep_nan_out(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((9, 20, 70)).astype("f4")
    x[4, 10, 33], x[2, 3, 4] = np.nan, np.inf
    lines = [1, 0, 2, 3, 0.5], [0.25, 1, 0, 4, 1], [2, 0, 0, 3, 1]
    weights = np.einsum("i,j,k", *lines)
    for got in by_kernels(
        device, KERNELS, lambda v: gpuprims.stencil(x, weights, mode="reflect", device=device, variant=v)
    ):
        held = np.where(np.isfinite(x), x, 0).astype(float)
        expected = ndimage.correlate(held, weights, mode="reflect")
        near = [
            ndimage.correlate(part.astype(float), weights, mode="reflect") > 0 for part in (np.isnan(x), np.isinf(x))
        ]
        np.testing.assert_array_equal(np.isnan(got), near[0])
        np.testing.assert_array_equal(np.isinf(got), near[1])
        away = ~(near[0] | near[1])
        np.testing.assert_allclose(got[away], expected[away], rtol=0, atol=1e-4)


@pytest.mark.parametrize("mode", ["reflect", "constant"])
def test_same_bits_as_the_reference(device: gpuprims.Device, rng: np.random.Generator, mode: str) -> None:
    x = rng.standard_normal((12, 34, 66)).astype("f4")
    x[3, 4, 5], x[7] = -np.nan, -0.0
    with gpuprims.use_determinism("device"):
        reference = gpuprims.Device("reference")
        expected = filtered("gaussian_filter", x, 1, reference, None, mode=mode)
        for got in by_kernels(device, KERNELS, lambda v: filtered("gaussian_filter", x, 1, device, v, mode=mode)):
            assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("shape", "sigma"), [((40, 40), 1), ((9, 9, 9), 20), ((2, 9, 9), (0, 1, 1))])
def test_other_calls_are_refused(device: gpuprims.Device, shape: tuple[int, ...], sigma: Any) -> None:
    if device.backend == "reference":
        pytest.skip("has one kernel")
    with pytest.raises(NoVariantError, match="filters rows, columns and planes"):
        filtered("gaussian_filter", np.ones(shape, "f4"), sigma, device, "volumes")


@pytest.mark.parametrize(("shape", "names"), [((256, 256, 256), ["volumes"]), ((32, 32, 32), ["rolling", "rolling"])])
def test_large_volumes_take_one_launch(shape: tuple[int, ...], names: list[str]) -> None:
    driver = CompilingDriver("cuda", usual_device("gpu", 32))
    filtered("gaussian_filter", resident(*shape), 1, gpuprims.Device._of(driver), None)
    assert [variant.name for variant, _ in driver.asked] == names
