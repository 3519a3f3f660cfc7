"""unique and unique_consecutive against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from grouping_cases import DTYPES, SIZES, repeated
from tricky_data import tricky

import gpuprims
from gpuprims.errors import ArgumentError, AxisError, UnknownKeywordError

EVERYTHING = {"return_index": True, "return_inverse": True, "return_counts": True}


@pytest.mark.parametrize("dtype", DTYPES)
def test_everything_that_numpy_returns(place, rng, dtype):
    x = repeated(rng, 1000, dtype)
    results = gpuprims.unique(place.given(x), **EVERYTHING, device=place.device)
    for result, expected in zip(results, np.unique(x, **EVERYTHING), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(place.host(result), expected)


@pytest.mark.parametrize("size", SIZES)
def test_sizes(place, rng, size):
    x = repeated(rng, size, "float32")
    given, expected = place.given(x), np.unique(x, **EVERYTHING)
    np.testing.assert_array_equal(place.host(gpuprims.unique(given, device=place.device)), expected[0])
    for result, wanted in zip(gpuprims.unique(given, **EVERYTHING, device=place.device), expected, strict=True):
        np.testing.assert_array_equal(place.host(result), wanted)
    counted = gpuprims.unique(given, return_counts=True, device=place.device)
    np.testing.assert_array_equal(place.host(counted[1]), expected[3])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_elements_that_are_hard(device, rng, dtype):
    for name, x in tricky(rng, 20_001, dtype).items():
        everything, expected = gpuprims.unique(x, **EVERYTHING, device=device), np.unique(x, **EVERYTHING)
        for result, wanted in zip(everything, expected, strict=True):
            np.testing.assert_array_equal(result, wanted, err_msg=name)
        begins, lengths = runs_of(x)
        values, inverse, counts = gpuprims.unique_consecutive(x, True, True, device=device)
        np.testing.assert_array_equal(values, x[begins], err_msg=name)
        np.testing.assert_array_equal(inverse, np.repeat(np.arange(lengths.size), lengths), err_msg=name)
        np.testing.assert_array_equal(counts, lengths, err_msg=name)


def test_shapes_and_strides(place, rng):
    whole = repeated(rng, 4000, "int32").reshape(50, 80)
    given = place.given(whole)[::2, 1:]
    for result, expected in zip(
        gpuprims.unique(given, **EVERYTHING, device=place.device), np.unique(whole[::2, 1:], **EVERYTHING), strict=True
    ):
        np.testing.assert_array_equal(place.host(result), expected)


@pytest.mark.parametrize("x", [5, np.float32(2.5), [3, 1, 3], np.zeros((0, 3)), np.int16([[2], [1]]).astype(">i2")])
def test_what_numpy_takes(device, x):
    for result, expected in zip(
        gpuprims.unique(x, **EVERYTHING, device=device), np.unique(x, **EVERYTHING), strict=True
    ):
        assert result.shape == expected.shape
        np.testing.assert_array_equal(result, expected)


def test_warm_calls_see_their_elements_and_keywords(device, rng, numpy_computes):
    plain = np.float32([3, 1, 3, 2])
    for x in (plain, plain, np.float32([0.0, np.nan, -0.0, np.nan]), plain[::-1].copy(), -plain):
        for equal_nan in (True, False):
            expected = np.unique(x, equal_nan=equal_nan)
            np.testing.assert_array_equal(gpuprims.unique(x, equal_nan=equal_nan, device=device), expected)
    with pytest.raises(ArgumentError, match="unique: return_counts= True or False; got 0"):
        gpuprims.unique(plain, return_counts=0, device=device)


def test_each_nan_by_itself(device):
    x = np.float64([np.nan, 1, np.nan, 1])
    for result, expected in zip(
        gpuprims.unique(x, **EVERYTHING, equal_nan=False, device=device),
        np.unique(x, **EVERYTHING, equal_nan=False),
        strict=True,
    ):
        np.testing.assert_array_equal(result, expected)


def runs_of(x):
    """Return the first index of each run, and the length."""
    flat = np.ravel(x)
    equal = (flat[1:] == flat[:-1]) | ((flat[1:] != flat[1:]) & (flat[:-1] != flat[:-1]))
    begins = np.flatnonzero(np.r_[np.ones(min(flat.size, 1), bool), ~equal])
    return begins, np.diff(np.r_[begins, flat.size])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "float64", "complex64"])
@pytest.mark.parametrize("size", SIZES)
def test_consecutive(place, rng, size, dtype):
    x = repeated(rng, size, dtype, most=2)
    begins, lengths = runs_of(x)
    arguments = {"return_inverse": True, "return_counts": True}
    values, inverse, counts = gpuprims.unique_consecutive(place.given(x), **arguments, device=place.device)
    np.testing.assert_array_equal(place.host(values), x[begins])
    np.testing.assert_array_equal(place.host(inverse), np.repeat(np.arange(lengths.size), lengths))
    np.testing.assert_array_equal(place.host(counts), lengths)
    assert inverse.dtype == counts.dtype == np.int64
    np.testing.assert_array_equal(
        place.host(gpuprims.unique_consecutive(place.given(x), device=place.device)), x[begins]
    )


def test_consecutive_keeps_the_shape(device):
    x = np.int32([[1, 1, 2], [2, 3, 3]])
    _, inverse = gpuprims.unique_consecutive(x, return_inverse=True, device=device)
    np.testing.assert_array_equal(inverse, [[0, 0, 1], [1, 2, 2]])


@pytest.mark.parametrize("equal_nan", [True, False])
def test_complex_elements_are_those_of_numpy(device, rng, equal_nan, either_computes):
    parts = np.float32([0, -0.0, 1, -1, np.nan, np.inf])
    x = (rng.choice(parts, 300) + 0j).astype(np.complex64)
    x.imag = rng.choice(parts, 300)
    flags = {"return_index": True, "return_inverse": True, "return_counts": True, "equal_nan": equal_nan}
    found = gpuprims.unique(x, **flags, device=device)
    for one, expected in zip(found, np.unique(x, **flags), strict=True):
        np.testing.assert_array_equal(one, expected)
    np.testing.assert_array_equal(gpuprims.unique(x, equal_nan=equal_nan, device=device), found[0])


def test_refusals():
    with pytest.raises(AxisError, match="axis=None only; got 0"):
        gpuprims.unique(np.zeros((2, 2)), axis=0, device="reference")
    with pytest.raises(UnknownKeywordError, match="did you mean 'return_counts'"):
        gpuprims.unique([1], return_count=True, device="reference")
    with pytest.raises(UnknownKeywordError):
        gpuprims.unique_consecutive([1], dim=0, device="reference")
