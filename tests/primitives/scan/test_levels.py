"""scan at the levels "device" and "order": bits of each device against the reference's, and against exact sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, as_it_stands, bits

import gpuprims
from gpuprims.primitives.fixed_scans import RUN, TILE

# On both sides of a run, of runs side by side, of a tile, and of several.
SIZES = (1, RUN - 1, RUN, RUN + 1, 8 * RUN, TILE - 1, TILE, TILE + 1, 3 * TILE + 70)


def assert_same_bits(
    device: gpuprims.Device, *arrays: np.ndarray, level: Any = "device", variant: Any = None, **how: Any
) -> Any:
    """Compare a call with the reference, and return its result."""
    variant = None if device.backend == "reference" else variant
    got = gpuprims.scan(*arrays, device=device, determinism=level, variant=variant, **how)
    assert bits(got) == bits(gpuprims.scan(*arrays, device="reference", determinism=level, **how))
    return got


@pytest.fixture
def variant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The default kernel, or one for GPUs, which CPUs' compilers take as it stands."""
    if request.param is not None:
        as_it_stands(monkeypatch)
    return request.param  # type: ignore[no-any-return]  # a name or None


@pytest.mark.optimised  # compilers must not fold in another order
@pytest.mark.parametrize("variant", [None, "fixed"], indirect=True)
def test_sums_have_the_same_bits_on_every_device(
    device: gpuprims.Device, rng: np.random.Generator, variant: str | None
) -> None:
    for size, inclusive in itertools.product(SIZES, (True, False)):
        x = rng.standard_normal(size).astype(np.float32)
        got = assert_same_bits(device, x, inclusive=inclusive, variant=variant)
        exact = np.cumsum(x, dtype=np.float64) - (0 if inclusive else x)
        np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-4)
    x = rng.standard_normal(5 * RUN * 100).astype(np.float32)
    backwards = assert_same_bits(device, x, reverse=True, variant=variant)  # Intel's compiler once added in pairs
    assert bits(backwards) == bits(assert_same_bits(device, x[::-1].copy(), variant=variant)[::-1].copy())


@pytest.mark.parametrize("variant", [None, "fixed"], indirect=True)
def test_operands_stay_in_order(device: gpuprims.Device, rng: np.random.Generator, variant: str | None) -> None:
    """Contracted, the products of an affine map would have other bits."""
    slopes, offsets = rng.uniform(0.99, 1.01, (2, TILE + 30)).astype(np.float32)
    got = assert_same_bits(device, slopes, offsets, op=AFFINE, variant=variant)
    np.testing.assert_allclose(got[0], np.cumprod(slopes, dtype=np.float64), rtol=1e-4)


def test_axes_and_layouts(device: gpuprims.Device, rng: np.random.Generator) -> None:
    """Elements are taken in the order of their indices, wherever they lie."""
    x = rng.standard_normal((70, 3, 90)).astype(np.float32)
    turned = np.ascontiguousarray(x.transpose(2, 0, 1)).transpose(1, 2, 0)
    for axis in (0, None):
        first, second = (assert_same_bits(device, one, axis=axis) for one in (x, turned))
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("op", ["mean", "var", "max", "argmin"])
def test_named_operators_and_maps(device: gpuprims.Device, rng: np.random.Generator, op: str) -> None:
    x = rng.standard_normal(2 * TILE + 5).astype(np.float32)
    assert_same_bits(device, x, op=op, map="x * 3.3 + exp(x)")


def exact_sums(x: np.ndarray) -> np.ndarray:
    """Return the float32 nearest to each sum of the elements so far."""
    sums = itertools.accumulate(map(Fraction, x.astype(np.float64).tolist()))
    return np.array([_nearest(one) for one in sums])


def _nearest(exact: Fraction) -> np.float32:
    near = np.float32(float(exact))
    beside = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    return min(beside, key=lambda one: (abs(Fraction(float(one)) - exact), int(one.view(np.uint32)) & 1))


def test_sums_in_any_division_are_exact(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = (rng.standard_normal(2000) * 2.0 ** rng.integers(-140, 80, 2000)).astype(np.float32)
    x[1000:1999] = -x[998::-1]  # cancels
    expected = exact_sums(x)
    np.testing.assert_array_equal(assert_same_bits(device, x, level="order"), expected)
    parts = gpuprims.scan(x.reshape(2, 1000), axis=1, device=device, determinism="order")
    np.testing.assert_array_equal(parts[0], expected[:1000])
    exclusive = gpuprims.scan(x, inclusive=False, device=device, determinism="order")
    np.testing.assert_array_equal(exclusive[1:], expected[:-1])
    x[[5, 9]] = np.inf, -np.inf
    got = gpuprims.scan(x, device=device, determinism="order")
    assert got[4] == expected[4]
    assert (got[5:9] == np.inf).all()
    assert np.isnan(got[9:]).all()


def test_exact_sums_of_float64(rng: np.random.Generator) -> None:
    x = rng.standard_normal(600) * 2.0 ** rng.integers(-300, 300, 600)
    got = gpuprims.scan(np.concatenate([x, -x]), device="reference", determinism="order")
    for k in (0, 1, 77, 599):
        assert got[k] == math.fsum(x[: k + 1])
    assert got[-1] == 0
