"""rle under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, on_device, on_host
from watched_kernels import each, of, tiles

from gpuprims.primitives.rle import encode_runs

pytestmark = pytest.mark.oclgrind


@each(of("rle"))
def test_values_and_lengths(kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    for size, longest in ((1, 1), (tiles(kernel, 1203), 5), (tiles(kernel, 1203), 700)):
        lengths = rng.integers(1, longest + 1, size)
        x = np.repeat(np.arange(size) % 251, lengths)[:size].astype(np.uint8)
        begins = np.flatnonzero(np.r_[True, x[1:] != x[:-1]])
        values, found = encode_runs(x, lengths=True, **how)
        assert_equal(values, x[begins])
        assert_equal(found, np.diff(np.r_[begins, size]))


@each(of("rle"))
def test_begins_of_elements_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    x = np.sort(rng.integers(0, 90, tiles(kernel, 1203))).astype(np.float32)
    x[-5:] = np.nan
    for equal_nan in (True, False):
        values, begins = np.unique(x, return_index=True, equal_nan=equal_nan)
        how = {"device": kernel.device, "variant": kernel.variant.name, "equal_nan": equal_nan}
        found = encode_runs(on_device(kernel.device, x), begins=True, **how)
        assert_equal(on_host(kernel.device, found[0]), values)
        assert_equal(on_host(kernel.device, found[1]), np.r_[begins, x.size].astype(np.int32))
