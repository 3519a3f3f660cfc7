"""Bins between the smallest and the largest element, which stay on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from histogram_cases import assert_histogram
from kernel_cases import Kernel, on_device, on_host

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.primitives.histogram.calls import as_weighing, planned, weighed
from gpuprims.primitives.histogram.plan import with_table

BINS = (1, 2, 49, 170, 1285)


def between(kernel: Kernel, x: Any, bins: int, **keywords: Any) -> Any:
    """Count an array of the device, and return counts and edges on the host."""
    if kernel.variant.name not in ("local_atomic", "bytes"):
        pytest.skip("does not find bounds")
    if kernel.variant.name == "bytes" and x.dtype.itemsize > 1:
        pytest.skip("counts bytes alone")
    resident = x if not isinstance(x, np.ndarray) else on_device(kernel.device, x)
    found = gpuprims.histogram(resident, bins, variant=kernel.variant.name, **keywords)
    return tuple(on_host(kernel.device, one) for one in found)


@np.errstate(all="ignore")  # of ranges that overflow
def assert_numpys(kernel: Kernel, x: np.ndarray, bins: int) -> None:
    try:
        expected = np.histogram(x, bins)
    except (ValueError, IndexError):  # not finite, more bins than floats, or a range that overflows
        with pytest.raises(ArgumentError, match=r"finite elements|bins that floats can tell apart|a width that"):
            between(kernel, x, bins)
    else:
        assert_histogram(between(kernel, x, bins), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_of_all_sizes(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    histogram_kernel.need(dtype)
    small, large = float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
    for size in (1, 1000, 20_001):
        even = rng.random(size)
        arrays = [even, even + 1000, even * 1e-3 - 2, even * 100 * small, even * small / 9, (even - 0.5) * large]
        arrays += [(even * 2 - 1) * (0.9 * large), np.full(size, 3.7), np.zeros(size), rng.standard_normal(size)]
        arrays += [rng.integers(0, 50, size) / 49, even + 1e6, even * 1e-30]
        for x in arrays:
            with np.errstate(over="ignore"):
                elements = x.astype(dtype)
            for bins in BINS:
                assert_numpys(histogram_kernel, elements, bins)
        for bad in (np.nan, np.inf, -np.inf):
            assert_numpys(histogram_kernel, np.where(np.arange(size) == size // 2, bad, even).astype(dtype), 9)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_of_all_sizes(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    histogram_kernel.need(np.float64)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    for size in (1, 1000, 20_001):
        whole = rng.integers(low, high, size, dtype=dtype, endpoint=True)
        near = rng.integers(high - 99, high, size, dtype=dtype, endpoint=True)
        for x in (whole, near, rng.integers(0, 100, size).astype(dtype), np.full(size, high, dtype)):
            for bins in BINS:
                assert_numpys(histogram_kernel, x, bins)


def test_layouts_axes_and_weights(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    histogram_kernel.need(np.float64)
    device, x = histogram_kernel.device, rng.standard_normal((90, 301)).astype(np.float32)
    resident = on_device(device, x)
    weights = rng.integers(-9, 9, x.shape).astype(np.float32)
    assert_histogram(between(histogram_kernel, x.T, 7), np.histogram(x, 7))
    for bins in (7, 3000):
        got = between(histogram_kernel, resident, bins, weights=on_device(device, weights))
        assert_histogram(got, np.histogram(x, bins, weights=weights))
    counts, edges = between(histogram_kernel, resident, 20, axis=1)
    limits = float(x.min()), float(x.max())
    np.testing.assert_array_equal(edges, np.histogram_bin_edges(x, 20))
    np.testing.assert_array_equal(counts.sum(axis=0), np.histogram(x, 20, limits)[0])
    np.testing.assert_array_equal(counts.sum(axis=1), 301)


def test_an_array_that_was_right_and_is_wrong_later(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    histogram_kernel.need(np.float64)
    device, x = histogram_kernel.device, rng.random(5000).astype(np.float32)
    resident = on_device(device, x)
    for _ in range(3):
        assert_histogram(between(histogram_kernel, resident, 10), np.histogram(x, 10))
    gpuprims.map("where(x < 0.5, x / 0, x)", on_device(device, x), out=resident)

    def count_and_wait() -> None:
        gpuprims.histogram(resident, 10, variant=histogram_kernel.variant.name)
        device.synchronize()

    # The host that sees the bounds in time says what is wrong with them, else the next wait says that they are.
    with pytest.raises(ArgumentError, match=r"right in one call, and wrong in a later|finite elements where range="):
        count_and_wait()
    with pytest.raises(ArgumentError, match="finite elements where range= is not given"):
        between(histogram_kernel, resident, 10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limits", [None, (-1.0, 1.0)])
@pytest.mark.parametrize("bins", [9, 3000])
def test_what_warm_calls_run(
    histogram_kernel: Kernel, rng: np.random.Generator, bins: int, limits: Any, weighted: bool
) -> None:
    if histogram_kernel.variant.name != "local_atomic":
        pytest.skip("has other launches")
    histogram_kernel.need(np.float64)
    device, x = histogram_kernel.device, rng.standard_normal(60_000).astype(np.float32)
    weights = rng.integers(-9, 9, x.size).astype(np.float32)
    given = (x, weights) if weighted else (x,)
    arrays = tuple(on_device(device, one) for one in given)
    operands = weighed("histogram", *arrays, *() if weighted else (None,), None)
    how = None, as_weighing(operands, True), weights.dtype if weighted else None, "local_atomic"
    plan, table = planned(operands, bins, limits, *how, seeks=0 if limits else bins)
    run = with_table(plan, table, 0 if limits else bins).runner()
    expected = np.histogram(x, bins, limits, weights=weights if weighted else None)
    for _ in range(3):
        assert_histogram([on_host(device, one) for one in run(arrays)], expected)
