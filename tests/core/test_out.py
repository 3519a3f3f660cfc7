"""out=: results written where the caller says, in any layout, or a refusal in a sentence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, on_device, on_host, random_values
from numpy.lib.stride_tricks import as_strided

import gpuprims
from gpuprims.core.arrays import overlap, repeats
from gpuprims.errors import (
    ArgumentError,
    BackendUnavailableError,
    DeviceError,
    DeviceMismatchError,
    DtypeError,
    ShapeError,
)

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
    "the input reversed": (lambda x: x[::-1], ArgumentError, "or one of them; got one that overlaps an input"),
    "one place for all": (lambda x: as_strided(x[0].copy(), x.shape, (0, 4)), ArgumentError, "a place for each"),
    "too many": (lambda x: (np.empty_like(x), np.empty_like(x)), ArgumentError, r"one for each result; got 2"),
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
    assert gpuprims.map("x + 1", there, out=there, device=device) is there
    assert_equal(on_host(device, there), x + 1)


# Arrays that share bytes with each other, or an array with itself.

WHOLE = 64

# From memory of 64 numbers to two places for 20 results each, and whether these have a byte in common.
PAIRS: dict[str, tuple[Any, bool]] = {
    "one array twice": (lambda whole: (whole[:20],) * 2, True),
    "two views of one array": (lambda whole: (whole[:20], whole[:20]), True),
    "in part": (lambda whole: (whole[:20], whole[10:30]), True),
    "the last element": (lambda whole: (whole[:20], whole[19:39]), True),
    "backwards": (lambda whole: (whole[:20], whole[19::-1]), True),
    "every second and every third": (lambda whole: (whole[:40:2], whole[3:63:3]), True),
    "side by side": (lambda whole: (whole[:20], whole[20:40]), False),
    "every second and the others": (lambda whole: (whole[:40:2], whole[1:40:2]), False),
    "backwards into the others": (lambda whole: (whole[:40:2], whole[39::-2]), False),
}


@pytest.mark.parametrize("on", ["host", "device"])
@pytest.mark.parametrize("pair", PAIRS)
def test_results_that_would_share_memory_are_refused(device: gpuprims.Device, pair: str, on: str) -> None:
    place, shares = PAIRS[pair]
    x = np.arange(20, dtype=np.float32)
    whole = np.full(WHOLE, np.float32(-7))
    given, memory = (x, whole) if on == "host" else (on_device(device, x), on_device(device, whole))
    outs, expected = place(memory), whole.copy()
    if shares:
        with pytest.raises(ArgumentError, match="map: out= arrays that do not overlap each other; got numbers 0 and"):
            gpuprims.map("(x + 1, 2 * x)", given, out=outs, device=device)
    else:
        gpuprims.map("(x + 1, 2 * x)", given, out=outs, device=device)
        for out, result in zip(place(expected), (x + 1, 2 * x), strict=True):
            out[...] = result
    assert_equal(memory if on == "host" else on_host(device, memory), expected)


def test_a_fold_and_a_scan_and_a_plan_refuse_them_too(device: gpuprims.Device) -> None:
    x, out = np.ones((3, 4), np.float32), np.zeros((3, 4), np.float32)
    pairs = gpuprims.Op(lambda p, q: (p[0] + q[0], p[1] + q[1]), (0, 0), commutative=True)
    with pytest.raises(ArgumentError, match="reduce: out= arrays that do not overlap"):
        gpuprims.reduce(x, x, op=pairs, axis=0, out=(out[0], out[0, ::-1]), device=device)
    with pytest.raises(ArgumentError, match="scan: out= arrays that do not overlap"):
        gpuprims.scan(x, x, op=pairs, axis=0, out=(out, out), device=device)
    planned = gpuprims.plan("map", "(x + 1, 2 * x)", x, device=device)
    with pytest.raises(ArgumentError, match="map: out= arrays that do not overlap"):
        planned(x, out=(out, out))
    assert_equal(out, np.zeros((3, 4), np.float32))


# Strides in elements, of 3 x 4 results; where they are of two bytes in common, and where they only look like it.
WALKS: dict[str, tuple[tuple[int, int], bool]] = {
    "one row for all": ((0, 1), True),
    "one column for all": ((4, 0), True),
    "windows of a row": ((1, 1), True),
    "windows that overlap by one": ((3, 1), True),
    "far from each other but for one": ((6, 2), True),
    "rows that meet after two": ((2, 4), True),
    "columns of a matrix": ((1, 3), False),
    "rows between the elements of others": ((3, 4), False),
    "columns between the elements of others": ((4, 3), False),
}


@pytest.mark.parametrize("on", ["host", "device"])
@pytest.mark.parametrize("walk", WALKS)
def test_an_array_that_overlaps_itself_is_refused(device: gpuprims.Device, walk: str, on: str) -> None:
    steps, shares = WALKS[walk]
    x, whole = np.arange(12, dtype=np.float32).reshape(3, 4), np.full(WHOLE, np.float32(-7))
    expected = whole.copy()
    given, memory = (x, whole) if on == "host" else (on_device(device, x), on_device(device, whole))
    places = {sum(i * s for i, s in zip(index, steps, strict=True)) for index in np.ndindex(3, 4)}
    assert (len(places) < 12) == shares
    out = walked(device, memory, (3, 4), steps)
    if shares:
        with pytest.raises(ArgumentError, match=r"out= an array with a place for each element; got one of shape \(3"):
            gpuprims.map("x + 1", given, out=out, device=device)
    else:
        gpuprims.map("x + 1", given, out=out, device=device)
        as_strided(expected, (3, 4), tuple(4 * step for step in steps))[...] = x + 1
    assert_equal(memory if on == "host" else on_host(device, memory), expected)


def walked(device: gpuprims.Device, memory: Any, shape: tuple[int, ...], steps: tuple[int, ...]) -> Any:
    """Return an array over the same memory, whose elements lie so many elements apart."""
    strides = tuple(4 * step for step in steps)
    if isinstance(memory, np.ndarray):
        return as_strided(memory, shape, strides)
    if device.backend == "cuda":
        import cupy

        return cupy.lib.stride_tricks.as_strided(memory, shape, strides)
    import pyopencl.array as cl_array

    return cl_array.Array(memory.queue, shape, memory.dtype, strides=strides, data=memory.base_data)


def test_what_overlaps_is_told_from_strides_as_byte_by_byte() -> None:
    rng = np.random.default_rng(20261122)
    seen = set()
    for _ in range(3000):
        first, second = (_Lying(rng) for _ in range(2))
        seen.add((shares := len(set(first.bytes)) < len(first.bytes), len(first.shape)))
        assert repeats(first) == shares, vars(first)
        both = bool(set(first.bytes) & set(second.bytes))
        assert overlap(first.span, first, second.span, second) == both, (vars(first), vars(second))
        seen.add(both)
    assert seen == {(False, 0), (False, 1), (True, 1), (False, 2), (True, 2), (False, 3), (True, 3), False, True}


class _Lying:
    """Random strides, without memory."""

    flags = SimpleNamespace(c_contiguous=False)

    def __init__(self, rng: np.random.Generator) -> None:
        count = rng.integers(0, 4)
        self.shape = tuple(int(n) for n in rng.integers(1, 5, count) * rng.choice([0, 1, 1, 1, 1], count))
        self.strides = tuple(int(n) for n in rng.integers(-14, 15, count))
        self.dtype = np.dtype(f"V{rng.choice([1, 2, 4])}")
        first = int(rng.integers(200, 250))
        self.bytes = [
            first + sum(i * s for i, s in zip(index, self.strides, strict=True)) + k
            for index in np.ndindex(*self.shape)
            for k in range(self.dtype.itemsize)
        ]
        self.span = (0, min(self.bytes, default=0), max(self.bytes, default=-1) + 1)


def test_a_part_of_a_buffer_shares_its_memory() -> None:
    cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
    import pyopencl.array as cl_array

    try:
        found = gpuprims.Device("opencl:cpu")
    except (BackendUnavailableError, DeviceError) as error:
        pytest.skip(str(error))
    queue = found.driver.queue
    align = queue.device.mem_base_addr_align // 8
    whole = cl.Buffer(found.driver.context, cl.mem_flags.READ_WRITE, 2 * align)
    x = found.asarray(np.ones(align // 4, np.float32))
    one, upper = (
        cl_array.Array(queue, x.shape, x.dtype, data=memory, offset=offset)
        for memory, offset in ((whole, 64), (whole[align : 2 * align], 0))
    )
    with pytest.raises(ArgumentError, match="out= arrays that do not overlap"):
        gpuprims.map("(x + 1, 2 * x)", x, out=(one, upper))
    with pytest.raises(ArgumentError, match="overlaps an input"):
        gpuprims.map("x + 1", one, out=upper)
    lower = cl_array.Array(queue, x.shape, x.dtype, data=whole)
    gpuprims.map("(x + 1, 2 * x)", x, out=(lower, upper))
    assert_equal(found.to_host(lower), np.full(align // 4, np.float32(2)))
