"""run_length_encode and run_length_decode against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from grouping_cases import DTYPES, SIZES, repeated
from tricky_data import tricky

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, UnknownKeywordError


@pytest.mark.parametrize("size", SIZES)
def test_there_and_back(place, rng, size):
    x = np.repeat(repeated(rng, size, "float32"), rng.integers(0, 9, size))
    values, lengths = gpuprims.run_length_encode(place.given(x), device=place.device)
    assert values.dtype == x.dtype
    assert lengths.dtype == np.int64
    held = place.host(values)
    neighbours = (held[1:] == held[:-1]) | (np.isnan(held[1:]) & np.isnan(held[:-1]))
    assert not neighbours.any()
    np.testing.assert_array_equal(np.repeat(held, place.host(lengths)), x)
    np.testing.assert_array_equal(place.host(gpuprims.run_length_decode(values, lengths, device=place.device)), x)


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_dtypes(device, rng, dtype):
    x = np.repeat(repeated(rng, 300, dtype), rng.integers(0, 9, 300))
    assert np.array_equal(
        gpuprims.run_length_decode(*gpuprims.run_length_encode(x, device=device), device=device), x, equal_nan=True
    )


def test_elements_and_lengths_that_are_hard(device, rng):
    for name, x in tricky(rng, 20_001).items():
        values, lengths = gpuprims.run_length_encode(x, device=device)
        assert (lengths > 0).all(), name
        np.testing.assert_array_equal(gpuprims.run_length_decode(values, lengths, device=device), x, err_msg=name)
    for name, lengths in tricky(rng, 3001, "int16").items():
        values, some = np.arange(3001), lengths.clip(0, None) % 700
        got = gpuprims.run_length_decode(values, some, device=device)
        np.testing.assert_array_equal(got, np.repeat(values, some), err_msg=name)


@pytest.mark.parametrize("kind", ["uint8", "int16", "int64"])
@pytest.mark.parametrize("lengths", [[0, 0, 3, 0, 1, 0], [1], [0], [200, 0, 100], [0, 100, 0]])
def test_lengths_with_zeros(place, lengths, kind):
    values, lengths = np.arange(len(lengths), dtype=np.int16) - 2, np.asarray(lengths, kind)
    decoded = gpuprims.run_length_decode(place.given(values), place.given(lengths), device=place.device)
    assert decoded.dtype == values.dtype
    np.testing.assert_array_equal(place.host(decoded), np.repeat(values, lengths))


def test_refusals():
    with pytest.raises(ArgumentError, match="lengths of at least 0, in the range of int64; got -2"):
        gpuprims.run_length_decode([1.0, 2], [1, -2], device="reference")
    with pytest.raises(ArgumentError, match="lengths of at least 0, in the range of int64; got -9223372036854775808"):
        gpuprims.run_length_decode([1.0, 2], np.uint64([1, 2**63]), device="reference")
    with pytest.raises(ShapeError, match=r"a length for each; got \(2,\) and \(1,\)"):
        gpuprims.run_length_decode([1.0, 2], [1], device="reference")
    with pytest.raises(ShapeError, match="one-dimensional values"):
        gpuprims.run_length_decode(np.zeros((2, 2)), np.ones((2, 2), int), device="reference")
    with pytest.raises(DtypeError, match="lengths of integers; got dtype float64"):
        gpuprims.run_length_decode([1, 2], [1.0, 2.0], device="reference")
    with pytest.raises(UnknownKeywordError):
        gpuprims.run_length_encode([1], axis=0, device="reference")
