"""convolve against numpy.convolve, in every mode."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, assert_equal, need, on_device, on_host

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, UnknownKeywordError

LENGTHS = [(1, 1), (5, 3), (3, 5), (64, 64), (3001, 2), (700, 41), (1000, 601)]


def drawn(rng: np.random.Generator, dtype: str, size: int) -> np.ndarray:
    """Return numbers of all bits of integers, so that sums overflow."""
    if dtype == "bool":
        return rng.random(size) < 0.3
    if dtype.startswith("float"):
        return rng.standard_normal(size).astype(dtype)
    ends = np.iinfo(dtype)
    return rng.integers(ends.min, ends.max, size, dtype, endpoint=True)


def assert_close(got: np.ndarray, expected: np.ndarray, scale: Any) -> None:
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind != "f":
        assert_equal(got, expected)
        return
    tolerance = {"float16": 2e-2, "float32": 2e-6, "float64": 1e-14}[expected.dtype.name]
    np.testing.assert_allclose(got.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("second", ["bool", "int8", "uint16", "int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_every_mode_and_dtype(
    device: gpuprims.Device, rng: np.random.Generator, mode: Any, first: str, second: str
) -> None:
    result = np.result_type(np.dtype(first), np.dtype(second))
    need(device, first, second, result)
    for sizes in LENGTHS:
        a, v = (drawn(rng, dtype, size) for dtype, size in zip((first, second), sizes, strict=True))
        with np.errstate(all="ignore"):
            exact = np.convolve(a.astype(np.float64), v.astype(np.float64), mode)
            expected = exact.astype(result) if result.kind == "f" else np.convolve(a, v, mode)
            scale = np.convolve(np.abs(a.astype(np.float64)), np.abs(v.astype(np.float64)), mode).max()
        if result == np.float16 and not np.isfinite(expected).all():
            continue
        assert_close(gpuprims.convolve(a, v, mode, device=device), expected, scale)


def test_lists_and_strided_arrays(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need(device, "int64")
    assert_equal(gpuprims.convolve([1, 2, 3], [0, 1, 5], device=device), np.convolve([1, 2, 3], [0, 1, 5]))
    x = rng.integers(-99, 99, (40, 300)).astype(np.int32)
    for a, v in ((x[3], x[::-4, 7]), (x[2, ::-3], x[1, :60:7]), (x[:, 4], x[:9, 2])):
        for mode in ("full", "same", "valid"):
            assert_equal(gpuprims.convolve(a, v, mode, device=device), np.convolve(a, v, mode))


def test_infinities_spread(device: gpuprims.Device, rng: np.random.Generator) -> None:
    a, v = rng.standard_normal(5000).astype(np.float32), np.float32([1, 2, -3, 4])
    a[[0, 700, 4999]] = np.inf, np.nan, -np.inf
    for mode in ("full", "same", "valid"):
        got, expected = gpuprims.convolve(a, v, mode, device=device), np.convolve(a, v, mode)
        assert_equal(np.isnan(got), np.isnan(expected))
        assert_equal(np.isinf(got), np.isinf(expected))


def test_arrays_of_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    a, v = rng.standard_normal(20_001).astype(np.float32), rng.standard_normal(24).astype(np.float32)
    there = on_device(device, a)
    for given in (v, on_device(device, v)):
        for mode in ("full", "same", "valid"):
            got = gpuprims.convolve(there, given, mode)
            assert type(got) is type(there)
            assert_close(on_host(device, got), np.convolve(a, v, mode), 20)
            assert_close(on_host(device, gpuprims.convolve(given, there, mode)), np.convolve(v, a, mode), 20)


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "a mode": (lambda **w: gpuprims.convolve([1], [1], "ful", **w), ArgumentError, "got 'ful' (did you mean 'full'?)"),
    "a mode of borders": (
        lambda **w: gpuprims.convolve([1], [1], "reflect", **w), ArgumentError, "(ndimage.convolve1d has borders)",
    ),
    "nothing": (lambda **w: gpuprims.convolve([1], [], **w), ShapeError, "with elements; got shape (0,)"),
    "an image": (lambda **w: gpuprims.convolve([[1]], [1], **w), ShapeError, "two arrays of one dimension"),
    "a number": (lambda **w: gpuprims.convolve([1], 3, **w), ShapeError, "got shape ()"),
    "complex numbers": (lambda **w: gpuprims.convolve([1j], [1], **w), DtypeError, "(convolve .real and .imag)"),
    "a keyword": (lambda **w: gpuprims.convolve([1], [1], axis=0, **w), UnknownKeywordError, "among a, v, mode"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(device: gpuprims.Device, case: str) -> None:
    call, error, message = WRONG[case]
    with pytest.raises(error, match=re.escape(message)):
        call(device=device)


class _Tensor:
    """An array whose size is a method, as that of a tensor of torch is."""

    def __init__(self, array: np.ndarray) -> None:
        self._array, self.shape = array, array.shape
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    def size(self) -> tuple[int, ...]:
        return self.shape

    def __array_namespace__(self) -> SimpleNamespace:
        return SimpleNamespace(from_dlpack=np.from_dlpack)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_tensors_beside_arrays(device: gpuprims.Device, rng: np.random.Generator, mode: Any) -> None:
    a, v = rng.standard_normal(300).astype(np.float32), np.float32([1, 2, 5])
    expected = np.convolve(a, v, mode)
    for first, second in ((_Tensor(a), v), (a, _Tensor(v)), (v, _Tensor(a))):
        np.testing.assert_allclose(gpuprims.convolve(first, second, mode, device=device), expected, 1e-5, 1e-5)
