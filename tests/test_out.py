"""out=: results written where the caller says, in any layout, or a refusal in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, on_device, on_host, random_values
from numpy.lib.stride_tricks import as_strided

import gpuprims
from gpuprims.errors import ArgumentError, DeviceMismatchError, DtypeError, ShapeError

# Ways in which 40 x 30 numbers can lie that nobody may write outside of.
PLACES: dict[str, Any] = {
    "contiguous": lambda whole: whole[:40, :30],
    "every second column": lambda whole: whole[:40, 0:60:2],
    "reversed rows": lambda whole: whole[39::-1, :30],
    "reversed columns": lambda whole: whole[:40, 29::-1],
    "transposed": lambda whole: whole[:30, :40].T,
    "in the middle": lambda whole: whole[7:47, 5:35],
}


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return random_values(rng, np.float32, (40, 30))


@pytest.mark.parametrize("place", PLACES)
def test_map_writes_there_and_nowhere_else(device: gpuprims.Device, x: np.ndarray, place: str) -> None:
    whole = np.full((64, 64), np.float32(-7))
    expected = whole.copy()
    out = PLACES[place](whole)
    PLACES[place](expected)[...] = 2 * x + 1
    assert gpuprims.map("2*x + 1", x, out=out, device=device) is out
    assert_equal(whole, expected)


@pytest.mark.parametrize("place", PLACES)
def test_reduce_writes_there_and_nowhere_else(device: gpuprims.Device, rng: np.random.Generator, place: str) -> None:
    x = random_values(rng, np.int32, (40, 5, 30))
    whole = np.full((64, 64), -7, np.int64)
    expected = whole.copy()
    out = PLACES[place](whole)
    PLACES[place](expected)[...] = x.sum(axis=1)
    assert gpuprims.reduce(x, axis=1, out=out, device=device) is out
    assert_equal(whole, expected)


def test_a_fold_of_everything_goes_to_an_array_of_no_dimensions(device: gpuprims.Device, x: np.ndarray) -> None:
    out = np.empty((), np.float32)
    assert gpuprims.reduce(x, op="max", out=out, device=device) is out
    assert_equal(out, np.max(x))
    kept = np.empty((1, 1), np.float32)
    gpuprims.reduce(x, op="max", keepdims=True, out=kept, device=device)
    assert_equal(kept, np.max(x, keepdims=True))


def test_kept_axes_and_folded_axes_find_their_places(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int16, (6, 7, 8, 9))
    for axis in (0, 3, (1, 2), (0, 3), (0, 2)):
        expected = x.sum(axis=axis)
        out = np.empty(expected.shape[::-1], np.int64).T
        gpuprims.reduce(x, axis=axis, out=out, device=device)
        assert_equal(out, expected)
        kept = np.empty(x.sum(axis=axis, keepdims=True).shape, np.int64)
        gpuprims.reduce(x, axis=axis, keepdims=True, out=kept, device=device)
        assert_equal(kept, x.sum(axis=axis, keepdims=True))


def test_several_results_go_to_several_arrays(device: gpuprims.Device, x: np.ndarray) -> None:
    outs = np.empty((40, 30), np.float32), np.empty((30, 40), bool).T
    assert gpuprims.map("(x * 2, x > 0)", x, out=outs, device=device) is outs
    assert_equal(outs[0], x * 2)
    assert_equal(outs[1], x > 0)


def test_device_arrays_are_written_where_they_lie(device: gpuprims.Device, x: np.ndarray) -> None:
    given, out = on_device(device, x), on_device(device, np.zeros_like(x))
    assert gpuprims.map("x + 1", given, out=out, device=device) is out
    assert_equal(on_host(device, out), x + 1)
    rows = on_device(device, np.zeros(40, np.float32))
    gpuprims.reduce(given, op="min", axis=1, out=rows, device=device)
    assert_equal(on_host(device, rows), x.min(axis=1))


def test_an_empty_result_is_written_too(device: gpuprims.Device) -> None:
    out = np.empty((0, 3), np.float32)
    assert gpuprims.map("x + 1", np.empty((0, 3), np.float32), out=out, device=device) is out
    zeros = np.full(3, 9, np.float32)
    gpuprims.reduce(np.empty((0, 3), np.float32), axis=0, out=zeros, device=device)
    assert_equal(zeros, np.zeros(3, np.float32))


def test_neighbours_in_memory_do_not_overlap(device: gpuprims.Device) -> None:
    whole = np.arange(10, dtype=np.float32)
    gpuprims.map("x + 100", whole[:5], out=whole[5:], device=device)
    assert_equal(whole[5:], np.arange(100, 105, dtype=np.float32))


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "shape": (lambda x: np.empty((30, 40), x.dtype), ShapeError, r"result's shape, \(40, 30\); got \(30, 40\)"),
    "one dimension more": (lambda x: np.empty((1, 40, 30), x.dtype), ShapeError, "out= of the result's shape"),
    "dtype": (lambda x: np.empty(x.shape, np.float64), DtypeError, "result's dtype, float32; got float64"),
    "the input": (lambda x: x, ArgumentError, "out= apart from the arrays in memory; got one that overlaps an input"),
    "a part of the input": (lambda x: x[::-1], ArgumentError, "overlaps an input"),
    "one place for all": (lambda x: as_strided(x[0].copy(), x.shape, (0, 4)), ArgumentError, "a place for each"),
    "too many": (lambda x: (np.empty_like(x), np.empty_like(x)), ArgumentError, r"1 array\(s\), one a result; got 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_array_is_refused(device: gpuprims.Device, x: np.ndarray, case: str) -> None:
    make, error, message = WRONG[case]
    before = x.copy()
    with pytest.raises(error, match=message):
        gpuprims.map("x + 1", x, out=make(x), device=device)
    with pytest.raises(error):
        gpuprims.reduce(x[None], op="max", axis=0, out=make(x), device=device)
    assert_equal(x, before)


def test_a_read_only_array_is_refused(device: gpuprims.Device, x: np.ndarray) -> None:
    out = np.empty_like(x)
    out.flags.writeable = False
    with pytest.raises(ArgumentError, match="out= an array that can be written"):
        gpuprims.map("x + 1", x, out=out, device=device)


def test_a_list_is_no_place_to_write(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match=r"out= an array, or a tuple of arrays; got list \[0.0, 0.0\]"):
        gpuprims.map("x + 1", np.zeros(2), out=[0.0, 0.0], device=device)


def test_an_array_elsewhere_is_refused(device: gpuprims.Device, x: np.ndarray) -> None:
    if device.backend == "reference":
        pytest.skip("its arrays are host arrays")
    there = on_device(device, x)
    with pytest.raises(DeviceMismatchError, match="out= on the host, as the arrays are"):
        gpuprims.map("x + 1", x, out=there, device=device)
    with pytest.raises(DeviceMismatchError, match="got one on the host"):
        gpuprims.map("x + 1", there, out=x, device=device)
    with pytest.raises(ArgumentError, match="overlaps an input"):
        gpuprims.map("x + 1", there, out=there, device=device)
