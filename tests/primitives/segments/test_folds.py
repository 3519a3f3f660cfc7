"""Variants that only fold segments."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, assert_equal, random_values
from segments_cases import reduced, scan, scanned

import gpuprims


@pytest.fixture
def runs_kernel(kernel: Kernel) -> Kernel:
    if kernel.variant.primitive != "segments":
        pytest.skip("is about kernels that fold segments alone")
    return kernel


def test_segments_of_every_length_around_lanes_and_spans(runs_kernel: Kernel, rng: np.random.Generator) -> None:
    lengths = np.concatenate([np.arange(0, 20), [31, 32, 33, 255, 256, 257, 511, 512, 513, 1024, 5000]])
    for order in (lengths, lengths[::-1], rng.permutation(np.repeat(lengths, 9))):
        offsets = np.concatenate([[0], np.cumsum(order)])
        x = random_values(rng, np.int64, offsets[-1])
        assert_equal(runs_kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


@pytest.mark.parametrize("stride", [2, 3, -1, -2])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64"])
def test_strided_segments_of_every_length_around_lanes(
    runs_kernel: Kernel, rng: np.random.Generator, dtype: str, stride: int
) -> None:
    lengths = np.concatenate([np.arange(1, 20), [63, 64, 65, 127, 129, 255, 256, 257, 300, 9000]])
    offsets = np.concatenate([[0], np.cumsum(rng.permutation(lengths))])
    x = random_values(rng, dtype, offsets[-1] * abs(stride))[::stride]
    assert_equal(runs_kernel.reduce(x, op="max", segments=offsets), reduced(np.max, x, offsets))
    assert_equal(scan(runs_kernel, x, op="max", segments=offsets), scanned(x, offsets, "max"))


@pytest.mark.parametrize("size", [8191, 8192, 8193, 100_003])
def test_a_segment_may_end_anywhere_in_a_part(runs_kernel: Kernel, rng: np.random.Generator, size: int) -> None:
    a, b = random_values(rng, np.int64, size) | 1, random_values(rng, np.int64, size)
    for cut in (1, size // 2, size - 1):
        for offsets in ([0, cut, size], [0, cut, cut, cut, size], [0, 0, cut, size, size]):
            got = runs_kernel.reduce(a, b, op=AFFINE, segments=offsets)
            for run, one in enumerate(zip(*got, strict=True)):
                part = slice(offsets[run], offsets[run + 1])
                whole = gpuprims.reduce(a[part], b[part], op=AFFINE, device="reference")
                assert one == whole


def test_long_segments_are_added_up_pairwise(runs_kernel: Kernel, rng: np.random.Generator) -> None:
    x, offsets = rng.random(3_000_000, dtype=np.float32), [0, 1_000_000, 1_000_100, 3_000_000]
    exact = reduced(np.sum, x.astype(np.float64), offsets)
    np.testing.assert_allclose(runs_kernel.reduce(x, segments=offsets), exact, rtol=5e-7)


def test_calls_choose_it(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("has no kernels that fold segments alone")
    assert gpuprims.explain("segments", device).chosen.primitive == "segments"


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("op", ["max", "min"])
def test_the_extreme_of_a_long_segment_is_found_in_every_span(
    runs_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str
) -> None:
    """On CPUs, a search skips spans of 1024 elements or more without a better one; NaN ends it."""
    fold = np.maximum if op == "max" else np.minimum
    for length in (1025, 4096, 4097, 10_000):
        places = [0, 1, 1023, 1024, 2047, 2048, 4095, length // 2, length - 2, length - 1]
        for special in (np.inf, -np.inf, np.nan, 60_000.0):
            rows = np.tile(rng.standard_normal(length).astype(dtype), (len(places) + 1, 1))
            for row, place in zip(rows, places, strict=False):
                row[min(place, length - 1)] = special
            offsets = np.arange(len(rows) + 1) * length
            assert_equal(runs_kernel.reduce(rows.ravel(), op=op, segments=offsets), fold.reduce(rows, axis=1))
