"""Segments under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, affine_fold, assert_equal, random_values
from watched_kernels import FOR_PLACES, each, of

import gpuprims
from gpuprims.errors import ArgumentError

pytestmark = pytest.mark.oclgrind

BY_FLAGS = [variant for variant in of("scan") if variant.name not in FOR_PLACES]
FOLDING = [*BY_FLAGS, *of("segments")]
SCANS = [*BY_FLAGS, *of("segscan")]

OFFSETS = np.array([0, 0, 1, 40, 40, 300, 512, 513, 599, 603, 603])


@each(SCANS)
def test_scans_of_segments(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, 603)
    how = {"segments": OFFSETS, "device": kernel.device, "variant": kernel.variant.name}
    sums = [np.cumsum(run) for run in np.split(x, OFFSETS[1:-1])]
    assert_equal(gpuprims.scan(x, **how), np.concatenate(sums))
    before = [np.append(0, run[:-1]) for run in sums if run.size]
    assert_equal(gpuprims.scan(x, inclusive=False, **how), np.concatenate(before))


@each(FOLDING)
def test_folds_of_segments_some_of_them_empty(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.int64, 603), random_values(rng, np.int8, 603)
    how = {"segments": OFFSETS, "device": kernel.device, "variant": kernel.variant.name}
    expected = np.array([np.sum(run) for run in np.split(x * y, OFFSETS[1:-1])])
    assert_equal(gpuprims.reduce(x, y, map="x*y", **how), expected)


@each(FOLDING)
def test_folds_of_segments_by_an_operator_that_does_not_commute(kernel: Kernel, rng: np.random.Generator) -> None:
    slopes, shifts = random_values(rng, np.int32, 603) | 1, random_values(rng, np.int32, 603)
    offsets = np.unique(OFFSETS)
    how = {"op": AFFINE, "segments": offsets, "device": kernel.device, "variant": kernel.variant.name}
    pairs = zip(np.split(slopes, offsets[1:-1]), np.split(shifts, offsets[1:-1]), strict=True)
    expected = np.array([affine_fold(*pair) for pair in pairs]).astype(np.int32)
    assert_equal(np.stack(gpuprims.reduce(slopes, shifts, **how), axis=1), expected)


@each([*of("segments"), *of("segscan")])
def test_segments_longer_than_parts_and_many_that_are_empty(kernel: Kernel, rng: np.random.Generator) -> None:
    offsets = np.concatenate([[0] * 700, [5, 9000, 9000], [9001] * 600, [9003, 9999]])
    x = random_values(rng, np.int64, 9999)
    function = gpuprims.reduce if kernel.variant.primitive == "segments" else gpuprims.scan
    got = function(x, segments=offsets, device=kernel.device, variant=kernel.variant.name)
    runs = np.split(x, offsets[1:-1])
    sums = [np.cumsum(run) for run in runs]
    folded = np.array([np.sum(run) for run in runs])
    assert_equal(got, folded if function is gpuprims.reduce else np.concatenate(sums))


@each([*of("segments"), *of("segscan")])
def test_wrong_offsets_read_and_write_nothing_outside(kernel: Kernel) -> None:
    function = gpuprims.reduce if kernel.variant.primitive == "segments" else gpuprims.scan
    for offsets in ([0, 3000, 70, 2000], [0, -(2**40), 2**50, 2000], [2**62, 5, 2000], [0, 9, 2**40]):
        with pytest.raises(ArgumentError, match="segments="):
            function(np.ones(2000), segments=offsets, device=kernel.device, variant=kernel.variant.name)
