"""Sorts of values by keys, by several keys, and of complex elements; bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, on_device, on_host, random_values

import gpuprims
from gpuprims import errors


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [0, 1, 300, 20_001])
def test_values_follow_their_keys(device: gpuprims.Device, rng: np.random.Generator, dtype: str, size: int) -> None:
    keys, values = rng.integers(0, 99, size).astype(np.int16), random_values(rng, dtype, size)
    order = np.argsort(keys, kind="stable")
    for given in ((values,), (values, keys.astype(np.float32))):
        got = gpuprims.sort_by_key(keys, *given, device=device)
        for one, whole in zip(got, (keys, *given), strict=True):
            assert_equal(one, whole[order])


def test_values_of_rows_and_on_the_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    keys, values = rng.integers(0, 9, (30, 50)), rng.random((30, 50))
    for axis in (0, 1):
        order = np.argsort(-keys, axis, kind="stable")
        got = gpuprims.sort_by_key(*(on_device(device, one) for one in (keys, values)), axis=axis, descending=True)
        for one, whole in zip(got, (keys, values), strict=True):
            assert_equal(on_host(device, one), np.take_along_axis(whole, order, axis))


@pytest.mark.parametrize("size", [0, 1, 2, 5_000, 20_001])
def test_several_keys(device: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    keys = rng.integers(0, 5, size), rng.random(size).round(1).astype(np.float32), rng.random(size) < 0.5
    assert_equal(gpuprims.lexsort(keys, device=device), np.lexsort(keys))
    table = rng.integers(0, 3, (4, size))
    assert_equal(gpuprims.lexsort(table, device=device), np.lexsort(table))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_elements(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    if dtype == "complex128" and not device.capabilities.fp64:
        pytest.skip("computes in no float64")
    x = (rng.integers(-3, 3, 3_001) + 1j * rng.integers(-3, 3, 3_001)).astype(dtype)
    x.real[rng.random(x.size) < 0.1] = np.nan
    x.imag[rng.random(x.size) < 0.1] = np.nan
    assert_equal(gpuprims.argsort(x, device=device), np.argsort(x, kind="stable"))
    assert_equal(gpuprims.sort(x, device=device), np.sort(x, kind="stable"))


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "no such axis": (lambda **d: gpuprims.sort([3, 1], 1, **d), errors.AxisError, "axis: from -1 to 0"),
    "no axis at all": (lambda **d: gpuprims.sort(np.float32(3), **d), errors.AxisError, "None for 0 dim"),
    "axis of text": (lambda **d: gpuprims.sort([3, 1], "x", **d), errors.AxisError, "an int or None"),
    "descending": (lambda **d: gpuprims.sort([3, 1], descending=2, **d), errors.ArgumentError, "True or False"),
    "keyword": (lambda **d: gpuprims.sort([3, 1], descnding=True, **d), errors.UnknownKeywordError, "descending"),
    "variant": (lambda **d: gpuprims.sort([3, 1], variant="quick", **d), errors.UnknownVariantError, "'quick'"),
    "texts": (lambda **d: gpuprims.sort(["b", "a"], **d), errors.DtypeError, "numbers or bools"),
    "complex rows": (lambda **d: gpuprims.sort(np.zeros((2, 2), "c8"), **d), errors.DtypeError, "along one axis"),
    "out": (lambda **d: gpuprims.sort(np.ones(3), out=np.ones(4), **d), errors.ShapeError, "out="),
    "no values": (lambda **d: gpuprims.sort_by_key([1, 2], **d), errors.ArgumentError, "got no values"),
    "lengths": (lambda **d: gpuprims.sort_by_key([1, 2], [1], **d), errors.ShapeError, r"\(2,\); got \(1,\)"),
    "no keys": (lambda **d: gpuprims.lexsort([], **d), errors.ArgumentError, "got none"),
    "keys of two lengths": (lambda **d: gpuprims.lexsort(([1], [1, 2]), **d), errors.ShapeError, "one length"),
}


@pytest.mark.parametrize("call", WRONG)
def test_wrong_arguments(device: gpuprims.Device, call: str) -> None:
    function, raised, said = WRONG[call]
    with pytest.raises(raised, match=said):
        function(device=device)
