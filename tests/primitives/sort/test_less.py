"""Sorts by a comparison of two elements, against Python's sort by the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, assert_equal, need, random_values
from tricky_data import tricky

import gpuprims
from gpuprims import errors

NAN_LAST = "(a < b) | (isnan(b) & ~isnan(a))"
# A comparison, the same of Python's numbers, and the dtype of elements.
ORDERS: dict[str, tuple[Any, Callable[[Any, Any], bool], str]] = {
    "size": (lambda a, b: abs(a) < abs(b), lambda a, b: abs(a) < abs(b), "int32"),
    "text": ("a % 7 > b % 7", lambda a, b: a % 7 > b % 7, "uint8"),
    "64 bits": ("a // 2**40 < b // 2**40", lambda a, b: a // 2**40 < b // 2**40, "int64"),
    "rounded": (lambda a, b: np.floor(a * 4) < np.floor(b * 4), lambda a, b: a * 4 // 1 < b * 4 // 1, "float32"),
    "half": (lambda a, b: a > b, lambda a, b: a > b, "float16"),
    "all equal": (lambda a, b: (a != a) & (b != b), lambda a, b: False, "uint16"),
    "imag": (lambda a, b: a.imag < b.imag, lambda a, b: a.imag < b.imag, "complex64"),
    "real, then imag falling": (
        lambda a, b: ((a.real > 0) < (b.real > 0)) | ((a.real > 0) == (b.real > 0)) & (a.imag > b.imag),
        lambda a, b: (a.real > 0, -a.imag) < (b.real > 0, -b.imag),
        "complex128",
    ),
}  # fmt: skip
# Around insertion's runs, chunks of CPUs, tiles of GPUs, and runs of several tiles.
SIZES = [0, 1, 2, 3, 15, 16, 17, 33, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 3071, 6145]


def order(x: np.ndarray, less: Callable[[Any, Any], bool], *, descending: bool = False) -> np.ndarray:
    """Return the indices that sort the last axis stably, by Python's sort."""
    sign = -1 if descending else 1

    def of_row(row: list[Any]) -> list[int]:
        compare = cmp_to_key(lambda i, j: sign * (less(row[j], row[i]) - less(row[i], row[j])))
        return sorted(range(len(row)), key=compare)

    found = [of_row(row.tolist()) for row in x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])]
    return np.array(found, np.int64).reshape(x.shape)


def check(place: Any, x: np.ndarray, less: Any, expected: np.ndarray, axis: int = -1, **how: Any) -> None:
    """Compare sort, argsort and sort_by_key with an order along an axis, bit for bit."""
    how |= {"axis": axis, "less": less, "device": place.device}
    sorted_ = np.take_along_axis(x, expected, axis)
    assert_equal(place.host(gpuprims.argsort(place.given(x), **how)), expected)
    assert place.host(gpuprims.sort(place.given(x), **how)).tobytes() == sorted_.tobytes()
    keys, values = gpuprims.sort_by_key(place.given(x), place.given(np.arange(x.size).reshape(x.shape)), **how)
    assert place.host(keys).tobytes() == sorted_.tobytes()
    assert_equal(place.host(values), np.take_along_axis(np.arange(x.size).reshape(x.shape), expected, axis))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["size", "real, then imag falling"])
def test_sizes_on_both_sides_of_every_boundary(place: Any, rng: np.random.Generator, name: str, size: int) -> None:
    less, same, dtype = ORDERS[name]
    need(place.device, dtype)
    x = random_values(rng, dtype, size)
    check(place, x, less, order(x, same))


@pytest.mark.parametrize("name", ORDERS)
def test_orders_of_several_chunks(place: Any, rng: np.random.Generator, name: str) -> None:
    less, same, dtype = ORDERS[name]
    need(place.device, dtype)
    x = random_values(rng, dtype, 2500)
    check(place, x, less, order(x, same))


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if np.dtype(dtype).kind != "c"])
def test_every_dtype_in_both_orders(place: Any, rng: np.random.Generator, dtype: str) -> None:
    need(place.device, dtype)
    few = np.concatenate([random_values(rng, dtype, 30), np.zeros(2, dtype)])
    x = few[rng.integers(0, 32, 2500)]
    if x.dtype.kind == "f":
        x[::7] = -0.0
    for descending in (False, True):
        expected = order(x, lambda a, b: a < b, descending=descending)
        check(place, x, lambda a, b: a < b, expected, descending=descending)


@pytest.mark.parametrize(("shape", "axis"), [((37, 30), 1), ((30, 37), 0), ((2, 3001), -1), ((3000, 2), 0)])
def test_rows_along_any_axis(place: Any, rng: np.random.Generator, shape: Any, axis: int) -> None:
    x = rng.integers(-30, 30, shape).astype(np.int16)
    expected = np.moveaxis(order(np.moveaxis(x, axis, -1), lambda a, b: abs(a) < abs(b)), -1, axis)
    check(place, x, "abs(a) < abs(b)", expected, axis)


def test_data_that_are_hard(device: gpuprims.Device, rng: np.random.Generator) -> None:
    for x in tricky(rng, 5_001).values():
        got = gpuprims.sort(x, less=NAN_LAST, check=True, device=device)
        assert got.tobytes() == np.sort(x, kind="stable").tobytes()


