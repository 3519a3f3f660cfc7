"""stencil and blur: every variant of every device against SciPy's, pixel for pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import Kernel, assert_equal, on_device, on_host, poison
from scipy import ndimage

import gpuprims
from gpuprims.core.layout import Form
from gpuprims.errors import (
    ArgumentError,
    ArrayError,
    AxisError,
    DtypeError,
    ExpressionError,
    NoVariantError,
    ShapeError,
)
from gpuprims.primitives.stencil.grids import grid_of

MODES = ("nearest", "reflect", "mirror", "wrap", "constant")
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
SHAPES = ((1, 1), (1, 9), (7, 1), (2, 3), (5, 6), (33, 70), (40, 1030), (2, 19, 21))


def stencil(kernel: Kernel, x: Any, weights: Any, **how: Any) -> Any:
    """Compute by this variant; skip the test if the variant refuses the call."""
    try:
        return gpuprims.stencil(x, weights, device=kernel.device, variant=kernel.variant.name, **how)
    except NoVariantError as error:
        pytest.skip(str(error))


def scipys(x: np.ndarray, weights: Any, *, mode: str = "reflect", cval: float = 0) -> np.ndarray:
    """Return SciPy's result over the last axes, summed exactly and then converted as SciPy converts it."""
    weights = np.asarray(weights)
    wide = np.float64 if x.dtype.kind == "f" or weights.dtype.kind == "f" else np.int64
    stack = x.reshape(-1, *x.shape[x.ndim - weights.ndim :]).astype(wide)
    sums = np.stack([ndimage.correlate(one, weights, mode=mode, cval=cval) for one in stack])
    return np.asarray(sums.reshape(x.shape).astype(x.dtype))


def pixels(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    values = rng.integers(0, 100, shape)
    return np.asarray(values if np.dtype(dtype).kind != "f" else values / 7).astype(dtype)


# Weights -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_borders_pixel_by_pixel(stencil_kernel: Kernel, rng: np.random.Generator, mode: str) -> None:
    weights = np.arange(-7, 8).reshape(3, 5)
    poison(stencil_kernel.device)
    for shape in SHAPES:
        x = pixels(rng, np.int32, shape)
        assert_equal(stencil(stencil_kernel, x, weights, mode=mode, cval=3), scipys(x, weights, mode=mode, cval=3))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int64", "float16", "float32", "float64", "bool"])
def test_every_dtype(stencil_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    stencil_kernel.need(np.dtype(dtype))
    x = pixels(rng, dtype, (37, 150))
    for weights in (CROSS, np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])):
        got, expected = stencil(stencil_kernel, x, weights), scipys(x, weights)
        assert got.dtype == x.dtype
        if x.dtype.kind == "f":
            np.testing.assert_allclose(got, expected, rtol=1e-3 if dtype == "float16" else 1e-5, atol=1e-3)
        else:
            assert_equal(got, expected)


def test_weights_of_one_axis_and_of_three(stencil_kernel: Kernel, rng: np.random.Generator) -> None:
    x = pixels(rng, np.int32, (6, 11, 40))
    for weights in (np.array([1, -2, 3, 0, 1]), rng.integers(-3, 4, (3, 1, 5)), rng.integers(-3, 4, (1, 7))):
        assert_equal(stencil(stencil_kernel, x, weights, mode="mirror"), scipys(x, weights, mode="mirror"))


def test_neighbours_beyond_an_axis_of_one_element(stencil_kernel: Kernel, rng: np.random.Generator) -> None:
    """Kernels for one plane at a time know no neighbours in others, though the array has one plane."""
    for shape in ((1, 5, 2), (1, 9, 37), (4, 1, 9), (4, 9, 1)):
        x = pixels(rng, np.int32, shape)
        for weights in (rng.integers(1, 5, (3, 3, 3)), rng.integers(1, 5, (3, 1, 1))):
            for mode in ("constant", "nearest"):
                got = stencil(stencil_kernel, x, weights, mode=mode, cval=7)
                assert_equal(got, scipys(x, weights, mode=mode, cval=7))


