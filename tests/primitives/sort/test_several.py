"""Sorts of values by keys, by several keys, and of complex elements; bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need, random_values

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


@pytest.mark.parametrize("dtypes", [("float64",), ("complex64", "int8"), ("complex128",)])
def test_values_of_rows(place: Any, rng: np.random.Generator, dtypes: Any) -> None:
    keys = rng.integers(0, 9, (30, 5, 50))
    arrays = keys, *(random_values(rng, dtype, keys.shape) for dtype in dtypes)
    for axis in (0, 1, -1):
        order = np.argsort(-keys, axis, kind="stable")
        got = gpuprims.sort_by_key(*map(place.given, arrays), axis=axis, descending=True, device=place.device)
        for one, whole in zip(got, arrays, strict=True):
            assert_equal(place.host(one), np.take_along_axis(whole, order, axis))


@pytest.mark.parametrize("size", [0, 1, 2, 5_000, 20_001])
def test_several_keys(device: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    keys = rng.integers(0, 5, size), rng.random(size).round(1).astype(np.float32), rng.random(size) < 0.5
    assert_equal(gpuprims.lexsort(keys, device=device), np.lexsort(keys))
    table = rng.integers(0, 3, (4, size))
    assert_equal(gpuprims.lexsort(table, device=device), np.lexsort(table))


@pytest.mark.parametrize(
    ("shape", "axis"), [((3_001,), -1), ((0,), -1), ((1,), 0), ((30, 70), 1), ((6, 50, 7), 1), ((40, 9), None)]
)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_elements(place: Any, rng: np.random.Generator, dtype: str, shape: Any, axis: int | None) -> None:
    need(place.device, dtype)
    x = (rng.integers(-3, 3, shape) + 1j * rng.integers(-3, 3, shape)).astype(dtype)
    x.real[rng.random(shape) < 0.1] = np.nan
    x.imag[rng.random(shape) < 0.1] = np.nan
    order, expected = np.argsort(x, axis, kind="stable"), np.sort(x, axis, kind="stable")
    for function, result in ((gpuprims.argsort, order), (gpuprims.sort, expected)):
        assert_equal(place.host(function(place.given(x), axis, device=place.device)), result)
        whole = place.given(np.zeros((*result.shape, 2), result.dtype))
        out = whole[..., 0]
        assert function(place.given(x), axis, out=out, device=place.device) is out
        assert_equal(place.host(whole)[..., 0], result)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_keys_with_the_greatest_first(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, dtype)
    keys, values = (
        (rng.integers(-3, 3, (20, 30)) + 1j * rng.integers(-3, 3, (20, 30))).astype(dtype),
        rng.random((20, 30)),
    )
    ranks = np.unique(keys, return_inverse=True)[1].reshape(keys.shape)
    order = np.argsort(-ranks, 0, kind="stable")
    got = gpuprims.sort_by_key(keys, values, axis=0, descending=True, device=device)
    for one, whole in zip(got, (keys, values), strict=True):
        assert_equal(one, np.take_along_axis(whole, order, 0))


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "no such axis": (lambda **d: gpuprims.sort([3, 1], 1, **d), errors.AxisError, "axis: from -1 to 0"),
    "no axis at all": (lambda **d: gpuprims.sort(np.float32(3), **d), errors.AxisError, "None for 0 dim"),
    "axis of text": (lambda **d: gpuprims.sort([3, 1], "x", **d), errors.AxisError, "an int or None"),
    "descending": (lambda **d: gpuprims.sort([3, 1], descending=2, **d), errors.ArgumentError, "True or False"),
    "keyword": (lambda **d: gpuprims.sort([3, 1], descnding=True, **d), errors.UnknownKeywordError, "descending"),
    "variant": (lambda **d: gpuprims.sort([3, 1], variant="quick", **d), errors.UnknownVariantError, "'quick'"),
    "texts": (lambda **d: gpuprims.sort(["b", "a"], **d), errors.DtypeError, "numbers or bools"),
    "complex out": (lambda **d: gpuprims.sort(np.ones(3, "c8"), out=np.ones(3), **d), errors.DtypeError, "out="),
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


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("dtypes", [("uint8", "int16"), ("bool", "int64"), ("float32", "int8")])
def test_later_calls_tell_a_table_from_keys(device: gpuprims.Device, rng: np.random.Generator, dtypes: Any) -> None:
    keys = tuple(rng.integers(0, 5, 70).astype(dtype) for dtype in dtypes)
    table = rng.integers(0, 5, (2, 70)).astype(dtypes[1])
    for _ in range(3):
        assert_equal(gpuprims.lexsort(keys, device=device), np.lexsort(keys))
        assert_equal(gpuprims.lexsort([*keys], device=device), np.lexsort(keys))
        assert_equal(gpuprims.lexsort(table, device=device), np.lexsort(table))
        assert_equal(gpuprims.lexsort(table[:, ::2], device=device), np.lexsort(table[:, ::2]))
        assert_equal(gpuprims.lexsort((table[0],), device=device), np.lexsort((table[0],)))
        with pytest.raises(errors.ShapeError):
            gpuprims.lexsort((table,), device=device)
        with pytest.raises(errors.ShapeError):
            gpuprims.lexsort((keys[0], keys[1][1:]), device=device)
