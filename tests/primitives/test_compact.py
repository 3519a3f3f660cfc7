"""compact: the elements that a mask keeps, by every variant, against NumPy's own x[mask]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import (
    COMPLEX,
    DTYPES,
    LAYOUTS,
    Kernel,
    assert_equal,
    need,
    on_device,
    on_host,
    poison,
    random_values,
)

import gpuprims
from gpuprims.core.operands import as_operands
from gpuprims.errors import ArgumentError, ArrayError, DeviceMismatchError, DtypeError, ExpressionError, ShapeError
from gpuprims.primitives.compact.nonzero import places_of

SIZES = [0, 1, 2, 3, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097, 16_383, 16_384, 16_385, 100_003]


@pytest.fixture
def kernel(flat_scan_kernel: Kernel) -> Kernel:
    """Each variant of scan on each device that it is meant for."""
    return flat_scan_kernel


def compact(kernel: Kernel, x: Any, mask: Any) -> Any:
    return gpuprims.compact(x, mask, device=kernel.device, variant=kernel.variant.name)


# Sizes and shares kept ---------------------------------------------------------------------------------------------


@pytest.mark.optimised
def test_every_size_around_tiles(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in [*SIZES, *kernel.boundary_sizes]:
        poison(kernel.device) if size < 5 else None
        x, mask = random_values(rng, np.float32, size), rng.random(size) < 0.5
        assert_equal(compact(kernel, x, mask), x[mask])


@pytest.mark.parametrize("share", [0.0001, 0.03, 0.5, 0.97, 0.9999])
def test_few_and_most_of_the_elements(kernel: Kernel, rng: np.random.Generator, share: float) -> None:
    x, mask = random_values(rng, np.int32, 100_003), rng.random(100_003) < share
    assert_equal(compact(kernel, x, mask), x[mask])


def test_shares_that_change_from_tile_to_tile(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 100_003)
    for run in (700, 5000, 20_000):
        mask = rng.random(x.size) < np.where(np.arange(x.size) // run % 2, 0.02, 0.97)
        assert_equal(compact(kernel, x, mask), x[mask])


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float64"])
def test_every_second_element(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    for size in (1, 15, 17, 511, 8192, 8193):
        x, mask = random_values(rng, dtype, 2 * size), rng.random(2 * size) < 0.4
        for own, kept in ((x[::2], mask[::2]), (x[1::2], mask[:size]), (x[:size], mask[::2]), (x[:-1:2], mask[size:])):
            assert_equal(compact(kernel, own, kept), own[kept])


@pytest.mark.parametrize("dtype", ["bool", "float32", "float64", "complex64", "int16"])
def test_places_of_elements(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    need(kernel.device, dtype)
    for size in (1, 300, *kernel.boundary_sizes, 70_001):
        x = (rng.random(size) < 0.4).astype(dtype)
        for given in (x, x[::-1]):
            operands = as_operands("nonzero", (given,), kernel.device)
            for counted in (np.int64, np.int32):
                got = places_of(operands, given, np.dtype(counted), kernel.variant.name)
                assert_equal(got, np.flatnonzero(given).astype(counted))


@pytest.mark.parametrize("size", [0, 1, 4096, 100_003])
def test_nothing_is_kept(kernel: Kernel, rng: np.random.Generator, size: int) -> None:
    x = random_values(rng, np.float32, size)
    assert_equal(compact(kernel, x, np.zeros(size, bool)), x[:0])
    assert_equal(compact(kernel, x, "x > 100"), x[:0])


@pytest.mark.parametrize("size", [1, 4096, 100_003])
def test_everything_is_kept(kernel: Kernel, rng: np.random.Generator, size: int) -> None:
    x = random_values(rng, np.float32, size)
    assert_equal(compact(kernel, x, np.ones(size, bool)), x)
    assert_equal(compact(kernel, x, "x < 100"), x)


@pytest.mark.parametrize("place", [0, 50_001, -1])
def test_one_element_is_kept(kernel: Kernel, rng: np.random.Generator, place: int) -> None:
    for size in (100_003, 2 * 4096 if abs(place) < 2 else 100_003):
        x, mask = random_values(rng, np.int16, size), np.zeros(size, bool)
        mask[place] = True
        assert_equal(compact(kernel, x, mask), x[mask])


def test_kept_elements_and_others_in_long_runs(kernel: Kernel, rng: np.random.Generator) -> None:
    mask = np.repeat(rng.random(2000) < 0.5, rng.integers(1, 300, 2000))
    x = random_values(rng, np.int64, mask.size)
    assert_equal(compact(kernel, x, mask), x[mask])


# Dtypes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX])
def test_every_dtype(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    need(kernel.device, dtype)
    x, mask = random_values(rng, dtype, 9001), rng.random(9001) < 0.4
    assert_equal(compact(kernel, x, mask), x[mask])


def test_bits_of_floats_stay_as_they_are(kernel: Kernel, rng: np.random.Generator) -> None:
    words = rng.integers(0, 2**32, 9001, dtype=np.uint32)
    numbers = words[~np.isnan(words.view(np.float32))]  # a number that is none may change its bits in a register
    x = numbers.view(np.float32)
    mask = rng.random(x.size) < 0.5
    assert compact(kernel, x, mask).tobytes() == x[mask].tobytes()


def test_not_a_number_is_kept_like_any_other(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 9001)
    x[rng.integers(0, 9001, 500)] = np.nan
    mask = rng.random(9001) < 0.5
    assert_equal(compact(kernel, x, mask), x[mask])
    assert_equal(compact(kernel, x, "x == x"), x[~np.isnan(x)])


# Masks and predicates ----------------------------------------------------------------------------------------------


def test_a_mask_may_be_a_function(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 20_011)
    expected = x[(x > 0) & (x * x < 2)]
    assert_equal(compact(kernel, x, "(x > 0) & (x*x < 2)"), expected)
    assert_equal(compact(kernel, x, lambda x: (x > 0) & (x * x < 2)), expected)


def test_a_predicate_that_gives_numbers_keeps_those_that_are_not_0(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int8, 20_011)
    assert_equal(compact(kernel, x, "x % 3"), x[x % 3 != 0])
    floats = x.astype(np.float32)
    assert_equal(compact(kernel, floats, lambda x: x - 1), floats[floats != 1])


def test_an_array_may_be_its_own_mask(kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.random(9001) < 0.3
    assert_equal(compact(kernel, x, x), x[x])
    assert_equal(compact(kernel, x, "x"), x[x])


def test_a_predicate_of_complex_numbers(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.complex64, 9001)
    assert_equal(compact(kernel, x, "real(x) > imag(x)"), x[x.real > x.imag])


# Shapes and layouts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(70, 300), (3, 5000), (5000, 3), (7, 1, 40, 11), (1, 1), (0, 3), (3, 0)])
def test_arrays_of_several_dimensions_are_taken_in_c_order(
    kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...]
) -> None:
    x, mask = random_values(rng, np.int32, shape), rng.random(shape) < 0.5
    assert_equal(compact(kernel, x, mask), x[mask])


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_elements_are_found_wherever_they_lie(kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    need(kernel.device, np.float64)
    x = LAYOUTS[layout](rng)
    mask = rng.random(x.shape) < 0.5
    expected = x[mask].astype(x.dtype.newbyteorder("="))
    assert_equal(compact(kernel, x, mask), expected)
    assert_equal(compact(kernel, x, "x > 0"), x[x > 0].astype(expected.dtype))


def test_a_mask_may_lie_otherwise_than_the_array(kernel: Kernel, rng: np.random.Generator) -> None:
    x, mask = random_values(rng, np.int32, (120, 90)), rng.random((120, 90)) < 0.5
    wide = rng.random((240, 270)) < 0.5
    rows, one, none = mask[0], np.broadcast_to(True, x.shape), np.broadcast_to(False, x.shape)
    masks = [np.asfortranarray(mask), mask[::-1, ::-1], wide[::2, ::3], np.broadcast_to(rows, x.shape), one, none]
    masks.append(np.broadcast_to(mask[:, :1], x.shape))
    for array in (x, np.asfortranarray(x), x[::-1], x[:, ::-1]):
        for one_mask in masks:
            assert_equal(compact(kernel, array, one_mask), array[one_mask])


@pytest.mark.parametrize("truth", [True, False])
def test_a_number_is_an_array_of_one_element(kernel: Kernel, *, truth: bool) -> None:
    for x in (np.float32(2.5), np.array(7, np.int16), np.complex64(1 + 2j)):
        expected = np.asarray(x)[np.asarray(truth)]
        assert_equal(compact(kernel, x, truth), expected)
        assert_equal(compact(kernel, x, np.bool_(truth)), expected)
        assert_equal(compact(kernel, x, "x != 0" if truth else "x == 0"), expected)


def test_lists_are_arrays(kernel: Kernel) -> None:
    got = compact(kernel, [[3, 1], [4, 1]], [[True, False], [True, True]])
    assert_equal(got, np.array([3, 4, 1]))


# Device arrays -----------------------------------------------------------------------------------------------------


def test_device_arrays_give_a_device_array(kernel: Kernel, rng: np.random.Generator) -> None:
    device = kernel.device
    for size in (1, 9001):
        x, mask = random_values(rng, np.int64, size), rng.random(size) < 0.5
        resident, beside = on_device(device, x), on_device(device, mask)
        got = compact(kernel, resident, beside)
        assert type(got) is type(resident)
        assert_equal(on_host(device, got), x[mask])
        assert_equal(on_host(device, compact(kernel, resident, "x > 0")), x[x > 0])


def test_nothing_on_the_device_gives_nothing_on_the_device(kernel: Kernel) -> None:
    nothing = kernel.device.driver.empty((0,), np.dtype(np.int32))
    got = compact(kernel, nothing, "x > 0")
    assert type(got) is type(nothing)
    assert_equal(on_host(kernel.device, got), np.empty(0, np.int32))


def test_a_part_of_a_device_array(kernel: Kernel, rng: np.random.Generator) -> None:
    device = kernel.device
    x, mask = random_values(rng, np.int32, 9001), rng.random(9001) < 0.5
    got = compact(kernel, on_device(device, x)[13:8000:3], on_device(device, mask)[5:2668])
    assert_equal(on_host(device, got), x[13:8000:3][mask[5:2668]])


def test_what_is_kept_can_go_on(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int64, 50_001)
    kept = gpuprims.compact(on_device(device, x), "x > 0")
    again = gpuprims.compact(kept, "x % 2 == 0")
    expected = x[(x > 0) & (x % 2 == 0)]
    assert_equal(on_host(device, again), expected)
    assert_equal(on_host(device, gpuprims.scan(again)), np.cumsum(expected))
    assert int(on_host(device, gpuprims.reduce(again))) == int(expected.sum())


def test_a_mask_lies_where_the_array_does(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("whose arrays are the host's")
    with pytest.raises(DeviceMismatchError, match=r"^compact: arrays on one device; got "):
        gpuprims.compact(on_device(device, np.arange(3)), np.ones(3, bool))


def test_the_arrays_are_still_there(kernel: Kernel, rng: np.random.Generator) -> None:
    x, mask = random_values(rng, np.int32, 9001), rng.random(9001) < 0.5
    before = x.copy(), mask.copy()
    compact(kernel, x, mask)
    assert_equal(x, before[0])
    assert_equal(mask, before[1])


def test_a_result_is_an_array_of_its_own(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, 9001)
    first = compact(kernel, x, "x > 0")
    second = compact(kernel, x, "x <= 0")
    assert_equal(first, x[x > 0])
    assert_equal(second, x[x <= 0])
    assert first.flags.writeable


def test_the_same_call_on_other_values_keeps_others(kernel: Kernel, rng: np.random.Generator) -> None:
    for _ in range(20):
        x, mask = random_values(rng, np.int32, 9001), rng.random(9001) < rng.random()
        assert_equal(compact(kernel, x, mask), x[mask])


# Bad input ---------------------------------------------------------------------------------------------------------

X = np.arange(6, dtype=np.float32).reshape(2, 3)

BAD = {
    "ints": (X, np.ones((2, 3), np.int8), DtypeError, r"a mask of dtype bool, or a function; got int8"),
    "floats": (X, X, DtypeError, r"a mask of dtype bool, or a function; got float32"),
    "of another shape": (X, np.ones(6, bool), ShapeError, r"a mask of the array's shape, \(2, 3\); got \(6,\)"),
    "that would broadcast": (X, np.ones(3, bool), ShapeError, r"a mask of the array's shape, \(2, 3\); got \(3,\)"),
    "of one truth": (X, True, ShapeError, r"a mask of the array's shape, \(2, 3\); got \(\)"),
    "of two parameters": (X, lambda x, y: x > y, (ExpressionError, ArgumentError), r"; got .*"),
    "a string of two parameters": (X, "x > y", (ExpressionError, ArgumentError), r"; got 'x > y'"),
    "two truths": (X, lambda x: (x > 0, x < 3), ExpressionError, r"from one element to one truth; got "),
    "a string of two truths": (X, "(x > 0, x < 3)", ExpressionError, r"one truth; got '\(x > 0, x < 3\)'"),
    "strings for an array": (["a", "b"], [True, False], DtypeError, "; got .*<U1"),
    "ragged": ([[1, 2], [3]], [True, False], ArrayError, "; got .*"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_what_is_no_mask_is_named(device: gpuprims.Device, name: str) -> None:
    x, mask, error, said = BAD[name]
    with pytest.raises(error, match=f"^compact: .*{said}"):
        gpuprims.compact(x, mask, device=device)
