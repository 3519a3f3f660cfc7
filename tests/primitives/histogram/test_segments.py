"""histogram with segments=, against NumPy's histogram of each segment."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from histogram_cases import BINS, assert_histogram, numpys, spread_values
from kernel_cases import Kernel, assert_equal, need, on_device, on_host
from segments_cases import randomly

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError, NoVariantError, ShapeError

SIZES = [0, 1, 300, 20_011]


def each(x: np.ndarray, offsets: np.ndarray, *how: Any, **keywords: Any) -> Any:
    """Return the histogram of each segment in the bins of all elements."""
    edges = numpys(x, *how)[1]
    bins = how if np.ndim(how[0]) == 0 else (edges,)  # NumPy's bins depend on the types of the limits
    weights = keywords.pop("weights", None)
    found = []
    for begin, end in itertools.pairwise(offsets):
        own = {} if weights is None else {"weights": weights[begin:end]}
        found.append(numpys(x[begin:end], *bins, **own, **keywords)[0])
    dtype = np.int64 if weights is None else weights.dtype
    return (np.array(found) if found else np.zeros((0, len(edges) - 1), dtype)), edges


@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_segments_of_every_kernel(
    histogram_kernel: Kernel, rng: np.random.Generator, size: int, dtype: str, bins: str
) -> None:
    histogram_kernel.need(dtype)
    if dtype == "float16" and bins == "many":
        pytest.skip("NumPy needs edges that float16 can tell apart")
    x, offsets = spread_values(rng, dtype, 2 * size)[::-2], randomly(rng, size)
    try:
        got = gpuprims.histogram(
            x, *BINS[bins], segments=offsets, device=histogram_kernel.device, variant=histogram_kernel.variant.name
        )
    except NoVariantError as error:
        pytest.skip(str(error))
    assert_histogram(got, each(x, offsets, *BINS[bins]))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_weights(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    histogram_kernel.need(dtype, "float64")
    x, offsets = rng.standard_normal(9001).astype(np.float32), randomly(rng, 9001)
    weights = (100 * rng.standard_normal(9001)).astype(dtype)
    try:
        got, _ = gpuprims.histogram(
            x, 9, (-2, 2), weights=weights, segments=offsets,
            device=histogram_kernel.device, variant=histogram_kernel.variant.name,
        )  # fmt: skip
    except NoVariantError as error:
        pytest.skip(str(error))
    exact, _ = each(x, offsets, 9, (-2, 2), weights=weights.astype(np.float64))
    np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-3)
    assert got.dtype == dtype


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32"])
def test_between_the_bounds_of_all_elements(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, dtype, "float64")
    x = (90 * rng.random(3001)).astype(dtype)
    for offsets in (np.array([0, 3001]), randomly(rng, 3001), np.arange(3002)):
        got = gpuprims.histogram(x, segments=offsets, device=device)
        assert_histogram(got, each(x, offsets, 10, (x.min(), x.max())))
    some = np.array([0, 1000, 1500, 3001])
    shares = gpuprims.histogram(x, 5, density=True, segments=some, device=device)[0]
    np.testing.assert_allclose(shares, each(x, some, 5, (x.min(), x.max()), density=True)[0], rtol=1e-13)
    rule = gpuprims.histogram(x, "sturges", segments=some, device=device)
    assert_equal(rule[1], np.histogram(x, "sturges")[1])


def test_no_segments(device: gpuprims.Device) -> None:
    counts, edges = gpuprims.histogram(np.zeros(0, np.float32), 3, segments=[0], device=device)
    assert counts.shape == (0, 3)
    assert edges.shape == (4,)
    assert_equal(gpuprims.histogram(np.zeros(0, np.float32), 3, segments=[0, 0], device=device)[0], [[0, 0, 0]])


def test_arrays_of_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, offsets = rng.standard_normal(40_001).astype(np.float32), randomly(rng, 40_001)
    there = on_device(device, x)
    for given in (offsets, on_device(device, offsets), on_device(device, offsets.astype(np.int32))):
        counts, edges = gpuprims.histogram(there, 50, (-3, 3), segments=given)
        assert type(counts) is type(edges) is type(there)
        assert_histogram((on_host(device, counts), on_host(device, edges)), each(x, offsets, 50, (-3, 3)))


X = np.float32([1, 2, 3])
WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "an axis": (
        {"segments": [0, 3], "axis": 0},
        ArgumentError,
        "no axis= with segments=, which lie along the one axis",
    ),
    "offsets that fall": ({"segments": [0, 2, 1, 3]}, ArgumentError, "segments= that never decrease; got 2 before 1"),
    "another end": ({"segments": [0, 2]}, ArgumentError, "segments= from 0 to 3, the number of elements; got 0 to 2"),
    "floats": ({"segments": [0.0, 3.0]}, DtypeError, "segments= of integers; got dtype float64"),
    "two axes": ({"segments": [[0, 3]]}, ShapeError, "segments= of one dimension"),
    "too many bins": ({"segments": [*[0] * 1100, 3], "bins": 2**20}, ArgumentError, "at most 2^30 bins in all"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(device: gpuprims.Device, case: str) -> None:
    keywords, error, message = WRONG[case]
    with pytest.raises(error, match=re.escape(message)):
        gpuprims.histogram(X, **keywords, device=device)


def test_a_plan_is_refused(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match="no segments=, because the host checks the offsets"):
        gpuprims.plan("histogram", X, 3, segments=[0, 3], device=device)
