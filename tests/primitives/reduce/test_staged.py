"""reduce/staged: whole rows in local memory, for short rows that do not begin at whole vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE

import gpuprims
from gpuprims.errors import NoVariantError


@pytest.fixture
def staged(device: gpuprims.Device) -> gpuprims.Device:
    if device.backend == "reference" or not device.capabilities.warp:
        pytest.skip("needs shuffles")
    return device


def reduce(device: gpuprims.Device, *arrays: np.ndarray, **keywords: Any) -> Any:
    result = gpuprims.reduce(*map(device.asarray, arrays), variant="staged", **keywords)
    return tuple(map(device.to_host, result)) if isinstance(result, tuple) else device.to_host(result)


# Either side of the lengths at which a row gets twice as many lanes, and the longest.
@pytest.mark.parametrize("n", [2, 3, 7, 9, 15, 17, 31, 33, 63, 65, 127, 129, 255])
def test_rows_of_every_length(staged: gpuprims.Device, rng: np.random.Generator, n: int) -> None:
    for outputs in (1024, 4099):
        x = rng.integers(-100, 100, (outputs, n), dtype=np.int8)
        np.testing.assert_array_equal(reduce(staged, x, axis=1), x.sum(axis=1))
    np.testing.assert_array_equal(reduce(staged, x.astype(np.float32), axis=1, op="max"), x.max(axis=1))


@pytest.mark.parametrize("n", [3, 17, 101])
def test_order_is_kept(staged: gpuprims.Device, rng: np.random.Generator, n: int) -> None:
    a, b = rng.integers(-3, 4, (1030, n), np.int32), rng.integers(-9, 10, (1030, n), np.int32)
    expected = gpuprims.reduce(a, b, op=AFFINE, axis=1, device="reference")
    for got, exact in zip(reduce(staged, a, b, op=AFFINE, axis=1), expected, strict=True):
        np.testing.assert_array_equal(got, exact)


@pytest.mark.parametrize("n", [3, 17, 101])
def test_places_in_rows(staged: gpuprims.Device, rng: np.random.Generator, n: int) -> None:
    x = rng.integers(0, 5, (1500, n)).astype(np.float32)
    np.testing.assert_array_equal(reduce(staged, x, axis=1, op="argmax"), x.argmax(axis=1))


def test_nan_and_the_mean(staged: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((2000, 5)).astype(np.float32)
    np.testing.assert_allclose(reduce(staged, x, axis=1, op="mean"), x.mean(axis=1), rtol=1e-5, atol=1e-6)
    x[77, 2] = np.nan
    np.testing.assert_array_equal(reduce(staged, x, axis=1, op="max"), x.max(axis=1))


def test_what_it_is_not_for_is_refused(staged: gpuprims.Device) -> None:
    x = np.ones((2000, 300), np.float32)
    for array, axis, reason in (
        (x, 1, "rows of at most 256 elements that lie together"),
        (x[:, :7], 1, "that lie together"),
        (np.ascontiguousarray(x[:, :8]), 1, "rows that do not begin at whole vectors"),
        (x[:7], 0, "that lie together"),
    ):
        given = staged.asarray(x)[:, :7] if array.shape == (2000, 7) else staged.asarray(array)
        with pytest.raises(NoVariantError, match=reason):
            gpuprims.reduce(given, axis=axis, variant="staged")
    with pytest.raises(NoVariantError, match="folds values of at most 16 bytes"):
        gpuprims.reduce(staged.asarray(np.ones((2000, 7), np.float32)), op="var", axis=1, variant="staged")
