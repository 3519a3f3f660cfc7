"""Variants that only fold segments."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, assert_equal, random_values
from segments_cases import reduced

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
