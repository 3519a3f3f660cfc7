"""Kernels for CPUs that find the position of a row once: rows of every length, at every stride."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, affine_scan

import gpuprims

# Either side of a vector of 16 work-items, of the lanes of a fold and of its runs, of a stretch of bits, and of a span.
LENGTHS = [1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 511, 513, 2047, 2049]
VIEWS = {
    "offset": lambda x: x[..., 3:],
    "step": lambda x: x[..., ::2],
    "step of 3": lambda x: x[..., ::3],
    "step of 4": lambda x: x[..., ::4],
    "pairs": lambda x: x[..., -2:],  # rows too short to be rows
    "reversed": lambda x: x[..., ::-1],
    "transposed": lambda x: x.T,
    "permuted": lambda x: x.transpose(1, 0, 2),
}


@pytest.fixture
def cpu(device: gpuprims.Device) -> gpuprims.Device:
    if device.capabilities.kind != "cpu":
        pytest.skip("is about kernels for CPUs")
    return device


@pytest.fixture(params=list(VIEWS))
def view(request: pytest.FixtureRequest) -> Any:
    return VIEWS[request.param]


@pytest.mark.parametrize("n", LENGTHS)
def test_maps(cpu: gpuprims.Device, rng: np.random.Generator, view: Any, n: int) -> None:
    x = view(rng.integers(1, 100, (3, 7, n + 3), dtype=np.int16))
    y = rng.integers(1, 100, x.shape[-1:], dtype=np.int16)
    column = rng.integers(1, 100, (*x.shape[:-1], 1), dtype=np.int16)
    np.testing.assert_array_equal(gpuprims.map("2*x + y - z", x, y, column, device=cpu), 2 * x + y - column)
    for dtype in (np.float16, np.float32):  # functions that are vectorised in work-items
        floats = (x / 100).astype(dtype)
        got = gpuprims.map("sqrt(x) + tanh(x)", view(np.ascontiguousarray(view(floats))), device=cpu)
        again = view(np.ascontiguousarray(view(floats)))
        np.testing.assert_allclose(got, np.sqrt(again) + np.tanh(again), rtol=2e-3 if dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2)])
def test_folds(cpu: gpuprims.Device, rng: np.random.Generator, view: Any, n: int, axis: Any) -> None:
    x = view(rng.integers(-100, 100, (5, 9, n + 3), dtype=np.int16))
    for op in ("sum", "max"):
        got = gpuprims.reduce(x, op=op, axis=axis, device=cpu)
        np.testing.assert_array_equal(got, getattr(np, op)(x, axis=axis))
    # Float16 and the mean of 64-bit integers are folded by several work-items.
    got = gpuprims.reduce(x.astype(np.int64), op="mean", axis=axis, device=cpu)
    np.testing.assert_allclose(got, x.mean(axis=axis), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(
        gpuprims.reduce(x.astype(np.float16), op="min", axis=axis, device=cpu), x.min(axis=axis)
    )
    if not isinstance(axis, tuple):
        np.testing.assert_array_equal(gpuprims.reduce(x, op="argmax", axis=axis, device=cpu), x.argmax(axis=axis))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_order_is_kept(cpu: gpuprims.Device, rng: np.random.Generator, view: Any, n: int, axis: Any) -> None:
    a = view(rng.integers(-1, 2, (5, 9, n + 3)))
    b = rng.integers(-9, 10, a.shape)
    for function in (gpuprims.reduce, gpuprims.scan):
        expected = function(a, b, op=AFFINE, axis=axis, device="reference")
        for got, exact in zip(function(a, b, op=AFFINE, axis=axis, device=cpu), expected, strict=True):
            np.testing.assert_array_equal(got, exact)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_scans(cpu: gpuprims.Device, rng: np.random.Generator, view: Any, n: int, axis: Any) -> None:
    x = view(rng.integers(-100, 100, (5, 9, n + 3), dtype=np.int32))
    np.testing.assert_array_equal(gpuprims.scan(x, axis=axis, device=cpu), np.cumsum(x, axis=axis))
    whole = x.reshape(-1) if axis is None else x
    exclusive = np.cumsum(x, axis=axis) - whole
    np.testing.assert_array_equal(gpuprims.scan(x, axis=axis, inclusive=False, device=cpu), exclusive)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("n", LENGTHS)
def test_kept_elements(cpu: gpuprims.Device, rng: np.random.Generator, view: Any, n: int, share: float) -> None:
    x = view(rng.standard_normal((5, 9, n + 3)))
    mask = rng.random(x.shape) < share
    np.testing.assert_array_equal(gpuprims.compact(x, mask, device=cpu), x[mask])
    np.testing.assert_array_equal(gpuprims.compact(x, "x > 0.5", device=cpu), x[x > 0.5])


@pytest.mark.parametrize("n", [127, 128, 129, 511, 512, 513, 8191, 8192, 8193, 300_000])
def test_folds_of_library_functions(cpu: gpuprims.Device, rng: np.random.Generator, n: int) -> None:
    x = rng.random((3, n)).astype(np.float32)
    hypot = gpuprims.Op(lambda a, b: np.hypot(a, b), 0, commutative=True, name="hypot")
    got = [gpuprims.reduce(x, op=hypot, axis=1, device=cpu) for _ in range(3)]
    np.testing.assert_allclose(got[0], np.sqrt(np.sum(x.astype(np.float64) ** 2, axis=1)), rtol=1e-4)
    np.testing.assert_array_equal(got[1:], [got[0]] * 2)  # the same from run to run
    nan = x.astype(np.float64)
    nan[1, n // 2] = np.nan
    np.testing.assert_array_equal(gpuprims.reduce(nan, op="max", axis=1, device=cpu), nan.max(axis=1))


@pytest.mark.parametrize("n", [32_768, 32_769, 131_072, 131_073])
def test_scans_in_one_launch_and_in_three(cpu: gpuprims.Device, rng: np.random.Generator, n: int) -> None:
    slopes, offsets = rng.integers(0, 5, (2, n)) | 1
    for got, expected in zip(
        gpuprims.scan(slopes, offsets, op=AFFINE, device=cpu), affine_scan(slopes, offsets), strict=True
    ):
        np.testing.assert_array_equal(got, expected)
    x = rng.standard_normal(n)
    np.testing.assert_array_equal(gpuprims.scan(x, op="max", device=cpu), np.maximum.accumulate(x))


@pytest.mark.parametrize("n", [1, 4, 12, 128, 129])
@pytest.mark.parametrize("op", ["var", "std"])
def test_folds_of_short_rows_of_several_components(
    cpu: gpuprims.Device, rng: np.random.Generator, op: str, n: int
) -> None:
    x = rng.standard_normal((1003, n)).astype(np.float32) + 100
    expected = getattr(np, op)(x.astype(np.float64), axis=1)
    np.testing.assert_allclose(gpuprims.reduce(x, op=op, axis=1, device=cpu), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [63, 64, 65, 129, 1024, 4099, 70_001])
@pytest.mark.parametrize("step", [2, 3, -2])
def test_folds_of_large_elements_that_lie_apart(
    cpu: gpuprims.Device, rng: np.random.Generator, n: int, step: int
) -> None:
    """Whole numbers, so that sums are exact: each element counts once."""
    x = (rng.integers(-99, 99, (2, 3 * n)) + 1j * rng.integers(-99, 99, (2, 3 * n)))[:, ::step][:, :n]
    assert_exact = np.testing.assert_array_equal
    assert_exact(gpuprims.reduce(x, axis=1, device=cpu), x.sum(1))
    assert_exact(gpuprims.reduce(x, op="count_nonzero", axis=1, device=cpu), np.count_nonzero(x, axis=1))
    assert_exact(gpuprims.reduce(x, map="exp(0*x)", axis=1, device=cpu), [n, n])  # by joined work-items
