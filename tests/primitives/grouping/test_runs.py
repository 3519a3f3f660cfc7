"""Runs of equal neighbours by one scan, as of few elements, and by marks, as of many."""

from __future__ import annotations

import numpy as np
import pytest
from grouping_cases import DTYPES, repeated

import gpuprims
from gpuprims.primitives.grouping import runs


@pytest.fixture(params=["scanned", "marked"])
def way(request, monkeypatch):
    """Find runs of arrays of any size by one of the two ways."""
    most = {"scanned": 2**62, "marked": 0}[request.param]
    monkeypatch.setattr(runs, "_MOST_SCANNED", dict.fromkeys(("cpu", "gpu", "reference"), most))
    return request.param


@pytest.mark.parametrize("size", [1, 2, 3, 257, 70_001])
def test_sizes(way, place, rng, size):
    x = np.sort(rng.integers(0, max(size // 5, 1), size)).astype(np.int32)
    given, how = place.given(x), {"device": place.device}
    values, inverse, counts = gpuprims.unique_consecutive(given, return_inverse=True, return_counts=True, **how)
    expected = np.unique(x, return_inverse=True, return_counts=True)
    for got, right in zip((values, inverse, counts), expected, strict=True):
        np.testing.assert_array_equal(place.host(got), right)


@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_nan(way, device, rng, dtype, equal_nan):
    x = repeated(rng, 3000, dtype)
    got = gpuprims.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=equal_nan, device=device
    )
    right = np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=equal_nan)
    for found, expected in zip(got, right, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_complex_nan_are_equal(way):
    x = np.repeat(np.array([1, np.nan, 2, complex(0, np.nan), 2], np.complex64), [2, 3, 1, 2, 1])
    values, lengths = gpuprims.run_length_encode(x, device="reference")
    np.testing.assert_array_equal(lengths, [2, 3, 1, 2, 1])
    np.testing.assert_array_equal(values, x[[0, 2, 5, 6, 8]])


def test_lengths_add_up_and_each_run_differs_from_the_next(way, device, rng):
    x = rng.integers(0, 3, 40_000).astype(np.uint8)
    values, lengths = gpuprims.run_length_encode(x, device=device)
    assert (values[1:] != values[:-1]).all()
    np.testing.assert_array_equal(np.repeat(values, lengths), x)


def test_few_launches_for_few_elements(device, rng):
    keys, values = rng.integers(0, 9, 1000).astype(np.int32), rng.random(1000, dtype=np.float32)
    if device.backend == "reference":
        pytest.skip("NumPy launches nothing")
    gpuprims.reduce(values, by=keys, device=device)
    with gpuprims.profile() as seen:
        gpuprims.reduce(values, by=keys, device=device)
    assert len(seen.launches) <= 4  # sort, runs, and the sums, with a check of the offsets on OpenCL GPUs
