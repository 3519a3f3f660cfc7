"""sort under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, random_values
from watched_kernels import each, of

import gpuprims

pytestmark = pytest.mark.oclgrind


@each(of("sort"))
def test_keys_and_indices(kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    sizes = (16_385,) if kernel.variant.name == "onesweep" else (1, 60, 700)
    for size in sizes:
        x = random_values(rng, np.int16, size)
        assert np.array_equal(gpuprims.sort(x, **how), np.sort(x))
        assert np.array_equal(gpuprims.argsort(x, **how), np.argsort(x, kind="stable"))


@each(of("sort"))
def test_rows_with_values(kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    rows = (2, 17_001) if kernel.variant.name == "onesweep" else (3, 130)
    keys, values = random_values(rng, np.uint8, rows), random_values(rng, np.float32, rows)
    order = np.argsort(keys, kind="stable")
    got = gpuprims.sort_by_key(keys, values, **how)
    assert np.array_equal(got[1], np.take_along_axis(values, order, 1))
