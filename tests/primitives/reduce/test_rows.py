"""reduce/rows, a few lanes an output: many rows of up to some hundred elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE

import gpuprims
from gpuprims.errors import NoVariantError


@pytest.fixture
def rows(device: gpuprims.Device) -> gpuprims.Device:
    if not device.capabilities.warp:
        pytest.skip(f"{device.capabilities.name} offers no shuffles")
    return device


def reduce(device: gpuprims.Device, *arrays: np.ndarray, **keywords: Any) -> Any:
    result = gpuprims.reduce(*map(device.asarray, arrays), variant="rows", **keywords)
    return tuple(map(device.to_host, result)) if isinstance(result, tuple) else device.to_host(result)


# Either side of a vector, of as many lanes as a warp has, of a step of the unrolled loop, and the longest.
LENGTHS = [2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 512, 513, 1000, 2047, 2048]


@pytest.mark.parametrize("n", LENGTHS)
def test_rows_of_every_length(rows: gpuprims.Device, rng: np.random.Generator, n: int) -> None:
    for outputs in (1024, 1031):
        x = rng.integers(-100, 100, (outputs, n), dtype=np.int8)
        np.testing.assert_array_equal(reduce(rows, x, axis=1), x.sum(axis=1))
        np.testing.assert_array_equal(reduce(rows, x.astype(np.float32), axis=1, op="argmax"), x.argmax(axis=1))
    np.testing.assert_array_equal(reduce(rows, x.astype(np.float64), axis=1, op="min"), x.min(axis=1))


@pytest.mark.parametrize("n", [2, 7, 33, 64, 300, 2048])
def test_order_is_kept(rows: gpuprims.Device, rng: np.random.Generator, n: int) -> None:
    a, b = rng.integers(-3, 4, (1030, n)), rng.integers(-9, 10, (1030, n))
    expected = gpuprims.reduce(a, b, op=AFFINE, axis=1, device="reference")
    for got, exact in zip(reduce(rows, a, b, op=AFFINE, axis=1), expected, strict=True):
        np.testing.assert_array_equal(got, exact)


# Rows that begin anywhere, on either side of a vector, of a step, and of the shortest that each kernel peels.
@pytest.mark.parametrize("shape", [(3, 5), (5, 31), (4, 514), (3, 5001), (1030, 511), (1025, 517)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32])
def test_narrow_rows_that_begin_anywhere(
    rows: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, int], dtype: type
) -> None:
    x = rng.integers(0, 100, shape, dtype)
    resident = rows.asarray(x)
    for cut in range(3):
        for got, view in ((resident[:, cut:], x[:, cut:]), (resident[:, cut:][:, ::-1], x[:, cut:][:, ::-1])):
            for variant in ("rows", "warp") if shape[0] > 1024 else ("warp",):
                for op in ("sum", "argmax", "argmin"):
                    result = gpuprims.reduce(got, op=op, axis=1, variant=variant)
                    np.testing.assert_array_equal(rows.to_host(result), getattr(view, op)(axis=1))


# Affine maps that are counted: values of many words, which lanes fold in runs.
COUNTED = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1], p[2] + q[2]), (1, 0, 0))


@pytest.mark.parametrize("n", [*range(2, 33), 47, 48, 49, 63, 64, 65, 100, 127, 128, 129, 600])
def test_values_of_many_words(rows: gpuprims.Device, rng: np.random.Generator, n: int) -> None:
    given = rng.integers(-3, 4, (3, 1030, n))
    expected = gpuprims.reduce(*given, op=COUNTED, axis=1, device="reference")
    for got, exact in zip(reduce(rows, *given, op=COUNTED, axis=1), expected, strict=True):
        np.testing.assert_array_equal(got, exact)
    for dtype, rtol in ((np.float32, 1e-4), (np.float64, 1e-12)):
        x = (rng.standard_normal((1030, n + 3)) + 5).astype(dtype)
        for cut in (x, x[:, :n], x[:, 3:]):
            got = reduce(rows, cut, op="var", axis=1)
            np.testing.assert_allclose(got, np.var(cut.astype(np.float64), axis=1), rtol=rtol)
            np.testing.assert_array_equal(got, reduce(rows, cut, op="var", axis=1))


def test_rows_of_parts_of_arrays(rows: gpuprims.Device, rng: np.random.Generator) -> None:
    whole = rng.standard_normal((1100, 130)).astype(np.float32)
    for cut in (np.s_[:, 3:], np.s_[7:, :128], np.s_[:1040, 1:130:2], np.s_[:, ::-1]):
        x = whole[cut]
        given = rows.asarray(whole)[cut]
        got = rows.to_host(gpuprims.reduce(given, axis=1, variant="rows"))
        np.testing.assert_allclose(got, x.sum(axis=1, dtype=np.float64), rtol=1e-4, atol=1e-4)


def test_outer_and_inner_axes_together(rows: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((9, 1050, 20)).astype(np.float32)
    got = reduce(rows, x, axis=(0, 2))
    np.testing.assert_allclose(got, x.sum(axis=(0, 2), dtype=np.float64), rtol=1e-4, atol=1e-4)


def test_what_it_is_not_for_is_refused(rows: gpuprims.Device) -> None:
    with pytest.raises(NoVariantError, match="1024 or more outputs of at most 2048 elements; this call has 1 of 100"):
        reduce(rows, np.ones(100, np.float32))
    with pytest.raises(NoVariantError, match="this call's outputs lie side by side"):
        reduce(rows, np.ones((100, 2000), np.float32), axis=0)
