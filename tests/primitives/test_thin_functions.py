"""diff, count_nonzero, nonzero, argwhere and digitize against NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need, on_device, on_host

import gpuprims
from gpuprims.errors import ArgumentError, AxisError, DtypeError, ShapeError, UnknownKeywordError

SHAPES = [(1,), (5003,), (7, 9), (3, 4, 5), (0, 3), (2, 0)]
DTYPES = ["bool", "uint8", "int64", "float32", "complex64"]


def sparse(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return rng.integers(-1, 3, shape).clip(0 if dtype[0] in "bu" else -1).astype(dtype) * rng.integers(
        0, 2, shape
    ).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_not_zero(
    device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...], dtype: str
) -> None:
    x = sparse(rng, shape, dtype)
    for given in (x, x[::-1].T, x[..., ::2]):
        expected = np.nonzero(given)
        for got, wanted in zip(gpuprims.nonzero(given, device=device), expected, strict=True):
            assert_equal(got, wanted)
        assert_equal(gpuprims.argwhere(given, device=device), np.argwhere(given))
        counts = np.count_nonzero(given, axis=-1, keepdims=True)
        assert_equal(gpuprims.count_nonzero(given, -1, keepdims=True, device=device), counts)
        assert gpuprims.count_nonzero(given, device=device) == np.count_nonzero(given)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_differences(device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> None:
    x = sparse(rng, shape, dtype)
    for axis, n in ((-1, 1), (0, 2), (-1, 11)):
        assert_equal(gpuprims.diff(x, n, axis, device=device), np.diff(x, n, axis))
    ends: dict[str, Any] = {"prepend": x, "append": x.any()}
    need(device, np.result_type(x, np.bool_))
    assert_equal(gpuprims.diff(x, 1, 0, device=device, **ends), np.diff(x, 1, 0, **ends))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [[-2, -1, 0, 1, 2], [2, 1, 1, 0], [0], [], [1, 1]])
def test_bins_of_elements(device: gpuprims.Device, rng: np.random.Generator, bins: list[int], *, right: bool) -> None:
    x = rng.standard_normal((40, 5)).round(1).astype(np.float32)
    x[0, :3] = np.nan, np.inf, -0.0
    for given in (x, x.T[::2], x[:0]):
        edges = np.float32(bins)
        assert_equal(gpuprims.digitize(given, edges, right, device=device), np.digitize(given, edges, right))


def test_arrays_of_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = sparse(rng, (60, 70), "float32")
    there = on_device(device, x)
    for got, wanted in zip(gpuprims.nonzero(there), np.nonzero(x), strict=True):
        assert type(got) is type(there)
        assert_equal(on_host(device, got), wanted)
    assert_equal(on_host(device, gpuprims.argwhere(there)), np.argwhere(x))
    assert_equal(on_host(device, gpuprims.count_nonzero(there, axis=0)), np.count_nonzero(x, axis=0))
    assert_equal(on_host(device, gpuprims.digitize(there, np.float32([2, 1]))), np.digitize(x, np.float32([2, 1])))
    for axis in (0, 1, 0, 1):
        assert_equal(on_host(device, gpuprims.diff(there, 2, axis)), np.diff(x, 2, axis))
        got = gpuprims.diff(there, 1, axis, prepend=there, append=np.float32(3))
        assert_equal(on_host(device, got), np.diff(x, 1, axis, x, np.float32(3)))


@pytest.mark.parametrize("right", [False, True])
def test_bins_of_a_device(device: gpuprims.Device, rng: np.random.Generator, *, right: bool) -> None:
    x = rng.standard_normal(500).round(1).astype(np.float32)
    there = on_device(device, x)
    for bins in (np.float32([-1, 0, 0.5]), np.float32([0.5, 0, 0, -1]), np.float32([1])):
        for given in (bins, on_device(device, bins), on_device(device, bins)):
            assert_equal(on_host(device, gpuprims.digitize(there, given, right)), np.digitize(x, bins, right))
    with pytest.raises(ArgumentError, match="ascending or descending order"):
        gpuprims.digitize(there, on_device(device, np.float32([1, 3, 2])), right)


def test_bins_of_a_device_that_change(device: gpuprims.Device, rng: np.random.Generator) -> None:
    """Edges that ascended once are checked while calls go on: a later call raises, and the one after it is right."""
    x, bins = rng.standard_normal(500).astype(np.float32), np.float32([-1, 0, 2])
    there, edges = on_device(device, x), on_device(device, bins)
    for shift in (0, 1, 2):
        gpuprims.map("x + y", on_device(device, bins), np.float32(shift), out=edges)
        for _ in range(2):
            assert_equal(on_host(device, gpuprims.digitize(there, edges)), np.digitize(x, bins + np.float32(shift)))
    gpuprims.map("-x", edges, out=edges)
    told = list[str]()
    try:
        gpuprims.digitize(there, edges)
        device.synchronize()
        gpuprims.digitize(there, edges)
    except ArgumentError as error:
        told.append(str(error))
    assert all("as the same array did in an earlier call" in one for one in told)
    assert_equal(on_host(device, gpuprims.digitize(there, edges)), np.digitize(x, -(bins + np.float32(2))))


def test_calls_like_earlier_ones_read_their_own_arrays(device: gpuprims.Device, rng: np.random.Generator) -> None:
    edges = np.float32([0, 1])
    for _ in range(3):
        x = rng.standard_normal(300).astype(np.float32)
        edges[:] = np.sort(rng.standard_normal(2))
        there = on_device(device, x)
        assert_equal(gpuprims.diff(x, device=device), np.diff(x))
        assert_equal(on_host(device, gpuprims.diff(there)), np.diff(x))
        assert_equal(gpuprims.digitize(x, edges, device=device), np.digitize(x, edges))
        assert_equal(on_host(device, gpuprims.digitize(there, edges)), np.digitize(x, edges))
        (places,) = gpuprims.nonzero(x > 0, device=device)
        assert_equal(places, np.flatnonzero(x > 0))


def test_calls_like_earlier_ones_with_arguments_of_the_host(device: gpuprims.Device, rng: np.random.Generator) -> None:
    """Other edges and weights, and the same ones for other elements, side by side and apart."""
    second, edges = np.float32([2, -1, 3]), np.float32([-0.5, 0.25])
    for _ in range(3):
        x = rng.standard_normal((300, 2)).round(1).astype(np.float32)
        there = on_device(device, x)
        for one, given in ((x[:, 0], there[:, 0]), (x[7], there[7]), (x[::-3, 1], there[::-3, 1])):
            for some in (edges, edges[::-1].copy(), edges + np.float32(1)):
                assert_equal(on_host(device, gpuprims.digitize(given, some)), np.digitize(one, some))
                assert_equal(on_host(device, gpuprims.digitize(given, some, right=True)), np.digitize(one, some, True))
            for v in (second[:2], second[:1] * 2):
                for mode in ("full", "same", "valid"):
                    got, expected = on_host(device, gpuprims.convolve(given, v, mode)), np.convolve(one, v, mode)
                    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)
                    on_the_host = gpuprims.convolve(one, v, mode, device=device)
                    np.testing.assert_allclose(on_the_host, expected, rtol=0, atol=1e-5)


def test_calls_like_earlier_ones_are_not_described_again(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, edges = rng.standard_normal((500, 2)).astype(np.float32), np.float32([0, 1])
    there = on_device(device, x)
    if isinstance(there, np.ndarray):
        pytest.skip("is about arrays of a device")
    calls = [lambda: gpuprims.digitize(there[:, 1], edges), lambda: gpuprims.digitize(there[3], edges)]
    calls += [lambda mode=mode: gpuprims.convolve(there[:, 1], edges, mode) for mode in ("full", "same", "valid")]
    for _ in range(2):  # the first call of a process may load variants, and calls kept before are forgotten then
        first = [call() for call in calls]
    for module in ("stencil.convolve", "searchsorted.digitize"):
        monkeypatch.setattr(f"gpuprims.primitives.{module}.as_operands", None)
    monkeypatch.setattr("gpuprims.primitives.searchsorted.digitize.elements_of", None)
    for call, wanted in zip(calls, first, strict=True):
        assert_equal(on_host(device, call()), on_host(device, wanted))


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "differences of a number": (lambda **w: gpuprims.diff(3, **w), ShapeError, "at least one dimension; got a number"),
    "a negative n": (lambda **w: gpuprims.diff([1, 2], -1, **w), ArgumentError, "n= an integer from 0 on"),
    "an axis": (lambda **w: gpuprims.diff([1, 2], 1, 1, **w), AxisError, "axis from -1 to 0 for 1 dimension(s); got 1"),
    "another shape": (
        lambda **w: gpuprims.diff(np.ones((2, 3)), prepend=np.ones((3, 1)), **w), ShapeError, "of the shape of a along",
    ),
    "a keyword": (lambda **w: gpuprims.diff([1, 2], order=2, **w), UnknownKeywordError, "keywords among a, n, axis"),
    "places of a number": (lambda **w: gpuprims.nonzero(3, **w), ShapeError, "at least one dimension; got a number"),
    "mixed bins": (lambda **w: gpuprims.digitize([1], [1, 3, 2], **w), ArgumentError, "ascending or descending order"),
    "bins of NaN": (lambda **w: gpuprims.digitize([1], [1, np.nan], **w), ArgumentError, "NaN; got 1.0 before nan"),
    "bins of two axes": (lambda **w: gpuprims.digitize([1], [[1]], **w), ShapeError, "one dimension; got shape (1, 1)"),
    "complex numbers": (lambda **w: gpuprims.digitize([1j], [1], **w), DtypeError, "real numbers; got complex128"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(device: gpuprims.Device, case: str) -> None:
    call, error, message = WRONG[case]
    with pytest.raises(error, match=re.escape(message)):
        call(device=device)
