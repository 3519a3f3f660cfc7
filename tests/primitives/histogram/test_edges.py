"""Bin edges: ranges, given edges, rounding, and how bins are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from histogram_cases import assert_histogram, histogram, numpys
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kernel_cases import DTYPES, Kernel, assert_equal, need, on_device, on_host, random_values

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.primitives.histogram.binning import key_dtype, make_table


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_range_of_the_elements(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    histogram_kernel.need(dtype)
    for x in (random_values(rng, dtype, 4000), np.ones(5, dtype), np.zeros(0, dtype)):
        if np.dtype(dtype).itemsize == 8 and np.dtype(dtype).kind in "iu":
            x >>= np.asarray(12, dtype)  # NumPy finds bins in float64, which holds these differences
        assert_histogram(histogram(histogram_kernel, x), numpys(x))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_of_64_bits_are_compared_exactly(histogram_kernel: Kernel, dtype: str) -> None:
    top = int(np.iinfo(dtype).max)
    edges = np.array([0, 2**53, 2**53 + 1, 2**53 + 2, top - 1, top], dtype)
    x = np.concatenate([edges, edges[:-1] + np.asarray(1, dtype), edges[1:] - np.asarray(1, dtype)])
    assert_histogram(histogram(histogram_kernel, x, edges), numpys(x, edges))


@pytest.mark.parametrize(
    ("x", "bins", "limits"),
    [
        (np.array([2**63 - 1, 5]), 4, (0, 4e19)),
        (np.array([2**63 - 1, -(2**63)]), 4, (-4e19, 4e19)),
        (np.array([2**64 - 1, 7], np.uint64), [0, 1e19, 1e20, 2e20], None),
        (np.array([2**64 - 1, 7], np.uint64), [-3.0, -2.0], None),
        (np.array([250, 3], np.uint8), 4, (-1000, 1000)),
    ],
)
def test_edges_beyond_the_integers(histogram_kernel: Kernel, x: np.ndarray, bins: Any, limits: Any) -> None:
    assert_histogram(histogram(histogram_kernel, x, bins, limits), np.histogram(x, bins, limits))


@pytest.mark.parametrize(("elements", "edges"), [("uint64", "int64"), ("int64", "uint64"), ("uint64", "int8")])
def test_signed_and_unsigned_integers_are_compared_as_floats_as_in_numpy(
    histogram_kernel: Kernel, rng: np.random.Generator, elements: str, edges: str
) -> None:
    near = 2**53 if edges != "int8" else 100
    x = near + rng.integers(0, 30, 3000).astype(elements)
    bins = near + np.array([1, 3, 6, 8, 9, 14, 21], edges)
    assert_histogram(histogram(histogram_kernel, x, bins), np.histogram(x, bins))
    far = np.array([-5, 0, 2**53, 2**53 + 1, 2**62 + 99] if elements == "int64" else [0, 2**63, 2**64 - 1], elements)
    assert_histogram(histogram(histogram_kernel, far, bins), np.histogram(far, bins))


def test_edges_may_be_booleans(device: gpuprims.Device) -> None:
    for dtype in ("uint64", "int8", "float32"):
        x, edges = np.array([0, 1, 1, 2], dtype), np.array([False, True])
        assert_histogram(gpuprims.histogram(x, edges, device=device), np.histogram(x, edges))


# Elements on edges, one last bit beside them, and far away.
@settings(max_examples=60)
@given(
    st.sampled_from(["float32", "float64", "float16", "int16", "uint8", "int64"]),
    st.integers(1, 60),
    st.floats(-1e4, 1e4),
    st.one_of(st.floats(1e-3, 1e4), st.integers(1, 300)),
    st.randoms(use_true_random=False),
)
@example("float32", 49, 0.0, 1.0, np.random.RandomState(0))  # type: ignore[arg-type]  # which has random() too
def test_elements_at_edges(
    device: gpuprims.Device, dtype: str, bins: int, low: float, width: float, random: Any
) -> None:
    need(device, dtype)
    limits = low, low + width
    with np.errstate(all="ignore"):
        at = np.linspace(*limits, bins + 1).astype(dtype)
    if np.dtype(dtype).kind == "f":
        beside = [np.nextafter(at, np.asarray(way, dtype)) for way in (-np.inf, np.inf)]
    else:
        beside = [at - np.asarray(1, dtype), at + np.asarray(1, dtype)]
    x = np.concatenate([at, *beside, np.array([int(random.random() * 99) for _ in range(30)], dtype)])
    try:
        expected = np.histogram(x, bins, limits)
    except (ValueError, IndexError):  # bins that floats cannot tell apart
        with pytest.raises(ArgumentError):
            gpuprims.histogram(x, bins, limits, device=device)
        return
    assert_histogram(gpuprims.histogram(x, bins, limits, device=device), expected)
    assert_histogram(gpuprims.histogram(x, expected[1], device=device), np.histogram(x, expected[1]))


@pytest.mark.parametrize(
    ("limits", "bins", "kind"),
    [
        ((0.0, 1.0), 256, "even"),
        ((0.0, 1.0), 49_152, "even"),
        ((-3.3, 4.7), 1000, "even"),
        ((1e6, 1e6 + 1), 7, "edges"),
    ],
)
def test_bins_of_one_width_are_found_without_a_search(limits: tuple[float, float], bins: int, kind: str) -> None:
    table = make_table(np.dtype(np.float32), bins, limits)
    assert table.kind == kind


def test_explicit_edges_of_one_width_are_too() -> None:
    edges = np.linspace(0, 256, 257)
    assert make_table(np.dtype(np.uint8), edges, None).kind == "even"


# Bins narrower than integers, or of all widths; ranges of as many integers as a guide has cells, and of one more.
@pytest.mark.parametrize(
    ("dtype", "first"), [("int8", -128), ("uint16", 65000), ("int64", -(2**62)), ("uint64", 2**63)]
)
@pytest.mark.parametrize("bins", [1000, [0, 1, 1, 2, 40, 41, 41, 41, 90]])
def test_integers_have_a_cell_each(
    histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, first: int, bins: Any
) -> None:
    x = np.asarray(first, dtype) + rng.integers(0, 100, 5000).astype(dtype)
    if isinstance(bins, list):
        bins = np.asarray(first, dtype) + np.asarray(bins, dtype)
    elif x.itemsize == 8:
        bins = np.asarray(first, dtype) + np.sort(rng.integers(0, 100, bins)).astype(dtype)  # NumPy's ranges are floats
    assert_histogram(histogram(histogram_kernel, x, bins), numpys(x, bins))
    limits = None if isinstance(bins, np.ndarray) else (int(x.min()), int(x.max()))
    assert not (make_table(x.dtype, bins, limits).guide >> 31).any()


@pytest.mark.parametrize("count", [2**16 - 1, 2**16, 2**16 + 1])
def test_as_many_integers_as_cells(histogram_kernel: Kernel, rng: np.random.Generator, count: int) -> None:
    x = rng.integers(0, count + 5, 5000).astype(np.int32)
    edges = np.array([0, 7, 11, 300, 301, count // 2, count - 1])
    assert_histogram(histogram(histogram_kernel, x, edges), numpys(x, edges))
    assert bool((make_table(x.dtype, edges, None).guide >> 31).any()) == (count > 2**16)


def test_keys_hold_every_element() -> None:
    assert all(np.can_cast(dtype, key_dtype(np.dtype(dtype))) for dtype in DTYPES)


def test_what_numpy_takes_too(device: gpuprims.Device) -> None:
    x = np.array([0.5, 1.5, 1.7])
    assert_histogram(gpuprims.histogram(x, np.array(2), device=device), np.histogram(x, np.array(2)))
    limits = np.array(0), np.array(2)
    assert_histogram(gpuprims.histogram(x, 2, limits, device=device), np.histogram(x, 2, limits))
    assert_equal(gpuprims.bincount([], device=device), np.bincount([]))
    weighed = gpuprims.histogram(2**24 + 1, [0, 2**24 + 1, 2**25], weights=np.float32(1), device=device)
    assert_histogram(weighed, np.histogram(2**24 + 1, [0, 2**24 + 1, 2**25], weights=np.float32(1)))


def test_edges_on_the_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 500)
    resident = on_device(device, x)
    counts, edges = gpuprims.histogram(resident, 7, (-2, 2), device=device)
    again, _ = gpuprims.histogram(resident, edges, device=device)
    assert_equal(on_host(device, again), on_host(device, counts))


@pytest.mark.parametrize(
    ("dtype", "bins"), [("float16", 7), ("float16", 8), ("float32", 300), ("uint8", 3), ("int64", 5)]
)
def test_edges_of_device_arrays(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, bins: int) -> None:
    histogram_kernel.need(dtype)
    x = (rng.random(5000) * 100).astype(dtype)
    resident = on_device(histogram_kernel.device, x)
    for how in ((bins, (0, 100)), (np.sort(x)[:: 5000 // bins], None)):
        for _ in range(2):
            got = histogram(histogram_kernel, resident, *how)
            assert_histogram([on_host(histogram_kernel.device, one) for one in got], numpys(x, *how))
