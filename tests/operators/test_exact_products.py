"""Products at the level "order": one value for any order of the elements, on every device, near the exact product."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpuprims

product = partial(gpuprims.reduce, op="prod", determinism="order")


def ulps_apart(found: Any, x: np.ndarray) -> float:
    """Return the distance of a product from the exact one, in units of its last place."""
    exact = math.prod(map(Fraction, x.astype(np.float64).tolist()))
    return float(abs(Fraction(float(found)) - exact) / Fraction(float(np.spacing(np.abs(found)))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_do_not_depend_on_the_order(device: gpuprims.Device, rng: np.random.Generator, dtype: Any) -> None:
    """Default products of so many elements are off by several units; these are rounded once, but for 2**-61 each."""
    if not device.capabilities.fp64:
        pytest.skip("needs float64")
    x = (np.exp(rng.standard_normal(3000)) * rng.choice([-1, 1], 3000)).astype(dtype)
    x /= np.exp(np.log(np.abs(x), dtype=np.float64).mean()).astype(dtype)
    got = product(x, device=device)
    assert got.dtype == dtype
    assert ulps_apart(got, x) < 0.8
    for one in (x[::-1].copy(), rng.permutation(x), rng.permutation(x)):
        assert product(one, device=device).tobytes() == got.tobytes() == product(one, device="reference").tobytes()
    rows = x[:2800].reshape(40, 70)
    columns, again = product(rows, axis=0, device=device), product(rows[::-1], axis=0, device="reference")
    assert columns.tobytes() == again.tobytes()
    np.testing.assert_allclose(columns, np.prod(rows, axis=0, dtype=np.float64), rtol=1e-6)


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ([], 1),
        ([3], 3),
        (range(1, 23), float(math.factorial(22))),
        ([1e300, 1e300, 1e-300, 1e-300], 1),
        ([-3, 5e-324], -1.5e-323),
        ([2.0**-600, 2.0**-470, 3], 3 * 2.0**-1070),
        ([1e308, -10], -np.inf),
        ([1e-300, 1e-300], 0),
        ([np.inf, -1], -np.inf),
        ([np.inf, 0], np.nan),
        ([0, 7], 0),
        ([np.nan, 2], np.nan),
    ],
)
def test_products_are_right(elements: Any, expected: float) -> None:
    found = product(np.array(list(elements), np.float64), device="reference")
    np.testing.assert_allclose(found, expected, rtol=3e-16)


def test_whole_numbers_have_whole_products(rng: np.random.Generator) -> None:
    for count in range(1, 18):
        x = rng.integers(1, 8, count).astype(np.float64)
        assert product(x, device="reference") == math.prod(x.tolist())


@pytest.mark.usefixtures("numpy_computes")
def test_scans_segments_and_elements_that_are_not_nan(rng: np.random.Generator) -> None:
    """Also of few elements, which NumPy multiplies by default."""
    x = rng.uniform(0.5, 1.5, 300).astype(np.float32)
    expected = np.cumprod(x, dtype=np.float64).astype(np.float32)
    for device in ("reference", *(one for one in gpuprims.devices() if one.capabilities.kind == "cpu")):
        how: dict[str, Any] = {"device": device, "determinism": "order"}
        np.testing.assert_array_equal(gpuprims.scan(x, op="prod", **how), expected)
        assert product(x, device=device) == product(x[::-1].copy(), device=device) == expected[-1]
        parts = gpuprims.reduce(x, op="prod", segments=[0, 100, 300], **how)
        np.testing.assert_array_equal(parts, [product(x[:100], device=device), product(x[100:], device=device)])
        with_nan = np.append(x, np.float32(np.nan))
        assert gpuprims.reduce(with_nan, op="nanprod", **how) == expected[-1]
