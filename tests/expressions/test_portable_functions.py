"""Portable functions are within one unit in the last place of the correctly rounded results, of any argument."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import portable_errors
import pytest
from portable_errors import COMPUTING, errors, operands

import gpuprims.expressions.portable.coefficients as table
from bench import coefficients
from gpuprims.expressions.functions import FLOATING, SELECTIONS
from gpuprims.expressions.portable import CHOICES, DEFINITIONS
from gpuprims.expressions.portable.formats import FORMATS

oracle = pytest.mark.skipif(not portable_errors.HAS_ORACLE, reason="long doubles have no more digits than float64")


@oracle
@pytest.mark.parametrize("name", COMPUTING)
def test_results_are_within_one_unit_of_the_rounded_ones(name: str, rng: np.random.Generator) -> None:
    for dtype in FORMATS:
        found = errors(name, operands(name, rng, dtype, 4000))
        assert found.wrong == []
        assert found.rounded <= 1
        assert found.most < 1.2


def test_every_function_that_drivers_approximate_has_a_portable_one() -> None:
    exact = {"sqrt", "fabs", "rint"}  # one rounding, or none
    assert {*FLOATING, *SELECTIONS, "power", "cube", "fourth", "signbit"} - exact <= set(DEFINITIONS)


# From Muller's Handbook: of all numbers, these are nearest to a multiple of pi / 2.
@pytest.mark.parametrize(
    ("x", "small", "dtype"),
    [
        (6381956970095103.0 * 2.0**797, 4.68716592425462761112e-19, "float64"),
        (16367173.0 * 2.0**72, 1.6147698e-9, "float32"),
    ],
)
def test_large_arguments_beside_multiples_of_pi(x: float, small: float, dtype: str) -> None:
    value = np.array([x], dtype)
    sine, cosine = (abs(float(DEFINITIONS[name](value)[0])) for name in ("sin", "cos"))
    assert sine == 1
    assert cosine == pytest.approx(small, rel=1e-15 if dtype == "float64" else 1e-7)
    assert abs(float(DEFINITIONS["tan"](value)[0])) == pytest.approx(
        1 / small, rel=1e-15 if dtype == "float64" else 1e-7
    )


def test_powers_of_special_values_are_those_of_ieee_754() -> None:
    values = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 2.5, 1e300, np.inf, -np.inf, np.nan]
    x, y = map(np.array, zip(*product(values, values), strict=True))
    with np.errstate(all="ignore"):
        got, wanted = DEFINITIONS["power"](x, y), np.power(x, y)
    np.testing.assert_allclose(got, wanted, rtol=3e-16)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted) & ~np.isnan(wanted))


def test_exact_results_are_exact() -> None:
    whole = np.arange(-40.0, 41)
    np.testing.assert_array_equal(DEFINITIONS["exp2"](whole), 2.0**whole)
    np.testing.assert_array_equal(DEFINITIONS["log2"](2.0**whole), whole)
    np.testing.assert_array_equal(DEFINITIONS["log10"](np.array([10.0**k for k in range(23)])), np.arange(23))
    np.testing.assert_array_equal(DEFINITIONS["cbrt"](whole**3), whole)
    np.testing.assert_array_equal(DEFINITIONS["power"](whole, np.float64(5)), whole**5)
    np.testing.assert_array_equal(DEFINITIONS["hypot"](3 * whole, 4 * whole), np.abs(5 * whole))


@pytest.mark.parametrize("name", CHOICES)
def test_choices_are_numpys_but_for_the_sign_of_nan_and_of_zeros(name: str, rng: np.random.Generator) -> None:
    values = operands(name, rng, "float32", 100)
    with np.errstate(all="ignore"):
        got = DEFINITIONS[name](*values)
        wanted = values[0] if name == "plain" else getattr(np, name)(*values)
    if name in ("signbit", "copysign"):
        positive = ~np.isnan(values[-1])
        got, wanted = got[positive], wanted[positive]
    np.testing.assert_array_equal(got, wanted)


def test_negative_nan_counts_as_positive() -> None:
    nan = np.array([-np.nan, np.nan, -1.0])
    assert DEFINITIONS["signbit"](nan).tolist() == [False, False, True]
    assert DEFINITIONS["copysign"](np.ones(3), nan).tolist() == [1, 1, -1]
    assert DEFINITIONS["plain"](nan)[:2].view("u8").tolist() == [0x7FF8 << 48] * 2


def test_coefficients_are_those_that_the_script_computes() -> None:
    assert Path(table.__file__).read_text() == coefficients.page()
    assert int(2 / math.pi * 2**32) == table.TWO_OVER_PI[0]
