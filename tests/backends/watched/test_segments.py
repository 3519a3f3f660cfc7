"""Segments under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, affine_fold, assert_equal, random_values
from watched_kernels import each, of

import gpuprims

pytestmark = pytest.mark.oclgrind

SCANS = of("scan")
FOLDING = [*SCANS, *of("segments")]

OFFSETS = np.array([0, 0, 1, 40, 40, 700, 1024, 1025, 1999, 2003, 2003])


@each(SCANS)
def test_scans_of_segments(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, 2003)
    how = {"segments": OFFSETS, "device": kernel.device, "variant": kernel.variant.name}
    sums = [np.cumsum(run) for run in np.split(x, OFFSETS[1:-1])]
    assert_equal(gpuprims.scan(x, **how), np.concatenate(sums))
    before = [np.append(0, run[:-1]) for run in sums if run.size]
    assert_equal(gpuprims.scan(x, inclusive=False, **how), np.concatenate(before))


@each(FOLDING)
def test_folds_of_segments_some_of_them_empty(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.int64, 2003), random_values(rng, np.int8, 2003)
    how = {"segments": OFFSETS, "device": kernel.device, "variant": kernel.variant.name}
    expected = np.array([np.sum(run) for run in np.split(x * y, OFFSETS[1:-1])])
    assert_equal(gpuprims.reduce(x, y, map="x*y", **how), expected)


@each(FOLDING)
def test_folds_of_segments_by_an_operator_that_does_not_commute(kernel: Kernel, rng: np.random.Generator) -> None:
    slopes, shifts = random_values(rng, np.int64, 2003) | 1, random_values(rng, np.int64, 2003)
    offsets = np.unique(OFFSETS)
    how = {"op": AFFINE, "segments": offsets, "device": kernel.device, "variant": kernel.variant.name}
    pairs = zip(np.split(slopes, offsets[1:-1]), np.split(shifts, offsets[1:-1]), strict=True)
    expected = np.array([affine_fold(*pair) for pair in pairs])
    assert_equal(np.stack(gpuprims.reduce(slopes, shifts, **how), axis=1), expected)