@pytest.mark.parametrize("dtypes", [("complex128",), ("uint8", "float64"), ("float16", "complex64", "bool")])
def test_values_of_any_width(place: Any, rng: np.random.Generator, dtypes: Any) -> None:
    need(place.device, *dtypes)
    x = rng.integers(0, 9, 1500).astype(np.float32)
    values = [random_values(rng, dtype, 1500) for dtype in dtypes]
    given = [place.given(one) for one in (x, *values)]
    got = gpuprims.sort_by_key(*given, less="a % 5 < b % 5", device=place.device)
    expected = np.argsort(x % 5, kind="stable")
    for one, whole in zip(got, (x, *values), strict=True):
        assert place.host(one).tobytes() == whole[expected].tobytes()


@pytest.mark.parametrize("dtype", ["float16", "complex64", "complex128"])
def test_strided_input_and_output(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, dtype)
    x, out = random_values(rng, dtype, (40, 70))[::2, ::-3], np.zeros((20, 48), dtype)[:, ::2]
    assert gpuprims.sort(x, less=lambda a, b: b.real < a.real, out=out, device=device) is out
    assert_equal(np.ascontiguousarray(out), np.take_along_axis(x, np.argsort(-x.real, kind="stable"), 1))


def test_products_are_not_merged_with_sums(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = np.repeat(rng.standard_normal(700).astype(np.float32), 5)  # rounded once, a*a - a*a is not 0
    values = np.arange(x.size)
    _, got = gpuprims.sort_by_key(x, values, less=lambda a, b: a * a - b * b < 0, device=device)
    assert_equal(got, np.argsort(x * x, kind="stable"))


def test_captured_numbers_count_in_each_call(device: gpuprims.Device) -> None:
    x = np.arange(50, dtype=np.int32)
    for centre in (3, 40):
        expected = x[np.argsort(abs(x - centre), kind="stable")]
        got = gpuprims.sort(x, less=lambda a, b, at=centre: abs(a - at) < abs(b - at), device=device)
        assert_equal(got, expected)


def test_orders_that_are_none_end(place: Any, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, 9_000)
    for less in ("a == b", "a != b", "(a - b) % 3 == 1", "a <= b", "a + b > 7"):
        got = place.host(gpuprims.sort(place.given(x), less=less, device=place.device))
        assert np.isin(got, x).all()


LAWS: dict[str, tuple[Any, Any, str]] = {
    "not less than itself": ("a <= b", [3], "less(a, a) is False; got True, for a=3"),
    "either way": ("a != b", [3, 5], "not both True; got both, for a=3, b=5"),
    "in a circle": ("(a - b) % 3 == 1", [0, 2, 1], "give less(a, c); got the first two alone, for a=0, b=2, c=1"),
    "nearly equal": ("a + 1 < b", [0, 1, 2], "neither of a and c is; got one that is, for a=0, b=1, c=2"),
    "NaN": (
        "a < b",
        [0.5, np.nan, 1.5],
        'for a=0.5, b=nan, c=1.5 (to put NaN last: "(a < b) | (isnan(b) & ~isnan(a))")',
    ),
    "of other numbers": (lambda a, b: a * 2 != b * 2, np.float16([3, 5]), "got both, for a=3.0, b=5.0"),
}


@pytest.mark.parametrize("name", LAWS)
def test_check_names_elements_that_break_a_law(place: Any, name: str) -> None:
    less, elements, said = LAWS[name]
    x = np.asarray(elements)
    with pytest.raises(errors.LawError) as caught:
        gpuprims.sort(place.given(x), less=less, check=True, device=place.device)
    assert said in str(caught.value)


def test_check_draws_from_long_arrays(place: Any) -> None:
    x = np.arange(100_000) % 1000
    assert place.host(gpuprims.argsort(place.given(x), less="a < b", check=True, device=place.device))[1] == 1000
    with pytest.raises(errors.LawError, match=r"sort_by_key: less=: less\(a, a\) is False"):
        gpuprims.sort_by_key(place.given(x), place.given(x), less="a <= b", check=True, device=place.device)


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "key": ({"less": "a < b", "key": "-x"}, errors.ArgumentError, "sort: no key= with less=; got '-x'"),
    "segments": ({"less": "a < b", "segments": [0, 3]}, errors.ArgumentError, "sort: no segments= with less="),
    "one parameter": ({"less": "abs(a)"}, errors.ArgumentError, "a function of two elements"),
    "order of names": (
        {"less": "b > a"},
        errors.ArgumentError,
        "comes first, also in the alphabet: 'a < b'; got 'b > a'",
    ),
    "results": ({"less": lambda a, b: (a < b, b < a)}, errors.ArgumentError, r"\(a, b\) and 2 result"),
    "a number": ({"less": lambda a, b: a - b}, errors.DtypeError, "returns a bool; got one that returns float64"),
    "text": ({"less": "a <"}, errors.ExpressionError, "a <"),
    "check alone": ({"check": True}, errors.ArgumentError, "check= with less=, whose laws it tries"),
    "check of another kind": ({"less": "a < b", "check": 1}, errors.ArgumentError, "check= True or False; got 1"),
    "a variant by bits": (
        {"less": "a < b", "device": "opencl:cpu", "variant": "cpu_rows"},
        errors.NoVariantError,
        "is for the order of numbers; this call has less=",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_comparisons(name: str) -> None:
    how, raised, said = WRONG[name]
    if "device" in how and not any(one.capabilities.kind == "cpu" for one in gpuprims.devices()):
        pytest.skip("no OpenCL device for CPUs")
    with pytest.raises(raised, match=said):
        gpuprims.sort(np.ones(3), **{"device": "reference"} | how)


def test_plans_know_comparisons(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(-50, 50, 900)
    planned = gpuprims.plan("sort", x, less=lambda a, b: abs(a) < abs(b), device=device)
    assert_equal(planned(x), x[np.argsort(abs(x), kind="stable")])
