"""compact under Oclgrind and compute-sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, on_device, on_host, random_values
from watched_kernels import FOR_PLACES, each, of, tiles

import gpuprims
from gpuprims.core.operands import as_operands
from gpuprims.primitives.compact.nonzero import places_of

pytestmark = pytest.mark.oclgrind

SCANS = [variant for variant in of("scan") if variant.name not in FOR_PLACES]

# compact runs by its own variants and by most of scan; a name that both have means compact's own.
COMPACTING = of("compact")
COMPACTING += [variant for variant in SCANS if variant.name not in {own.name for own in COMPACTING}]


@each(COMPACTING)
def test_the_elements_that_a_mask_keeps(kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    for size in (1, tiles(kernel, 1203)):
        x, mask = random_values(rng, np.float32, size), rng.random(size) < 0.5
        assert_equal(gpuprims.compact(x, mask, **how), x[mask])
    x = random_values(rng, np.float32, 300)
    assert_equal(gpuprims.compact(x, "x > 0", **how), x[x > 0])
    plane = random_values(rng, np.int16, (20, 35))
    assert_equal(gpuprims.compact(plane.T, plane.T > 0, **how), plane.T[plane.T > 0])


@each(COMPACTING)
def test_the_places_of_elements(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in (1, tiles(kernel, 1203)):
        x = (rng.random(size) < 0.5).astype(np.int16)
        operands = as_operands("nonzero", (x,), kernel.device)
        got = places_of(operands, x, np.dtype(np.int64), kernel.variant.name)
        assert_equal(got, np.flatnonzero(x))


@each(COMPACTING)
def test_every_second_element_and_shares_that_change(kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    for size in (17, 1203):
        x = random_values(rng, np.int16, 2 * size)[::2]
        mask = rng.random(size) < np.where(np.arange(size) // 300 % 2, 0.02, 0.97)
        assert_equal(gpuprims.compact(x, mask, **how), x[mask])


CHUNKS = [variant for variant in COMPACTING if variant.name == "cpu_chunks"]


@each(CHUNKS)
def test_chunks_write_side_by_side_what_a_mask_keeps(kernel: Kernel, rng: np.random.Generator) -> None:
    small: Any = kernel.variant.resized(items=300)
    for share in (0.02, 0.5, 0.98, 1):
        x, mask = random_values(rng, np.float32, (31, 132))[:, 3:], rng.random((31, 129)) < share
        assert_equal(gpuprims.compact(x, mask, device=kernel.device, variant=small), x[mask])


@each(CHUNKS)
def test_chunks_read_across_outputs_that_lie_side_by_side(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int16, (1100, 5)).T  # several tiles of few rows
    for share in (0, 0.0005, 0.01, 0.5, 0.98):
        mask = rng.random(x.shape) < share
        assert_equal(gpuprims.compact(x, mask, device=kernel.device), x[mask])
    y = random_values(rng, np.float32, (17, 2, 70)).T  # strips of 64 and 6 rows
    assert_equal(gpuprims.compact(y, "x > 0", device=kernel.device), y[y > 0])


@each(COMPACTING)
def test_the_elements_that_a_mask_keeps_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.uint8, tiles(kernel, 1203))
    how = {"device": kernel.device, "variant": kernel.variant.name}
    for mask in (rng.random(x.size) < 0.1, np.zeros(min(x.size, 70), bool), np.ones(min(x.size, 300), bool)):
        given = x[: mask.size]
        got = gpuprims.compact(on_device(kernel.device, given), on_device(kernel.device, mask), **how)
        assert_equal(on_host(kernel.device, got), given[mask])
