"""histogram2d and histogramdd against NumPy's."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
from histogram_cases import spread_values
from kernel_cases import Kernel, assert_equal, need, on_device, on_host

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError, NoVariantError, ShapeError, UnknownKeywordError

SIZES = [0, 1, 255, 20_011]
# Even axes, rounded ones, edges of several kinds, and more bins than a group's local memory holds.
BINS: dict[str, dict[str, Any]] = {
    "even": {"bins": (16, 9), "range": ((-2.0, 2.0), (-1.1, 1.7))},
    "one axis by edges": {"bins": [[-2, -1.5, -1.4999, 0, 1e-3, 1e-3, 2.5], 7], "range": (None, (-1, 1))},
    "edges of both": {"bins": np.array([-1.5, -0.25, 0, 0.1, 2])},
    "edges of whole numbers": {"bins": [np.array([-2, 0, 2]), np.array([-3, -2, 3], np.int32)]},
    "many": {"bins": (700, 300), "range": ((-1, 1), (-2, 2))},
}


def numpys(function: Any, *arrays: Any, **keywords: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*arrays, **keywords)


def assert_grid(got: Any, expected: Any) -> None:
    assert_equal(got[0], expected[0])
    for own, wanted in zip(got[1:], expected[1:], strict=True):
        assert_equal(own, wanted)


def counted(kernel: Kernel, *arrays: Any, **how: Any) -> Any:
    try:
        return gpuprims.histogram2d(*arrays, device=kernel.device, variant=kernel.variant.name, **how)
    except NoVariantError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_points_in_bins_of_two_axes(
    histogram_kernel: Kernel, rng: np.random.Generator, size: int, dtype: str, bins: str
) -> None:
    histogram_kernel.need(dtype)
    x, y = (spread_values(rng, dtype, 2 * size)[::-2] for _ in range(2))
    assert_grid(counted(histogram_kernel, x, y, **BINS[bins]), numpys(np.histogram2d, x, y, **BINS[bins]))


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64"])
@pytest.mark.parametrize("size", [8191, 8192, 70_003])
def test_tiles_of_points_on_edges_in_no_bin_and_in_doubt(
    histogram_kernel: Kernel, rng: np.random.Generator, size: int, dtype: str
) -> None:
    histogram_kernel.need(dtype)
    on_edges = rng.integers(-3, 24, (2, size)) / (1 if dtype == "int32" else 4)
    apart = rng.standard_normal((2, size)) * (30 if dtype == "int32" else 1)
    if dtype != "int32":
        on_edges[:, ::7], apart[:, ::9] = np.inf, np.nan
    for x, y in (on_edges.astype(dtype), apart.astype(dtype)):
        for bins, limits in ((5, ((0, 5), (1, 1.5))), ((97, 1), ((0.1, 20.7), (-1, 4)))):
            expected = numpys(np.histogram2d, x, y, bins, limits)
            assert_grid(counted(histogram_kernel, x, y, bins=bins, range=limits), expected)
    x, y = np.full((2, size), 1, dtype)  # all are the last of their bins
    assert_grid(counted(histogram_kernel, x, y, bins=3, range=((0, 1),) * 2), np.histogram2d(x, y, 3, ((0, 1),) * 2))


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64"])
def test_weights(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    histogram_kernel.need(dtype, "float64")
    x, y = rng.standard_normal((2, 9001)).astype(np.float32)
    weights = (100 * rng.standard_normal(9001)).astype(dtype)
    for deterministic in (True, False):
        how: dict[str, Any] = {"bins": (9, [-1, 0, 2]), "range": ((-2, 2), None), "weights": weights}
        got = counted(histogram_kernel, x, y, deterministic=deterministic, **how)
        exact = np.histogram2d(x, y, **{**how, "weights": weights.astype(np.float64)})
        np.testing.assert_allclose(got[0], exact[0], rtol=1e-5, atol=1e-9)
        assert got[0].dtype == np.float64


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
@pytest.mark.parametrize("axes", [1, 2])
def test_sums_of_weights_beyond_int64(device: gpuprims.Device, rng: np.random.Generator, axes: int, dtype: str) -> None:
    need(device, "float64")
    sample = [rng.standard_normal(3001).astype(np.float32) for _ in range(axes)]
    weights = rng.integers(2**60, np.iinfo(dtype).max, 3001, dtype)
    how: dict[str, Any] = {"bins": 3, "range": [(-2, 2)] * axes, "weights": weights}
    expected, _ = np.histogramdd(sample, **how)
    for _ in range(2):
        np.testing.assert_allclose(gpuprims.histogramdd(sample, device=device, **how)[0], expected, rtol=1e-13)


@pytest.mark.parametrize(
    "dtypes", [("uint8", "int16"), ("int64", "float32"), ("float16", "float32"), ("bool", "int8"), ("bool", "float16")]
)
def test_arrays_of_two_dtypes(device: gpuprims.Device, rng: np.random.Generator, dtypes: tuple[str, str]) -> None:
    need(device, *dtypes, np.result_type(*dtypes))
    x, y = ((20 * rng.random(5000)).astype(dtype) for dtype in dtypes)
    assert_grid(gpuprims.histogram2d(x, y, (7, 5), device=device), numpys(np.histogram2d, x, y, (7, 5)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64"])
def test_between_the_bounds_of_coordinates(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, dtype)
    x, y = (rng.integers(0, 2 if dtype == "bool" else 90, (2, 3001)) / 1.5).astype(dtype)
    for given in ((x, y), (x, np.zeros_like(y)), (x[:1], y[:1]), (x[:0], y[:0])):
        assert_grid(gpuprims.histogram2d(*given, device=device), numpys(np.histogram2d, *given))
        got = gpuprims.histogram2d(*given, 3, density=True, device=device)
        expected = numpys(np.histogram2d, *given, 3, density=True)
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-14)


@pytest.mark.parametrize("axes", [1, 2, 3, 8])
def test_columns_of_a_sample(device: gpuprims.Device, rng: np.random.Generator, axes: int) -> None:
    sample = rng.standard_normal((2003, axes)).astype(np.float32)
    bins: list[Any] = [2, 3, [-1, 0, 1], 2, 1, 2, 1, 2][:axes]
    limits = [(-1, 1), None, None, (0, 1), None, None, None, (-3, 3)][:axes]
    for given in (sample, sample[::-1, ::-1], list(sample.T), tuple(sample[:, k].tolist() for k in range(axes))):
        got = gpuprims.histogramdd(given, bins, limits, device=device)
        expected = np.histogramdd(given, bins, limits)
        assert_grid((got[0], *got[1]), (expected[0], *expected[1]))
    weights = rng.integers(-9, 9, 2003)
    got = gpuprims.histogramdd(sample, 2, density=True, weights=weights**2, device=device)
    expected = np.histogramdd(sample, 2, density=True, weights=weights**2)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-13)


KEPT: dict[str, dict[str, Any]] = {
    "numbers": {"bins": 7, "range": ((-2.0, 2.0), (-1, 3))},
    "numbers in other ranges": {"bins": 7, "range": ((-1.0, 2.0), (0, 3))},
    "a number each": {"bins": [3, 8], "range": [[-2.0, 2.0], (-1, 3)]},
    "whole ends": {"bins": 7, "range": ((-2, 2), (-1, 3))},
    "edges": {"bins": np.array([-1.0, 0, 0.5, 2])},
    "edges of each": {"bins": (np.array([-1.0, 0, 2]), np.array([0, 1, 3]))},
    "one axis by edges": {"bins": (np.array([-1.0, 0, 2]), 4), "range": ((0, 1), (0, 1))},
}


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_calls_like_earlier_ones(
    device: gpuprims.Device, rng: np.random.Generator, *, weighted: bool, there: bool
) -> None:
    """Every call has points of its own, and edges that the caller may write to."""
    need(device, "float64")
    place = (lambda one: on_device(device, one)) if there else (lambda one: one)
    for _ in range(3):
        for how in KEPT.values():
            sample = rng.standard_normal((777, 2)).astype(np.float32)
            weights = {"weights": rng.integers(-9, 9, 777)} if weighted else {}
            weights_there = {name: place(one) for name, one in weights.items()}
            counts, *edges = np.histogram2d(*sample.T, **how, **weights)
            x, y = (place(np.ascontiguousarray(column)) for column in sample.T)
            results = [gpuprims.histogram2d(x, y, device=device, **how, **weights_there)]
            for given in ([x, y], place(sample)):
                if isinstance(how["bins"], np.ndarray):
                    continue
                found = gpuprims.histogramdd(given, device=device, **how, **weights_there)
                results.append((found[0], *found[1]))
            for got in results:
                assert_grid([on_host(device, one) if there else one for one in got], [counts, *edges])
                if not there:
                    got[0][:], got[1][:] = -1, -1


def test_calls_like_earlier_ones_are_not_described_again(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(device, "float64")
    sample = rng.standard_normal((500, 2)).astype(np.float32)
    there = on_device(device, sample)
    calls = [lambda how=how: gpuprims.histogram2d(there[:, 0], there[:, 1], **how) for how in KEPT.values()]
    calls.append(lambda: gpuprims.histogramdd(there, 3, [(0, 1), (0, 1)])[0])
    if isinstance(there, np.ndarray):
        pytest.skip("is about arrays of a device")
    for _ in range(2):  # the first call of a process may load variants, and calls kept before are forgotten then
        first = [call() for call in calls]
    monkeypatch.setattr("gpuprims.primitives.histogram.histogramdd.as_operands", None)
    for call, wanted in zip(calls, first, strict=True):
        assert_equal(on_host(device, call()[0]), on_host(device, wanted[0]))
    for how in ({"density": True}, {"out": there}, {"variant": "split"}, {"deterministic": 1}):
        with pytest.raises(TypeError, match="not callable"):
            gpuprims.histogram2d(there[:, 0], there[:, 1], **KEPT["numbers"], **how)


def test_numbers_as_a_sample(device: gpuprims.Device) -> None:
    for given in ([1.0, 2, 5], np.arange(7.0), []):
        got, expected = gpuprims.histogramdd(given, 3, device=device), np.histogramdd(given, 3)
        assert_grid((got[0], *got[1]), (expected[0], *expected[1]))


def test_arrays_of_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    sample = rng.standard_normal((4001, 2)).astype(np.float32)
    there = on_device(device, sample)
    for density in (False, True):
        counts, edges = gpuprims.histogramdd(there, 5, density=density)
        expected = np.histogramdd(sample, 5, density=density)
        assert type(counts) is type(edges[1]) is type(there)
        np.testing.assert_allclose(on_host(device, counts), expected[0], rtol=1e-14)
        for own, wanted in zip(edges, expected[1], strict=True):
            assert_equal(on_host(device, own), wanted)
    counts, xedges, _ = gpuprims.histogram2d(there[:, 0], there[:, 1], [4, [0, 1, 2]], weights=there[:, 1])
    expected = np.histogram2d(*sample.T, [4, [0, 1, 2]], weights=sample[:, 1])
    np.testing.assert_allclose(on_host(device, counts), expected[0], rtol=1e-5)
    assert_equal(on_host(device, xedges), expected[1])


two, many = gpuprims.histogram2d, gpuprims.histogramdd
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "lengths": (lambda **w: two([1], [1, 2], **w), ShapeError, "of one length; got (1,) and (2,)"),
    "images": (lambda **w: two([[1]], [[1]], **w), ShapeError, "of one dimension and of one length"),
    "weights": (lambda **w: two([1], [1], weights=[1, 2], **w), ShapeError, "got (1,) and (1,) and"),
    "a cube": (lambda **w: many(np.ones((1, 2, 3)), **w), ShapeError, "a row for each point; got shape"),
    "no axes": (lambda **w: many(np.ones((3, 0)), **w), ArgumentError, "from 1 to 8 axes; got 0"),
    "nine axes": (lambda **w: many(np.ones((3, 9)), 1, **w), ArgumentError, "from 1 to 8 axes; got 9"),
    "bins": (lambda **w: many(np.ones((3, 2)), [1], **w), ArgumentError, "bins for 2 axes; got [1] for 1"),
    "no bins": (lambda **w: two([1], [1], (0, 1), **w), ArgumentError, "a positive number of bins"),
    "a name": (lambda **w: two([1], [1], "auto", **w), ArgumentError, "a number of bins, or their edges"),
    "edges": (lambda **w: two([1], [1], [2, 0, 1], **w), ArgumentError, "bin edges must not decrease"),
    "ranges": (lambda **w: two([1], [1], range=[(0, 1)] * 3, **w), ArgumentError, "range for 2 axes; got"),
    "numbers as ranges": (lambda **w: two([1], [1], range=(0, 1, 2), **w), ArgumentError, "range= a pair (low, high)"),
    "a range": (lambda **w: two([1], [1], range=((1, 0), None), **w), ArgumentError, "low <= high; got"),
    "a range that is none": (lambda **w: two([1], [1], range=3, **w), ArgumentError, "range for each axis"),
    "NaN": (lambda **w: two([np.nan], [1], **w), ArgumentError, "histogram2d: finite elements where"),
    "complex": (lambda **w: two([1j], [1], **w), DtypeError, "real numbers, which have an order"),
    "complex weights": (lambda **w: two([1], [1], weights=[1j], **w), DtypeError, "real weights"),
    "too many": (lambda **w: two([1], [1], 2**16, **w), ArgumentError, "at most 2^30 bins in all"),
    "a keyword": (lambda **w: two([1], [1], normed=True, **w), UnknownKeywordError, "keywords among"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(device: gpuprims.Device, case: str) -> None:
    call, error, message = WRONG[case]
    with pytest.raises(error, match=re.escape(message)):
        call(device=device)
