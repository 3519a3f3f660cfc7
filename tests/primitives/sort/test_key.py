"""Sorts by a function of each element, against NumPy's stable argsort of its results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need, random_values

import gpuprims
from gpuprims import errors

# The function, the same in NumPy, and the dtype of elements.
KEYS: dict[str, tuple[Any, Any, str]] = {
    "size": (lambda x: abs(x), np.abs, "int16"),
    "text": ("x % 7", lambda x: x % 7, "int64"),
    "floats": (lambda x: np.where(x > 0, x, np.nan), lambda x: np.where(x > 0, x, np.nan), "float32"),
    "a bool": ("x > 0.5", lambda x: x > 0.5, "float64"),
    "of complex": (lambda z: z.imag, lambda z: z.imag, "complex64"),
    "of 128 bits": (lambda z: np.where(z.real > 0, 1, 0), lambda z: np.where(z.real > 0, 1, 0), "complex128"),
    "complex": (lambda z: -z, lambda z: -z, "complex64"),
}


def order(keys: np.ndarray, axis: int | None, descending: bool) -> np.ndarray:
    """Return the indices that sort keys stably; NaN is the greatest."""
    ranks = np.unique(keys, return_inverse=True)[1].reshape(keys.shape)
    return np.argsort(-ranks if descending else ranks, axis, kind="stable")


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((2_001,), -1), ((0,), 0), ((20, 30), 0), ((20, 30), None)])
@pytest.mark.parametrize("name", KEYS)
def test_elements_are_in_the_order_of_their_keys(
    place: Any, rng: np.random.Generator, name: str, shape: Any, axis: int | None, descending: bool
) -> None:
    key, same, dtype = KEYS[name]
    need(place.device, dtype)
    x = random_values(rng, dtype, shape)
    expected, flat = order(same(x), axis, descending), x.reshape(-1) if axis is None else x
    how = {"axis": axis, "descending": descending, "key": key, "device": place.device}
    along = -1 if axis is None else axis
    assert_equal(place.host(gpuprims.argsort(place.given(x), **how)), expected)
    assert_equal(place.host(gpuprims.sort(place.given(x), **how)), np.take_along_axis(flat, expected, along))
    values = rng.integers(0, 99, shape)
    got = gpuprims.sort_by_key(place.given(x), place.given(values), **how)
    for one, whole in zip(got, (flat, values.reshape(flat.shape)), strict=True):
        assert_equal(place.host(one), np.take_along_axis(whole, expected, along))


def test_captured_numbers_count_in_each_call(device: gpuprims.Device) -> None:
    x = np.arange(50, dtype=np.int32)
    for centre in (3, 40):
        expected = x[np.argsort(abs(x - centre), kind="stable")]
        assert_equal(gpuprims.sort(x, key=lambda one, at=centre: abs(one - at), device=device), expected)


def test_indices_go_to_out(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, out = rng.integers(-9, 9, 300), np.zeros(300, np.int64)
    assert gpuprims.argsort(x, key="abs(x)", out=out, device=device) is out
    assert_equal(out, np.argsort(abs(x), kind="stable"))


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "out": ({"key": "abs(x)", "out": np.zeros(4)}, errors.ShapeError, "sort: out= of the result's shape"),
    "segments": ({"key": "abs(x)", "segments": [0, 3]}, errors.ArgumentError, "sort: no segments= with key="),
    "results": ({"key": lambda x: (x, -x)}, errors.ArgumentError, "one number; got 2 results"),
    "parameters": ({"key": lambda x, y: x + y}, errors.ArgumentError, r"one element; got one of \(x, y\)"),
    "text": ({"key": "abs("}, errors.ExpressionError, "abs"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_keys(name: str) -> None:
    how, raised, said = WRONG[name]
    with pytest.raises(raised, match=said):
        gpuprims.sort(np.ones(3), device="reference", **how)
