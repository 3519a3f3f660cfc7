"""bincount: numbers of every dtype, rows, weights, and more counts than 32 bits hold."""

from __future__ import annotations

import numpy as np
import pytest
from histogram_cases import bincount
from kernel_cases import Kernel, assert_equal, on_device, on_host, release_pools

import gpuprims
from gpuprims.core.by_numpy import Switch
from gpuprims.core.program_cache import forget_calls
from gpuprims.errors import ArgumentError
from gpuprims.primitives.histogram.calls import as_weighing, weighed
from gpuprims.primitives.histogram.numbers import numbers_of
from gpuprims.primitives.histogram.reading import MOST_IN_TURN


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "uint64"])
def test_numbers_may_be_of_any_integer_dtype(
    histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, weighted: bool
) -> None:
    x = rng.integers(0, 2 if dtype == "bool" else 100, 3000).astype(dtype)
    weights = rng.standard_normal(x.size) if weighted else None
    got, expected = bincount(histogram_kernel, x, weights=weights), np.bincount(x, weights)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_the_numbers_of_nothing_are_int64_as_in_numpy(device: gpuprims.Device) -> None:
    for dtype in ("int64", "uint64", "uint8"):
        for weights in (None, np.zeros(0), np.zeros(0, np.float32)):
            for minlength in (0, 3):
                nothing = np.zeros(0, dtype)
                expected = np.bincount(nothing, weights, minlength)
                assert_equal(gpuprims.bincount(nothing, weights, minlength, device=device), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("highest", [1, 100, 5000])
def test_counts_of_numbers(histogram_kernel: Kernel, rng: np.random.Generator, dtype: str, highest: int) -> None:
    for size in (0, 1, 300, 20_001):
        x = rng.integers(0, min(highest, np.iinfo(dtype).max if dtype != "bool" else 1), size, endpoint=True).astype(
            dtype
        )
        for minlength in (0, 7, 6000):
            assert_equal(bincount(histogram_kernel, x, minlength=minlength), np.bincount(x, minlength=minlength))


def test_weights_of_numbers(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    histogram_kernel.need(np.float64)
    x = rng.integers(0, 30, 5000)
    integers, floats = rng.integers(-99, 99, 5000), rng.standard_normal(5000)
    assert_equal(bincount(histogram_kernel, x, weights=integers), np.bincount(x, integers))
    np.testing.assert_allclose(bincount(histogram_kernel, x, weights=floats), np.bincount(x, floats), atol=1e-10)


def test_numbers_of_each_row(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.integers(0, 20, (30, 500))
    x[0, 0] = 24
    expected = np.array([np.bincount(row, minlength=25) for row in x])
    assert_equal(bincount(histogram_kernel, x, axis=1), expected)
    resident = on_device(histogram_kernel.device, x.T)
    assert_equal(on_host(histogram_kernel.device, bincount(histogram_kernel, resident, axis=0)), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_arrays_that_differ_from_the_last_one(
    histogram_kernel: Kernel, rng: np.random.Generator, weighted: bool
) -> None:
    if weighted:
        histogram_kernel.need(np.float64)
    weights = rng.integers(0, 9, 4000).astype(np.float32) if weighted else None
    for most in (5, 5, 9, 3, 3000, 3000, 40, 2, 5000):  # the same length, a larger one, a smaller one
        x = rng.integers(0, most, 4000)
        x[7] = most - 1
        resident = on_device(histogram_kernel.device, x)
        weighing = None if weights is None else on_device(histogram_kernel.device, weights)
        got = bincount(histogram_kernel, resident, weights=weighing)
        assert_equal(on_host(histogram_kernel.device, got), np.bincount(x, weights))
        negative = on_device(histogram_kernel.device, np.where(np.arange(4000) == 5, -3, x))
        with pytest.raises(ArgumentError, match="non-negative elements; got -3"):
            bincount(histogram_kernel, negative, weights=weighing)


def test_negative_numbers_are_refused_wherever_they_are(histogram_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in (1, 5000):
        x = rng.integers(0, 2000, size)
        x[size // 2] = -1
        with pytest.raises(ArgumentError, match="bincount: non-negative elements; got -1"):
            bincount(histogram_kernel, x)


def test_more_counts_than_32_bits_hold(device: gpuprims.Device) -> None:
    if device.capabilities.kind != "gpu":
        pytest.skip("minutes on a CPU")
    size = 2**32 + 2**20
    if device.capabilities.memory < 2 * size:
        pytest.skip(f"{device!r} has no room for {size} bytes")
    x = gpuprims.map("x + 3", device.driver.zeros((size,), np.dtype(np.uint8)))
    try:
        for variant in (None, "global_atomic"):
            counts = gpuprims.bincount(x, minlength=4, variant=variant)
            assert on_host(device, counts).tolist() == [0, 0, 0, size]
    finally:
        del x
        release_pools()


def test_many_short_rows_of_numbers(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, (3000, 4))
    expected = np.array([np.bincount(row, minlength=9) for row in x])
    assert_equal(gpuprims.bincount(x, axis=1, device=device), expected)


def test_the_largest_number_may_change_from_call_to_call(device: gpuprims.Device, rng: np.random.Generator) -> None:
    for top in (20_000, 20_000, 30_000, 9, 20_000):
        x = rng.integers(0, top, 3000)
        assert_equal(gpuprims.bincount(x, device=device), np.bincount(x))
        if device.backend != "reference":
            assert_equal(on_host(device, gpuprims.bincount(device.driver.asarray(x))), np.bincount(x))


@pytest.mark.parametrize("weighted", [False, True])
def test_what_warm_calls_of_a_gpu_run(histogram_kernel: Kernel, rng: np.random.Generator, weighted: bool) -> None:
    device, name = histogram_kernel.device, histogram_kernel.variant.name
    if name not in ("local_atomic", "cached"):
        pytest.skip("takes the same way")
    histogram_kernel.need(np.float64)
    weights = rng.integers(0, 9, 5000).astype(np.float32) if weighted else None
    numbers = None
    for most in (50, 50, 70, 70, 3, 3000 if weighted else 9000):  # sums that fit in 48 KiB
        x = rng.integers(0, most, 5000)
        x[7] = most - 1
        arrays = tuple(on_device(device, one) for one in ((x,) if weights is None else (x, weights)))
        if numbers is None:
            operands = weighed("bincount", *arrays, *(() if weighted else (None,)), None)
            numbers = numbers_of(operands, (0,), 0, as_weighing(operands, True, as_floats=True), name)
            numbers._searches = True  # as on a GPU
            numbers.count(operands)
        assert_equal(on_host(device, numbers.run(arrays, on_host=False)), np.bincount(x, weights))
        wrong = (on_device(device, np.where(np.arange(x.size) == 5, -1, x)), *arrays[1:])
        with pytest.raises(ArgumentError, match="non-negative elements; got -1"):
            numbers.run(wrong, on_host=False)


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("n", [2**14, 2**14 + 1, MOST_IN_TURN - 1, MOST_IN_TURN, MOST_IN_TURN + 1])
@pytest.mark.parametrize("numbers", [9, 3000])
def test_few_weights_have_the_bits_of_many(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, n: int, numbers: int
) -> None:
    x, weights = rng.integers(0, numbers, n), rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n)
    found = gpuprims.bincount(x, weights, device=device)
    if device.capabilities.kind == "cpu" and n <= MOST_IN_TURN:
        assert found.tobytes() == np.bincount(x, weights).tobytes()
    monkeypatch.setattr(Switch, "on", False)
    forget_calls()
    assert found.tobytes() == gpuprims.bincount(x, weights, device=device).tobytes()


@pytest.mark.usefixtures("numpy_computes")
def test_weights_that_are_no_numbers_have_the_bits_of_kernels(
    device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [
        (np.array(weights), bins)  # fewer than weights, as many, and more
        for weights in ([1.0, np.nan], [-np.nan, 1.0], [np.inf, 2.0], [np.inf, -np.inf], [-np.inf, -np.nan])
        for bins in (1, 2, 3000)
    ]
    found = [gpuprims.bincount(np.zeros(2, np.int64), *call, device=device) for call in calls]
    monkeypatch.setattr(Switch, "on", False)
    forget_calls()
    for one, call in zip(found, calls, strict=True):
        np.testing.assert_array_equal(one, np.bincount([0, 0], *call))
        assert one.tobytes() == gpuprims.bincount(np.zeros(2, np.int64), *call, device=device).tobytes()
