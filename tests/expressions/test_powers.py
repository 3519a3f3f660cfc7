"""Powers by a constant exponent are NumPy's bit for bit where NumPy takes a square, reciprocal or root."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need, random_values

import gpuprims
from gpuprims.errors import DtypeError
from gpuprims.expressions import trace, typed

FLOATS = ("float16", "float32", "float64")
# Exponents with a shortcut in NumPy, of each type that it tells apart.
EXPONENTS: tuple[Any, ...] = (
    2, -1, 0.5, 0, 1, 2.0, -1.0, 0.0, 1.0, np.float32(2), np.float64(0.5), np.int8(2), np.int8(-1), True, False,
)  # fmt: skip


def bits(array: np.ndarray) -> np.ndarray:
    """Return floats as integers, NaN of any sign as one; so that zeros of both signs differ."""
    parts = array.view(f"f{array.itemsize // 2}") if array.dtype.kind == "c" else array
    return np.where(parts != parts, parts.dtype.type(np.nan), parts).view(f"u{parts.itemsize}")


def steps_of(function: Any, *dtypes: Any) -> list[str]:
    return [node.name for node in typed(trace(function), [np.dtype(dtype) for dtype in dtypes]).nodes]


@pytest.mark.parametrize("exponent", EXPONENTS, ids=repr)
@pytest.mark.parametrize("dtype", FLOATS)
def test_powers_of_floats_are_numpys_bit_for_bit(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str, exponent: Any
) -> None:
    special = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny, np.finfo(dtype).max], dtype)
    x = np.concatenate([special, random_values(rng, dtype, 3000)])
    with np.errstate(all="ignore"):
        expected = x**exponent
    need(device, expected.dtype)
    got = gpuprims.map(lambda x: x**exponent, x, device=device)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(bits(got), bits(expected))


@pytest.mark.parametrize("exponent", [2, -1, 0, 1, 2.0, -1.0, 3, 7, -3, np.int8(2), 2 + 0j], ids=repr)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_of_complex_numbers_are_numpys(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str, exponent: Any
) -> None:
    need(device, dtype)
    x = random_values(rng, dtype, 2000)
    expected = x**exponent
    got = gpuprims.map(lambda x: x**exponent, x, device=device)
    assert got.dtype == expected.dtype
    # Without FMA in the processor, NumPy rounds some products once more.
    size = np.abs(expected).astype(expected.real.dtype)
    assert (np.abs(got - expected) <= 8 * np.spacing(size)).all()
    if np._core._multiarray_umath.__cpu_features__.get("FMA3"):  # type: ignore[attr-defined]  # not in its annotations
        np.testing.assert_array_equal(bits(got), bits(expected))


def test_third_and_fourth_powers_are_the_nearest_numbers(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if device.backend == "reference":
        pytest.skip("the reference calls NumPy's pow, which is a unit off in a fifth of all float32 values")
    special = [0, -0.0, np.inf, -np.inf, np.nan, 1e-20, -1e-13, 6e12, -7e12, 1e10, -1e9, 3.4e38, 1e-45]
    x = np.concatenate([np.array(special, np.float32), random_values(rng, np.float32, 5000)])
    with np.errstate(all="ignore"):
        wide = x.astype(np.longdouble)
        expected = (wide**3).astype(np.float32), (wide * wide * wide * wide).astype(np.float32)
    for got, wanted in zip(gpuprims.map("x**3, x**4", x, device=device), expected, strict=True):
        np.testing.assert_array_equal(bits(got), bits(wanted))
    if device.capabilities.fp64:
        x = np.concatenate([[0, -0.0, np.inf, np.nan, 1e103, -1e-110, 1e77], rng.standard_normal(5000)])
        for k, got in enumerate(gpuprims.map("x**3, x**4", x, device=device), 3):
            with np.errstate(all="ignore"):
                wanted = (x.astype(np.longdouble) ** k).astype(np.float64)
            assert (bits(got) != bits(wanted)).mean() < 0.01  # rounded twice here, and here
            np.testing.assert_allclose(got, wanted, rtol=2.0**-52)


def test_third_powers_of_half_floats_are_rounded_once(device: gpuprims.Device) -> None:
    x = np.arange(65536, dtype=np.uint16).view(np.float16)  # NumPy's pow included
    with np.errstate(all="ignore"):
        for k, got in enumerate(gpuprims.map("x**3, x**4", x, device=device), 3):
            np.testing.assert_array_equal(bits(got), bits((x.astype(np.float64) ** k).astype(np.float16)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64"])
def test_powers_of_integers_keep_numpys_meaning(device: gpuprims.Device, dtype: str) -> None:
    x = np.array([0, 1, 2, 5, 100]).astype(dtype)
    for exponent in (0, 1, 2, 3, 4):
        with np.errstate(over="ignore"):
            assert_equal(gpuprims.map(lambda x, k=exponent: x**k, x, device=device), x**exponent)
    with pytest.raises(DtypeError, match=r"exponent|holds"):
        gpuprims.map("x**-1", x, device=device)
    need(device, (x**0.5).dtype)
    assert_equal(gpuprims.map("x**0.5", x, device=device), np.sqrt(x.astype((x**0.5).dtype)))


def test_constant_exponents_leave_no_power_behind() -> None:
    for exponent, name in ((2, "square"), (-1, "reciprocal"), (0.5, "sqrt"), (3, "cube"), (4, "fourth")):
        for dtype in FLOATS:
            assert steps_of(lambda x, k=exponent: x**k, dtype) == ["argument", name]
    assert steps_of(lambda x: x**1, "float32") == ["argument"]
    assert steps_of(lambda x: x**0, "float32") == ["argument", "constant"]
    assert "power" in steps_of(lambda x: x**2.5, "float32")
    assert "power" in steps_of(lambda x, y: x**y, "float32", "float32")
