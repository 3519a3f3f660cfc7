"""Sorted keys of many rows by NumPy, with the bits of the kernels' order."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import need

import gpuprims


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("descending", [False, True])
def test_rows_of_lengths_around_limits(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str, *, descending: bool
) -> None:
    need(device, dtype)
    for rows, length in ((9, 255), (9, 256), (9, 257), (3, 1024), (3, 1025), (2, 16_384), (2, 16_385)):
        x = rng.integers(0, 2**16, (rows, length)).astype(dtype)
        if x.dtype.kind in "if":
            x[:, ::3] *= -1
        for given, axis in ((x, 1), (x.T, 0), (np.asfortranarray(x), -1), (x[:, ::2], 1), (x, 0), (x, None)):
            expected = np.sort(given, axis)
            if descending:
                expected = np.flip(expected, -1 if axis is None else axis)
            found = gpuprims.sort(given, axis=axis, descending=descending, device=device)
            assert found.dtype == x.dtype
            assert found.flags.c_contiguous
            np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_with_nan_and_zeros_of_both_signs(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, dtype)
    for value in (np.nan, -0.0):
        x = rng.integers(-2, 3, (40, 30)).astype(dtype)
        x[7, 3::5] = value
        expected = gpuprims.sort(x, device="reference")
        assert gpuprims.sort(x, device=device).tobytes() == expected.tobytes()
