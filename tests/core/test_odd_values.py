"""Values that cannot be compared, hashed or read, in each keyword: an error of gpuprims, and none of Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims import ndimage, xp
from gpuprims.errors import ArgumentError, ArrayError, GpuprimsError, ShapeError

X = np.array([3.0, 1, 2], np.float32)
IMAGE = np.ones((5, 5), np.float32)


class Unreadable:
    """An object that cannot become an array."""

    def __array__(self, *given: Any, **named: Any) -> np.ndarray:
        raise RuntimeError("unreadable")


ODD = {
    "a list": [1, 2],
    "objects": np.array([1, None], object),
    "a record": np.zeros(3, [("a", "i4"), ("b", "f4")]),
    "dates": np.array(["2020-01-01"], "M8[D]"),
    "an object": Unreadable(),
}
WORDS: dict[str, Callable[[Any], Any]] = {
    "determinism": lambda odd: gpuprims.reduce(X, determinism=odd),
    "mode of take": lambda odd: gpuprims.take(X, [0], mode=odd),
    "side": lambda odd: gpuprims.searchsorted(X, X, odd),
    "kind of isin": lambda odd: gpuprims.isin(X, X, kind=odd),
    "mode of convolve": lambda odd: gpuprims.convolve(X, X, odd),
    "mode of stencil": lambda odd: gpuprims.stencil(X, [1, 2, 1], mode=odd),
    "kind of blur": lambda odd: gpuprims.blur(IMAGE, odd),
    "kind of random": lambda odd: gpuprims.random(1, 2, odd),
    "method": lambda odd: gpuprims.quantile(X, 0.5, method=odd),
    "name of a plan": lambda odd: gpuprims.plan(odd, X),
    "name of explain": lambda odd: gpuprims.explain(odd, "reference"),
    "mode of a filter": lambda odd: ndimage.convolve(X, X, mode=odd),
    "mode of a line": lambda odd: ndimage.convolve1d(X, X, mode=odd),
}
FLAGS: dict[str, Callable[[Any], Any]] = {
    "keepdims": lambda odd: gpuprims.reduce(X, keepdims=odd),
    "compensated": lambda odd: gpuprims.reduce(X, compensated=odd),
    "equal_nan": lambda odd: gpuprims.unique(X, equal_nan=odd),
    "invert": lambda odd: gpuprims.isin(X, X, invert=odd),
    "include_initial": lambda odd: xp.cumulative_sum(X, include_initial=odd),
    "copy": lambda odd: xp.astype(X, "float32", copy=odd),
}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "q": lambda odd: gpuprims.quantile(X, odd if isinstance(odd, Unreadable) else [[odd]]),
    "rank": lambda odd: ndimage.rank_filter(X, odd, 3),
    "axis of vecdot": lambda odd: xp.vecdot(X, X, axis=odd),
    "n of diff": lambda odd: xp.diff(X, n=odd),
    "axis of diff": lambda odd: xp.diff(X, axis=odd),
    "border_value": lambda odd: ndimage.binary_erosion(X, border_value=odd),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("keyword", [*WORDS, *FLAGS, *NUMBERS])
def test_keywords(keyword: str, odd: str) -> None:
    with gpuprims.use_device("reference"), pytest.raises(GpuprimsError, match=r"(?s)^.+: .+; got ."):
        (WORDS | FLAGS | NUMBERS)[keyword](ODD[odd])


ARRAYS: dict[str, Callable[[Any], Any]] = {
    "take": lambda odd: gpuprims.take(X, odd),
    "searchsorted": lambda odd: gpuprims.searchsorted(odd, X),
    "isin": lambda odd: gpuprims.isin(odd, X),
    "isin among": lambda odd: gpuprims.isin(X, odd),
    "convolve": lambda odd: gpuprims.convolve(odd, X),
    "xp.round": xp.round,
    "xp.diff": xp.diff,
    "xp.take": lambda odd: xp.take(odd, [0]),
    "xp.cumulative_sum": xp.cumulative_sum,
}


@pytest.mark.parametrize("function", ARRAYS)
def test_arrays_that_numpy_cannot_read(function: str) -> None:
    with gpuprims.use_device("reference"):
        for odd in (Unreadable(), [[1], [2, 3]]):
            with pytest.raises(ArrayError, match=r"(?s)^.+: .+; got ."):
                ARRAYS[function](odd)


def test_lists_are_arrays_of_xp() -> None:
    with gpuprims.use_device("reference"):
        assert xp.diff([1, 4, 9]).tolist() == [3, 5]
        assert xp.take([5, 6, 7], [2, 0]).tolist() == [7, 5]
        assert xp.cumulative_sum([1, 2], include_initial=True).tolist() == [0, 1, 3]


def test_differences_of_any_order_end() -> None:
    assert gpuprims.diff(X, 2**70, device="reference").shape == (0,)
    assert gpuprims.diff(IMAGE, 2**70, 0, prepend=1, device="reference").shape == (0, 5)


def test_arrays_of_64_axes() -> None:
    x = np.arange(2, dtype=np.float32).reshape((1,) * 63 + (2,))
    np.testing.assert_array_equal(gpuprims.map("x + 1", x, device="reference"), x + 1)
    assert gpuprims.reduce(x, x, map="x + y", device="reference") == 2
    with pytest.raises(ShapeError, match="map: shapes of up to 32 axes, unless all are equal; got"):
        gpuprims.map("x + y", x, x[0], device="reference")


def test_filters_along_no_axis() -> None:
    kept = ndimage.generic_filter(X, lambda row: row.max(), 3, axes=(), device="reference")
    np.testing.assert_array_equal(kept, X)
    np.testing.assert_array_equal(ndimage.correlate(X, np.array(2.0), axes=(), device="reference"), 2 * X)


def test_a_range_of_times_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"histogram: range=\(low, high\)"):
        gpuprims.histogram(X, 3, (np.timedelta64(1, "s"), np.timedelta64(2, "s")), device="reference")
