"""map/shifted: arrays that begin between whole vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, random_values

import gpuprims
from gpuprims.errors import NoVariantError

DTYPES = ("bool", "int8", "uint8", "int16", "float16", "int32", "float32")
# Elements before the first in memory, of two inputs and of the result.
OFFSETS = [(1, 0, 0), (0, 1, 0), (3, 1, 0), (0, 0, 1), (1, 1, 1), (2, 5, 3), (4, 4, 0), (7, 15, 9)]
BESIDE = 16
ROW = 48  # whole vectors of every dtype


@pytest.fixture
def shifts(device: gpuprims.Device) -> gpuprims.Device:
    if device.backend == "reference":
        pytest.skip("the reference has one kernel a primitive")
    return device


def mapped(function: Any, *arrays: Any, **keywords: Any) -> Any:
    return gpuprims.map(function, *arrays, variant="shifted", **keywords)


@pytest.mark.parametrize("offsets", OFFSETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_offset_and_size(
    shifts: gpuprims.Device, rng: np.random.Generator, dtype: str, offsets: tuple[int, ...]
) -> None:
    # On both sides of a vector, of a tile of 1024 and of one of 4096; elements around the result stay.
    ran = 0
    for size in (1, 2, 15, 16, 17, 31, 32, 33, 100, 1023, 1024, 1025, 1040, 4095, 4096, 4097, 9001):
        x, y, before = (random_values(rng, dtype, size + BESIDE) for _ in range(3))
        there, beside, out = (shifts.asarray(one) for one in (x, y, before))
        a, b, c = (slice(offset, offset + size) for offset in offsets)
        try:
            mapped("x + y", there[a], beside[b], out=out[c])
        except NoVariantError:
            continue  # these offsets are whole vectors of this dtype
        ran += 1
        expected = before.copy()
        expected[c] = x[a] + y[b]
        assert_equal(shifts.to_host(out), expected)
    whole = 16 // np.dtype(dtype).itemsize
    assert (ran > 0) == any(offset % whole for offset in offsets)


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_in_place(shifts: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    # An element that is computed twice would show.
    for size, start in ((3, 1), (17, 1), (40, 3), (5000, 1)):
        x = random_values(rng, dtype, size + start)
        there = shifts.asarray(x)
        mapped("~x" if dtype == "bool" else "x + 3", there[start:], out=there[start:])
        expected = x.copy()
        expected[start:] = ~x[start:] if dtype == "bool" else x[start:] + np.dtype(dtype).type(3)
        assert_equal(shifts.to_host(there), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_what_goes_with_each(shifts: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    x, y, row = (
        random_values(rng, dtype, (70, ROW + 3)),
        random_values(rng, dtype, (70, 1)),
        random_values(rng, dtype, ROW),
    )
    there, column, each = (shifts.asarray(one) for one in (x, y, row))
    for start in (0, 1, 3):
        cut = np.s_[:, start : start + ROW]
        assert_equal(shifts.to_host(mapped("x + y", there[cut], each)), x[cut] + row)
        both, left = mapped("(x + y + z, x > z)", there[cut], column, each)
        assert_equal(shifts.to_host(both), x[cut] + y + row)
        assert_equal(shifts.to_host(left), x[cut] > row)


def test_arrays_of_several_widths(shifts: gpuprims.Device, rng: np.random.Generator) -> None:
    for size in (5, 64, 3001):
        given = [random_values(rng, dtype, size + 5) for dtype in ("int8", "float16", "float32")]
        x, y, z = (shifts.asarray(one)[k:][:size] for one, k in zip(given, (1, 3, 5), strict=True))
        a, b, c = (one[k:][:size] for one, k in zip(given, (1, 3, 5), strict=True))
        assert_equal(shifts.to_host(mapped("2*x + z - 1", x=x, z=z)), 2 * a + c - np.float32(1))
        narrow, wide = mapped("(x > y, y*z)", x=x, y=y, z=z)
        assert_equal(shifts.to_host(narrow), a > b)
        assert_equal(shifts.to_host(wide), b * c)


def test_what_it_refuses(shifts: gpuprims.Device) -> None:
    x = shifts.asarray(np.zeros((8, 99), np.float32))
    wide = shifts.asarray(np.zeros(99))
    for arrays in ((x,), (x[:, 1:],), (x[:, 1:97:2],), (x[::-1, 1:97],), (wide[1:],)):
        with pytest.raises(NoVariantError, match="neighbours in memory of at most 4 bytes that begin between whole"):
            mapped("2*x", *arrays)
    flat = x.reshape(-1)
    with pytest.raises(NoVariantError, match="begin between whole"):
        mapped("(x, 2*x)", flat[:50], out=(flat[101:151], flat[202:252]))
