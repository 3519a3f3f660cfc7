"""scan with argmin and argmax: the place of the extreme so far."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal
from scan_cases import places

from gpuprims.errors import ArgumentError


@pytest.mark.parametrize("op", ["argmin", "argmax"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float16", "uint8"])
def test_the_place_of_the_extreme_so_far(scan_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    better = np.greater if op == "argmax" else np.less
    for size in (scan_kernel.several_scanned, 77):
        drift = np.linspace(0, 60, size) * (1 if op == "argmax" else -1) + 100
        x = (rng.integers(0, 40, size) + drift).astype(dtype)  # new extremes occur up to the end, most of them twice
        assert_equal(scan_kernel.scan(x, op=op), places(x, better))
        if x.dtype.kind == "f":
            x[[size // 2, size - 1]] = np.nan
            assert_equal(scan_kernel.scan(x, op=op), places(x, better))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_places_are_counted_along_the_scanned_axis(scan_kernel: Kernel, rng: np.random.Generator, axis: int) -> None:
    x = rng.integers(0, 90, (30, 40, 50), dtype=np.int8)
    for array in (x, x[::-1, :, ::-1], np.asfortranarray(x)):
        expected = np.moveaxis(places(np.moveaxis(array, axis, -1)), -1, axis)
        assert_equal(scan_kernel.scan(array, op="argmax", axis=axis), expected)


@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_nothing_has_no_place(scan_kernel: Kernel, op: str) -> None:
    message = f"scan with {op}: inclusive=True, because no elements have no result; got inclusive=False"
    with pytest.raises(ArgumentError, match=message):
        scan_kernel.scan(np.arange(5.0, dtype=np.float32), op=op, inclusive=False)
