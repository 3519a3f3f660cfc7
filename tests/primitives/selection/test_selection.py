"""Medians, quantiles and partitions on every device, against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, FLOATS, Kernel, need, on_device, on_host, random_values
from tricky_data import tricky, tricky_rows

import gpuprims
from gpuprims.errors import ArgumentError, AxisError, DtypeError, ShapeError, UnknownKeywordError
from gpuprims.primitives.selection.methods import METHODS

SIZES = (1, 2, 3, 255, 256, 257, 4095, 4096, 4097, 40_001)


def close(got: Any, expected: Any) -> None:
    """Compare with NumPy, which rounds a product and a sum once each."""
    assert (np.asarray(got).dtype, np.shape(got)) == (np.asarray(expected).dtype, np.shape(expected))
    precision = np.finfo(expected.dtype).eps if np.asarray(expected).dtype.kind == "f" else 0
    np.testing.assert_allclose(got, expected, rtol=4 * precision, atol=4 * precision * 100)


@pytest.mark.parametrize("dtype", DTYPES)
def test_median_of_every_dtype(selection_kernel: Kernel, dtype: str, rng: np.random.Generator) -> None:
    how = {"device": selection_kernel.device, "variant": selection_kernel.variant.name}
    selection_kernel.need(dtype, "float64") if dtype not in FLOATS else selection_kernel.need(dtype)
    x = random_values(rng, dtype, (9, 70, 12))
    for axis in (None, 1, (0, 2)):
        close(gpuprims.median(x, axis, **how), np.median(x, axis))


@pytest.mark.optimised
def test_median_of_every_size(selection_kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": selection_kernel.device, "variant": selection_kernel.variant.name}
    for n in SIZES:
        x = rng.standard_normal(n).astype(np.float32)
        close(gpuprims.median(x, **how), np.median(x))


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.optimised
def test_arrays_that_mislead(selection_kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": selection_kernel.device, "variant": selection_kernel.variant.name}
    for x in tricky(rng, 20_001).values():
        np.testing.assert_array_equal(gpuprims.median(x, **how), np.median(x))
        for method in ("linear", "higher"):
            got = gpuprims.quantile(x, [0, 0.3, 1], method=method, **how)
            np.testing.assert_allclose(got, np.quantile(x, [0, 0.3, 1], method=method), rtol=1e-6)
        for kth in (0, 7000, -1):
            parted = gpuprims.partition(x, kth, **how)
            np.testing.assert_array_equal(np.sort(parted), np.sort(x))
            assert_parted(parted, [kth])


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_rows_that_mislead(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    rows = tricky_rows(rng, 5001, dtype)
    np.testing.assert_array_equal(gpuprims.median(rows, 1, device=device), np.median(rows, 1))
    np.testing.assert_array_equal(
        gpuprims.quantile(rows, 0.9, 1, method="lower", device=device), np.quantile(rows, 0.9, 1, method="lower")
    )
    for row in gpuprims.partition(rows, [20, 4000], 1, device=device):
        assert_parted(row, [20, 4000])


@pytest.mark.parametrize("method", METHODS)
def test_every_method(device: gpuprims.Device, method: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((40, 71)).astype(np.float32)
    for q in (0, 1, 0.37, [0.5, 0.01, 1.0], np.float32([[0.25, 0.75]]), 17 / 71, [k / 71 for k in range(0, 72, 3)]):
        if np.asarray(q).dtype == np.float64 and np.ndim(q):
            need(device, "float64")
        for keepdims in (True, False):
            how: dict[str, Any] = {"method": method, "keepdims": keepdims}
            close(gpuprims.quantile(x, q, 1, device=device, **how), np.quantile(x, q, 1, **how))
    close(gpuprims.percentile(x, 37.0, method=method, device=device), np.percentile(x, 37.0, method=method))


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 1000])
def test_percents_that_are_whole_numbers(device: gpuprims.Device, rng: np.random.Generator, n: int, dtype: str) -> None:
    need(device, dtype, "float64")
    x = (200 * rng.random(n)).astype(dtype)
    for q in (0, 33, 75, 100, [75, 25], np.uint8([7, 90])):
        got, expected = gpuprims.percentile(x, q, device=device), np.percentile(x, q)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_warm_calls_tell_quantiles_of_other_types_apart(device: gpuprims.Device) -> None:
    need(device, "float64")
    x = on_device(device, np.arange(5))
    for _ in range(2):
        for q, method, axis in ((1, "linear", None), (1.0, "linear", None), (0.5, "lower", None), (0.5, "linear", 0)):
            found = np.asarray(on_host(device, gpuprims.quantile(x, q, axis, method=method, device=device)))
            close(found, np.quantile(np.arange(5), q, axis, method=method))


def test_every_method_of_few_elements_and_integers(device: gpuprims.Device) -> None:
    need(device, "float64")
    for n in range(1, 9):
        x, q = np.arange(n)[::-1] ** 2, np.arange(2 * n + 1) / (2 * n)
        for method in METHODS:
            close(gpuprims.quantile(x, q, method=method, device=device), np.quantile(x, q, method=method))


def test_no_quantiles() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for method in ("linear", "lower"):
        for q, axis in (([], None), ([], 0), ([], (0, 1))):
            got = gpuprims.quantile(x, q, axis, method=method, device="reference")
            assert got.shape == np.quantile(x, q, axis, method=method).shape


def test_results_where_the_caller_asks(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((6, 40, 5)).astype(np.float32)
    out, wide = np.zeros((2, 6), np.float32)[:, ::2], np.zeros((2, 6, 5), np.float32)
    lines = gpuprims.quantile(x[:, 0, :3], np.float32([0.25, 0.5]), 0, out=out, device=device)
    assert lines is out
    np.testing.assert_allclose(out, np.quantile(x[:, 0, :3], np.float32([0.25, 0.5]), 0), rtol=1e-6)
    gpuprims.percentile(x, np.float32([25, 50]), 1, wide, device=device)
    np.testing.assert_allclose(wide, np.percentile(x, np.float32([25, 50]), 1), rtol=1e-5, atol=1e-6)
    one = np.zeros((), np.float32)
    assert gpuprims.median(x, None, one, device=device) is one
    assert one == np.median(x)
    with pytest.raises(ShapeError, match="out"):
        gpuprims.median(x, 1, np.zeros(7, np.float32), device=device)


def test_nan_in_some_rows(device: gpuprims.Device) -> None:
    x = np.arange(30, dtype=np.float32).reshape(5, 6)
    x[1, 2], x[4] = np.nan, np.nan
    np.testing.assert_array_equal(gpuprims.median(x, 1, device=device), np.median(x, 1))
    np.testing.assert_array_equal(gpuprims.quantile(x, 0.5, 1, device=device), np.quantile(x, 0.5, 1))
    np.testing.assert_array_equal(gpuprims.median(x, 0, device=device), np.median(x, 0))


def assert_parted(x: np.ndarray, ranks: list[int]) -> None:
    """Check that elements of these ranks are in their places, smaller ones before and larger ones behind."""
    ordered = np.sort(x)
    for rank in ranks:
        np.testing.assert_array_equal(x[rank], ordered[rank])
        place = rank % x.size
        np.testing.assert_array_equal(np.sort(x[:place]), ordered[:place])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "float32", "int64"])
def test_partitions(selection_kernel: Kernel, dtype: str, rng: np.random.Generator) -> None:
    how = {"device": selection_kernel.device, "variant": selection_kernel.variant.name}
    x = random_values(rng, dtype, (6, 501))
    for kth in (0, 250, -1, [3, 100, 99], (500,)):
        for laid, axis in ((x, 1), (x.T, 0), (x, None)):
            parted = gpuprims.partition(laid, kth, axis, **how)
            places = gpuprims.argpartition(laid, kth, axis, **how)
            assert places.dtype == np.int64
            flat = laid.reshape(-1) if axis is None else laid
            np.testing.assert_array_equal(np.take_along_axis(flat, places, axis or 0), parted)
            for row in np.atleast_2d(parted.T if axis == 0 else parted):
                assert_parted(row, np.atleast_1d(kth).tolist())


def test_arrays_of_the_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.random((50, 30), dtype=np.float32)
    resident = on_device(device, x)
    for got, expected in (
        (gpuprims.median(resident, 0, device=device), np.median(x, 0)),
        (
            gpuprims.quantile(resident, np.float32([0.25, 0.5]), 1, device=device),
            np.quantile(x, np.float32([0.25, 0.5]), 1),
        ),
        (gpuprims.partition(resident, 10, 0, device=device)[10], np.sort(x, 0)[10]),
    ):
        assert type(got) is type(resident)
        close(on_host(device, got), expected)


def test_wrong_arguments(device: gpuprims.Device) -> None:
    x = np.zeros((3, 5), np.float32)
    with pytest.raises(ArgumentError, match=r"quantile: q= from 0 to 1; got 1.5"):
        gpuprims.quantile(x, 1.5, device=device)
    with pytest.raises(ArgumentError, match=r"percentile: q= from 0 to 100; got \[-1\]"):
        gpuprims.percentile(x, [-1], device=device)
    with pytest.raises(ArgumentError, match=r"method= among .*lower.*did you mean 'linear'"):
        gpuprims.quantile(x, 0.5, method="liner", device=device)
    with pytest.raises(DtypeError, match="bool"):
        gpuprims.quantile(x > 0, 0.5, device=device)
    with pytest.raises(DtypeError, match="real elements"):
        gpuprims.median(x.astype(np.complex64), device=device)
    with pytest.raises(ShapeError, match=r"quantile: one element or more along axis=0"):
        gpuprims.quantile(np.zeros((0, 3), np.float32), 0.5, 0, device=device)
    with pytest.raises(AxisError, match="axis"):
        gpuprims.median(x, 2, device=device)
    for kth in list[Any]([5, -6, 1.5, [], True]):
        with pytest.raises(ArgumentError, match=r"partition: kth= integers from -5 to 4; got"):
            gpuprims.partition(x, kth, device=device)
    with pytest.raises(UnknownKeywordError, match="overwrite_input"):
        gpuprims.median(x, overwrite_input=True, device=device)
