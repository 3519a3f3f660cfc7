"""random under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal
from watched_kernels import each, of

import gpuprims

pytestmark = pytest.mark.oclgrind

KEY = (2**64 - 5, 2**40)


@each(of("philox"))
@pytest.mark.parametrize(("kind", "dtype"), [("uniform", "f4"), ("uniform", "f8"), ("normal", "f4"), ("bits", "u8")])
def test_random(kernel: Kernel, kind: str, dtype: str) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    for size in (1, 255, 4 * kernel.variant.block, 9 * kernel.variant.block + 2):
        expected = gpuprims.random(KEY, size, kind, dtype=dtype, device="reference")
        assert_equal(gpuprims.random(KEY, size, kind, dtype=dtype, **how), expected)
    apart = np.zeros((40, 9), dtype)[::2, 1:]
    gpuprims.random(KEY, kind=kind, out=apart, **how)
    assert_equal(apart, gpuprims.random(KEY, apart.shape, kind, dtype=dtype, device="reference"))
