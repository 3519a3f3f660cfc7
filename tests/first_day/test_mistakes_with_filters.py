"""Mistakes of a first day: filters of ndimage, and functions of the array API."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mistakes import Mistake, check

import gpuprims
from gpuprims import errors, ndimage, xp

X, V = np.arange(12.0).reshape(3, 4), np.arange(6.0)

MISTAKES: dict[str, Mistake] = {
    "sigma for three axes": (
        lambda: ndimage.gaussian_filter(X, (1, 2, 3)), errors.ArgumentError,
        ("ndimage.gaussian_filter: sigma= one value, or one for each of 2 axes", "(1, 2, 3)"),
    ),
    "mode of OpenCV": (
        lambda: ndimage.gaussian_filter(X, 1, mode="replicate"), errors.ArgumentError,
        ("ndimage.gaussian_filter: mode= among nearest,", "'replicate'", "did you mean 'nearest'?"),
    ),
    "ksize of OpenCV": (
        lambda: ndimage.gaussian_filter(X, 1, ksize=3), errors.UnknownKeywordError,
        ("ndimage.gaussian_filter: keywords among input, sigma,", "ksize", "write radius=size // 2"),
    ),
    "kernel_size of SciPy's signal": (
        lambda: ndimage.median_filter(X, kernel_size=3), errors.UnknownKeywordError,
        ("ndimage.median_filter: keywords among input, size,", "kernel_size", "did you mean 'size'?"),
    ),
    "axis of NumPy": (
        lambda: ndimage.median_filter(X, 3, axis=0), errors.UnknownKeywordError,
        ("ndimage.median_filter: keywords among input, size,", "axis", "write axes=(axis,)"),
    ),
    "axis of NumPy with sigma": (
        lambda: ndimage.gaussian_filter(X, 1, axis=0), errors.UnknownKeywordError,
        ("ndimage.gaussian_filter: keywords among input, sigma,", "axis", "write axes=(axis,)"),
    ),
    "an axis twice": (
        lambda: ndimage.gaussian_filter(X, 1, axes=(0, 0)), errors.AxisError,
        ("ndimage.gaussian_filter: axes= each axis once", "(0, 0)"),
    ),
    "output a misspelt dtype": (
        lambda: ndimage.gaussian_filter(X, 1, output="flaot32"), errors.DtypeError,
        ("ndimage.gaussian_filter: a dtype", "'flaot32'", "did you mean 'float32'?"),
    ),
    "output of another shape": (
        lambda: ndimage.gaussian_filter(X, 1, output=np.empty((2, 2))), errors.ShapeError,
        ("ndimage.gaussian_filter: output= of the array's shape, (3, 4)", "(2, 2)"),
    ),
    "dx and dy of OpenCV": (
        lambda: ndimage.sobel(X, 1, 0), errors.ArgumentError, ("ndimage.sobel: output= an array or a dtype", "0"),
    ),
    "two axes of sobel": (
        lambda: ndimage.sobel(X, axis=(0, 1)), errors.AxisError, ("ndimage.sobel: axis= one axis", "(0, 1)"),
    ),
    "a derivative that returns nothing": (
        lambda: ndimage.generic_laplace(X, lambda *given: None), errors.ArgumentError,
        ("ndimage.generic_laplace: a derivative that returns an array of shape (3, 4)", "None"),
    ),
    "a derivative of another shape": (
        lambda: ndimage.generic_gradient_magnitude(X, lambda *given: V), errors.ArgumentError,
        ("ndimage.generic_gradient_magnitude: a derivative that returns", "an array of shape (6,)"),
    ),
    "keywords of a derivative as a list": (
        lambda: ndimage.generic_laplace(X, ndimage.sobel, extra_keywords=[1]), errors.ArgumentError,
        ("ndimage.generic_laplace: extra_keywords= a mapping", "[1]"),
    ),
    "an argument of a derivative by itself": (
        lambda: ndimage.generic_laplace(X, ndimage.sobel, extra_arguments=5), errors.ArgumentError,
        ("ndimage.generic_laplace: extra_arguments= a sequence", "5"),
    ),
    "an argument of a filter's function by itself": (
        lambda: ndimage.generic_filter(X, np.max, 3, extra_arguments=5), errors.ArgumentError,
        ("ndimage.generic_filter: extra_arguments= a sequence", "5"),
    ),
    "an array of modes": (
        lambda: ndimage.sobel(X, mode=np.zeros((2, 2))), errors.ArgumentError,
        ("ndimage.sobel: mode= one value, or one for each of 2 axes",),
    ),
    "neither size nor footprint": (
        lambda: ndimage.median_filter(X), errors.ArgumentError,
        ("ndimage.median_filter: size= or footprint=", "neither", "size=3 is a box of 3 elements along each axis"),
    ),
    "both size and footprint": (
        lambda: ndimage.median_filter(X, 5, np.ones((3, 3))), errors.ArgumentError,
        ("ndimage.median_filter: size= or footprint=", "both"),
    ),
    "both size and structure": (
        lambda: ndimage.grey_erosion(X, 3, structure=np.zeros((3, 3))), errors.ArgumentError,
        ("ndimage.grey_erosion: size= or structure=", "both"),
    ),
    "a footprint of one axis": (
        lambda: ndimage.median_filter(X, footprint=[1, 1, 1]), errors.ShapeError,
        ("ndimage.median_filter: footprint= of 2 axes", "(3,)"),
    ),
    "a grey structure of one axis": (
        lambda: ndimage.grey_erosion(X, structure=np.zeros(3)), errors.ShapeError,
        ("ndimage.grey_erosion: structure= of 2 axes", "(3,)"),
    ),
    "a binary structure of one axis": (
        lambda: ndimage.binary_dilation(X, np.ones(3)), errors.ShapeError,
        ("ndimage.binary_dilation: structure= of 2 axes", "(3,)"),
    ),
    "a size of half": (
        lambda: ndimage.median_filter(X, 3.5), errors.ArgumentError,
        ("ndimage.median_filter: size= a whole number from 1 on", "3.5"),
    ),
    "a rank of half": (
        lambda: ndimage.rank_filter(X, 1.5, size=3), errors.ArgumentError,
        ("ndimage.rank_filter: rank= a whole number from -9 to 8", "1.5"),
    ),
    "weights None": (
        lambda: ndimage.correlate(X, None), errors.ArgumentError, ("ndimage.correlate: real weights", "None"),
    ),
    "weights a name": (
        lambda: ndimage.correlate(X, "box"), errors.ArgumentError, ("ndimage.correlate: real weights", "'box'"),
    ),
    "weights of one axis": (
        lambda: ndimage.correlate(X, [1, 2, 1]), errors.ShapeError, ("ndimage.correlate: weights of 2 axes", "(3,)"),
    ),
    "complex filter": (
        lambda: ndimage.gaussian_filter(X + 1j, 1), errors.DtypeError,
        ("ndimage.gaussian_filter: real numbers", "complex128", "filter .real and .imag"),
    ),
    "np.median of neighbours": (
        lambda: ndimage.generic_filter(X, np.median, 3), errors.ExpressionError,
        ("ndimage.generic_filter: a function without a sort", "np.median", "write median_filter(x, size)"),
    ),
    "a name for a function of neighbours": (
        lambda: ndimage.generic_filter(X, "max", 3), errors.ExpressionError,
        ("ndimage.generic_filter: a function of a row of neighbours", "'max'"),
    ),
    "all neighbours returned": (
        lambda: ndimage.generic_filter(X, lambda v: v, 3), errors.ExpressionError,
        ("ndimage.generic_filter: a function that returns one number", "a row of 9", "such as v.max()"),
    ),
    "where in xp.sum": (
        lambda: xp.sum(X, where=X > 1), errors.UnknownKeywordError, ("xp.sum: keywords among axis, dtype,", "where"),
    ),
    "dim in xp.sum": (
        lambda: xp.sum(X, dim=0), errors.UnknownKeywordError, ("xp.sum: keywords among axis,", "did you mean 'axis'?"),
    ),
    "ddof in xp.std": (
        lambda: xp.std(X, ddof=1), errors.UnknownKeywordError,
        ("xp.std: keywords among axis, correction,", "ddof", "did you mean 'correction'?"),
    ),
    "kind in xp.sort": (
        lambda: xp.sort(X, kind="stable"), errors.UnknownKeywordError,
        ("xp.sort: keywords among axis, descending,", "kind", "leave it out: every sort is stable"),
    ),
    "no axis of xp.cumulative_sum": (
        lambda: xp.cumulative_sum(X), errors.ArgumentError, ("cumulative_sum: axis= for an array of 2 axes", "None"),
    ),
    "no axis of xp.take": (
        lambda: xp.take(X, [0]), errors.ArgumentError, ("take: axis= for an array of 2 axes", "None"),
    ),
    "bits of floats in xp": (
        lambda: xp.bitwise_and(X, X), errors.DtypeError, ("bitwise_and: dtypes", "float64", "such as int64(x)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])


@pytest.mark.parametrize(
    ("room", "name", "meant"),
    [
        (ndimage, "gausian_filter", "did you mean 'gaussian_filter'"),
        (ndimage, "gaussian_blur", "did you mean 'gaussian_filter'?"),
        (ndimage, "label", "labelling is not a filter: use SciPy, on the host"),
        (xp, "cumsum", "did you mean 'cumulative_sum'?"),
        (xp, "arcsin", "did you mean 'asin'?"),
        (xp, "sun", "did you mean 'sum'"),
        (xp, "concatenate", "these only move elements or change shapes: use the array's library"),
        (xp, "array", "these create arrays: use the array's library"),
    ],
)
def test_a_name_that_a_room_lacks_says_what_to_write(room: Any, name: str, meant: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(room, name)
    assert f"'{room.__name__}' has no attribute '{name}' (" in str(raised.value)
    assert meant in str(raised.value)


@pytest.mark.parametrize("room", [ndimage, xp])
def test_completion_shows_the_public_names_alone(room: Any) -> None:
    assert dir(room) == sorted(room.__all__)


def test_functions_that_fold_the_neighbours_as_arrays_do_are_no_mistake() -> None:
    with gpuprims.use_device("reference"):
        spread = ndimage.generic_filter(X, np.ptp, 3)
        np.testing.assert_array_equal(spread, ndimage.maximum_filter(X, 3) - ndimage.minimum_filter(X, 3))
