"""Products at the level "order": one value for any order of the elements, on every device, near the exact product."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.core.by_numpy import Few
from gpuprims.core.layout import contiguous
from gpuprims.primitives.fold_by_numpy import folds_by_numpy, scans_by_numpy

product = partial(gpuprims.reduce, op="prod", determinism="order")


def ulps_apart(found: Any, x: np.ndarray) -> float:
    """Return the distance of a product from the exact one, in units of its last place."""
    exact = math.prod(map(Fraction, x.astype(np.float64).tolist()))
    return float(abs(Fraction(float(found)) - exact) / Fraction(float(np.spacing(np.abs(found)))))


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.whole)])
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_axes_scans_segments_and_elements_that_are_not_nan(rng: np.random.Generator, dtype: Any) -> None:
    x = rng.uniform(0.5, 1.5, (5, 60)).astype(dtype)
    how: dict[str, Any] = {"device": "reference", "determinism": "order"}
    columns, again = product(x, axis=0, device="reference"), product(x[::-1], axis=0, device="reference")
    assert columns.tobytes() == again.tobytes()
    np.testing.assert_allclose(columns, np.prod(x, axis=0, dtype=np.float64), rtol=1e-6)
    flat = x.reshape(-1)
    scanned = gpuprims.scan(flat, op="prod", **how)
    np.testing.assert_allclose(scanned, np.cumprod(flat, dtype=np.float64), rtol=1e-6)
    assert scanned[-1] == product(flat, device="reference")
    parts = gpuprims.reduce(flat, op="prod", segments=[0, 100, 300], **how)
    np.testing.assert_array_equal(
        parts, [product(flat[:100], device="reference"), product(flat[100:], device="reference")]
    )
    with_nan = np.append(flat, dtype(np.nan))
    assert gpuprims.reduce(with_nan, op="nanprod", **how) == scanned[-1]


def test_numpy_does_not_compute_few_elements_in_the_order_of_a_kernel(device: gpuprims.Device) -> None:
    """At this level the kernel whose order NumPy follows adds words of exact sums and logarithms."""
    few, form = Few(10, 10), contiguous(np.dtype(np.float32), (300,), 16)

    def computed() -> list[Any]:
        folded = folds_by_numpy(device, few, "prod", form, (0,), False, form.dtype)
        return [folded, scans_by_numpy(device, few, "sum", form, None, True, form.dtype)]

    assert None not in computed()
    with gpuprims.use_determinism("order"):
        assert computed() == [None, None]