def test_wide_and_many_weights(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = pixels(rng, np.float32, (45, 60))
    for weights in (rng.standard_normal((31, 31)), rng.standard_normal((1, 31)), rng.standard_normal((17, 9))):
        got = gpuprims.stencil(x, weights, mode="wrap", device=device)
        np.testing.assert_allclose(got, scipys(x, weights, mode="wrap"), rtol=1e-3, atol=0.02)


@pytest.mark.parametrize("mode", ["constant", "reflect"])
def test_products_of_a_row_and_a_column(stencil_kernel: Kernel, rng: np.random.Generator, mode: str) -> None:
    weights = np.outer([1, 3, -2, 0.5, 1], [0.5, -1, 2])
    for shape in ((3, 2), (40, 530), (2, 31, 44)):
        x = pixels(rng, np.float32, shape)
        got = stencil(stencil_kernel, x, weights, mode=mode, cval=5)
        np.testing.assert_allclose(got, scipys(x, weights, mode=mode, cval=5), rtol=1e-4, atol=1e-2)


def test_weights_of_zero_keep_nan_out(stencil_kernel: Kernel) -> None:
    x = np.zeros((9, 9), np.float32)
    x[4, 4] = np.nan
    got = stencil(stencil_kernel, x, CROSS)
    assert np.isnan(got).sum() == 5
    assert not np.isnan(got[3, 3])


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels_are_no_neighbours(stencil_kernel: Kernel, rng: np.random.Generator, channels: int) -> None:
    image = pixels(rng, np.uint8, (23, 50, channels))
    expected = np.stack([scipys(image[..., c], CROSS) for c in range(channels)], -1)
    assert_equal(stencil(stencil_kernel, image, CROSS, channel_axis=-1), expected)
    first = stencil(stencil_kernel, on_device(stencil_kernel.device, image), CROSS, channel_axis=2)
    assert_equal(on_host(stencil_kernel.device, first), expected)


def test_strided_views_and_axes_apart(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = pixels(rng, np.int16, (4, 3, 30, 41))
    for view in (x[:, :, ::2, 1:], x[::2, 1:, :, ::-1], x.transpose(0, 2, 3, 1)[..., 0], x[:, :2]):
        assert_equal(gpuprims.stencil(view, CROSS, device=device), scipys(np.ascontiguousarray(view), CROSS))
    image = x[0].transpose(1, 2, 0)
    expected = np.stack([scipys(np.ascontiguousarray(image[..., c]), CROSS) for c in range(3)], -1)
    assert_equal(gpuprims.stencil(image, CROSS, channel_axis=-1, device=device), expected)


@given(rows=st.integers(1, 40), columns=st.integers(1, 300), mode=st.sampled_from(MODES), seed=st.integers(0, 2**31))
@settings(max_examples=25)
def test_any_size(device: gpuprims.Device, rows: int, columns: int, mode: str, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-50, 50, (rows, columns)).astype(np.int32)
    weights = np.arange(-7, 8).reshape(3, 5)
    assert_equal(gpuprims.stencil(x, weights, mode=mode, device=device), scipys(x, weights, mode=mode))


def test_nothing(device: gpuprims.Device) -> None:
    assert gpuprims.stencil(np.zeros((0, 5), np.float32), CROSS, device=device).shape == (0, 5)


def test_in_another_dtype_and_in_place_of_another(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = pixels(rng, np.uint8, (9, 40))
    out = np.empty((9, 40), np.int32)
    assert gpuprims.stencil(x, CROSS, dtype=np.int32, out=out, device=device) is out
    assert_equal(out, ndimage.correlate(x.astype(np.int32), CROSS))


def test_two_steps_into_every_other_column(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, wide = pixels(rng, np.float32, (20, 31)), np.zeros((20, 62), np.float32)
    gpuprims.blur(x, "box", size=5, out=wide[:, ::2], device=device)
    np.testing.assert_allclose(wide[:, ::2], ndimage.uniform_filter(x, 5, mode="nearest"), rtol=1e-5)
    assert not wide[:, 1::2].any()


def test_strides_of_parts_of_elements_are_refused() -> None:
    form = Form(np.dtype(np.float32), (4, 6), (30, 5))
    with pytest.raises(ArrayError, match="strides that are multiples"):
        grid_of("stencil", (4, 6), 2, None).strides(form)


@pytest.mark.optimised
def test_iterations(stencil_kernel: Kernel, rng: np.random.Generator) -> None:
    x = pixels(rng, np.int32, (20, 61))
    once = x
    for _ in range(3):
        once = scipys(once, CROSS, mode="constant", cval=1)
    assert_equal(stencil(stencil_kernel, x, CROSS, mode="constant", cval=1, iterations=3), once)


@pytest.mark.parametrize("mode", MODES)
def test_what_lies_beyond_is_of_the_results_before(stencil_kernel: Kernel, rng: np.random.Generator, mode: str) -> None:
    # Some kernels do two iterations in one launch; the third takes another. The weights reach further to the right.
    weights = np.array([[0, 1, 0, 0, 0], [0, 0, -1, 1, 2], [1, 0, 0, 0, 1]])
    for shape in ((1, 2), (3, 5), (33, 70), (2, 19, 530)):
        x = pixels(rng, np.int32, shape)
        thrice = x
        for _ in range(3):
            thrice = scipys(thrice, weights, mode=mode, cval=3)
        assert_equal(stencil(stencil_kernel, x, weights, mode=mode, cval=3, iterations=3), thrice)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_sums_of_bytes_that_just_fit_in_16_bits(
    stencil_kernel: Kernel, rng: np.random.Generator, channels: int
) -> None:
    x = rng.integers(0, 2, (37, 150, channels)).astype(np.uint8) * np.uint8(255)
    x[:9] = 255
    for weights in (np.array([[1, 50, 2], [57, 50, 44], [3, 50, 0]]), np.array([[1, 50, 2], [57, 50, 44], [3, 50, 1]])):
        got = stencil(stencil_kernel, x, weights, channel_axis=-1, dtype=np.int32)
        expected = ndimage.correlate(x.astype(np.int64), weights[..., np.newaxis], mode="nearest")
        assert_equal(got, expected.astype(np.int32))


@pytest.mark.optimised
def test_bytes_twice(stencil_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.integers(0, 256, (37, 150, 4)).astype(np.uint8)
    means = x
    for _ in range(2):
        means = (ndimage.correlate(means.astype(np.int64), CROSS[..., np.newaxis], mode="mirror") // 5).astype(np.uint8)
    how = {"device": stencil_kernel.device, "variant": stencil_kernel.variant.name, "mode": "mirror"}
    assert_equal(gpuprims.blur(x, channel_axis=-1, iterations=2, **how), means)


# Functions -----------------------------------------------------------------------------------------------------------


def test_a_median_of_five(stencil_kernel: Kernel, rng: np.random.Generator) -> None:
    def median(n: Any) -> Any:
        low, high = np.minimum, np.maximum
        a, b, c, d, e = n[-1, 0], n[0, -1], n[0, 0], n[0, 1], n[1, 0]
        return high(low(high(low(a, b), low(c, d)), low(high(a, b), high(c, d))), low(e, high(low(a, b), low(c, d))))

    def exact(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        low, high = np.minimum, np.maximum
        return high(low(high(low(a, b), low(c, d)), low(high(a, b), high(c, d))), low(e, high(low(a, b), low(c, d))))

    x = pixels(rng, np.uint8, (30, 77))
    p = np.pad(x, 1, mode="edge")
    parts = p[:-2, 1:-1], p[1:-1, :-2], p[1:-1, 1:-1], p[1:-1, 2:], p[2:, 1:-1]
    assert_equal(stencil(stencil_kernel, x, median, mode="nearest"), exact(*parts))


def test_the_game_of_life(stencil_kernel: Kernel, rng: np.random.Generator) -> None:
    def life(n: Any) -> Any:
        around = sum(n[dy, dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
        return ((around == 3) | ((around == 2) & (n[0, 0] == 1))).astype(np.uint8)

    board = rng.integers(0, 2, (40, 52)).astype(np.uint8)
    expected = board
    for _ in range(4):
        around = ndimage.correlate(expected, np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]]), mode="wrap")
        expected = ((around == 3) | ((around == 2) & (expected == 1))).astype(np.uint8)
    assert_equal(stencil(stencil_kernel, board, life, mode="wrap", iterations=4), expected)


def test_a_look_to_one_side(stencil_kernel: Kernel, rng: np.random.Generator) -> None:
    x = pixels(rng, np.float32, (12, 90))
    got = stencil(stencil_kernel, x, lambda n: n[2, 3] - n[1, 1], mode="wrap")
    assert_equal(got, np.roll(x, (-2, -3), (0, 1)) - np.roll(x, (-1, -1), (0, 1)))


# Blur ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32"])
def test_a_cross_and_a_box(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    x = pixels(rng, dtype, (40, 70)) - np.array(30, dtype) * (dtype == "int16")
    cross = ndimage.correlate(x.astype(np.float64), CROSS / 5, mode="nearest")
    box = ndimage.uniform_filter(x.astype(np.float64), (3, 5), mode="nearest")
    for got, expected in (
        (gpuprims.blur(x, device=device), cross),
        (gpuprims.blur(x, "box", size=(3, 5), device=device), box),
    ):
        assert got.dtype == x.dtype
        if x.dtype.kind == "f":
            np.testing.assert_allclose(got, expected, rtol=2e-3 if dtype == "float16" else 1e-5)
        else:  # rounding may move a whole float64 sum below its number
            assert_equal(got, np.trunc(expected + np.sign(expected) * 1e-6).astype(dtype))


def test_means_of_what_is_all_alike_are_that(device: gpuprims.Device) -> None:
    for value in (1, 77, 255):
        x = np.full((20, 31), value, np.uint8)
        for how in ({}, {"kind": "box", "size": 9}, {"kind": "gaussian", "sigma": 2.5}):
            assert_equal(gpuprims.blur(x, device=device, **how), x)  # type: ignore[arg-type]


@pytest.mark.parametrize("sigma", [0.5, 2, (3, 1), 12])
def test_a_gaussian(device: gpuprims.Device, rng: np.random.Generator, sigma: Any) -> None:
    x = pixels(rng, np.float32, (60, 90))
    for mode in ("nearest", "constant"):
        got = gpuprims.blur(x, "gaussian", sigma=sigma, mode=mode, cval=2, device=device)
        expected = ndimage.gaussian_filter(x.astype(np.float64), sigma, mode=mode, cval=2)
        np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_a_large_box(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = pixels(rng, np.float32, (70, 90))
    got = gpuprims.blur(x, "box", size=61, mode="reflect", device=device)
    np.testing.assert_allclose(got, ndimage.uniform_filter(x.astype(np.float64), 61), rtol=1e-4)


# Errors --------------------------------------------------------------------------------------------------------------

X = np.zeros((5, 6), np.float32)


@pytest.mark.parametrize(
    ("weights", "how", "error", "words"),
    [
        (np.ones((2, 3)), {}, ShapeError, "odd lengths up to 65535; got shape (2, 3)"),
        (np.ones((2**16 + 1, 1)), {}, ShapeError, "odd lengths up to 65535"),
        (np.ones((1, 1, 1, 1)), {}, ShapeError, "one to three axes"),
        (np.ones((3, 3, 3)), {}, ShapeError, "an array of 3 axes or more; got shape (5, 6)"),
        ([[np.nan]], {}, ArgumentError, "finite weights; got nan"),
        ([[1j]], {}, ArgumentError, "real weights"),
        ([[1], [2, 3]], {}, ArgumentError, "weights of one shape"),
        (CROSS, {"mode": "edge"}, ArgumentError, "mode= among nearest"),
        (CROSS, {"cval": "x"}, ArgumentError, "cval= one number"),
        (CROSS, {"channel_axis": 2}, AxisError, "channel_axis from -2 to 1; got 2"),
        (CROSS, {"channel_axis": 0}, ShapeError, "2 axes or more beside that of channels"),
        (CROSS, {"iterations": 0}, ArgumentError, "a whole number from 1 to 2^31 - 1; got 0"),
        (CROSS, {"iterations": 10**30}, ArgumentError, "a whole number from 1 to 2^31 - 1; got 10"),
        (lambda n: n[0, 0] > 0, {"iterations": 2}, ArgumentError, "iterations of results that are float32"),
        (lambda n: n[0, 0] + n[1], {}, ExpressionError, "the same one to three axes"),
        (lambda n: n[0, 16], {}, ArgumentError, "offsets from -15 to 15"),
        (lambda n: n[0.5], {}, ExpressionError, "whole numbers as an index"),
        (lambda n: 1, {}, ExpressionError, "one neighbour or more"),
        (lambda n: (n[0], n[1]), {}, ExpressionError, "one value to return"),
    ],
)
def test_what_does_not_fit(weights: Any, how: Any, error: Any, words: str) -> None:
    with pytest.raises(error) as caught:
        gpuprims.stencil(X, weights, device="reference", **how)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"kind": "ring"}, "kind= among cross, box, gaussian; got 'ring'"),
        ({"kind": "box", "size": 4}, "size= odd whole numbers; got 4"),
        ({"kind": "box", "size": (3, 3, 3)}, "one for rows and one for columns"),
        ({"kind": "box", "size": 10**5000 + 1}, "size= of at most 65,536; got"),
        ({"kind": "gaussian", "sigma": 1e308}, "sigma= of at most 8,192; got 1e+308"),
        ({"kind": "gaussian", "sigma": 10**400}, "sigma= of at most 8,192; got"),
        ({"kind": "gaussian", "sigma": 0}, "sigma= positive numbers; got 0"),
        ({"kind": "gaussian", "size": 5}, 'size= with kind="box" alone'),
        ({"sigma": 2}, "sigma= with kind=\"gaussian\" alone; got kind='cross'"),
    ],
)
def test_blurs_that_there_are_not(how: Any, words: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        gpuprims.blur(X, device="reference", **how)
    assert words in str(caught.value)


def test_numbers_that_have_no_stencil() -> None:
    with pytest.raises(DtypeError, match="stencil: real numbers; got dtype complex64"):
        gpuprims.stencil(X.astype(np.complex64), CROSS, device="reference")
    with pytest.raises(DtypeError, match="blur: real numbers"):
        gpuprims.blur(X > 0, device="reference")
    with pytest.raises(ArgumentError, match="cval= one number that uint8 holds; got -1"):
        gpuprims.stencil(X.astype(np.uint8), CROSS, mode="constant", cval=-1, device="reference")


def test_a_result_across_the_array_is_refused(device: gpuprims.Device) -> None:
    x = np.zeros((6, 6), np.float32)
    with pytest.raises(ArgumentError, match="out="):
        gpuprims.stencil(x, CROSS, out=x, device=device)
