"""map: every variant of every device against NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from kernel_cases import DTYPES, LAYOUTS, Kernel, assert_equal, on_device, on_host, poison, random_values, two_groups

import gpuprims


@pytest.mark.optimised
def test_every_element_at_every_boundary(map_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in map_kernel.boundary_sizes:
        x = random_values(rng, np.float32, size)
        poison(map_kernel.device)
        assert_equal(map_kernel.map("2*x + 1", x), 2 * x + 1)


def test_subnormal_floats_are_not_taken_for_zero(map_kernel: Kernel) -> None:
    tiny = np.finfo(np.float32).tiny
    x = np.float32([tiny, -tiny, tiny / 4, -tiny / 1024, np.finfo(np.float32).smallest_subnormal])
    for function in (lambda x: x * np.float32(0.5), lambda x: x + x, lambda x: x > 0, lambda x: np.maximum(x, -x)):
        assert_equal(map_kernel.map(function, x), function(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(map_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    map_kernel.need(dtype)
    x, y = random_values(rng, dtype, 5000), random_values(rng, dtype, 5000)

    def function(x: Any, y: Any) -> tuple[Any, Any, Any, Any]:
        return x + y, x * y, np.maximum(x, y), x > y

    for got, expected in zip(map_kernel.map(function, x, y), function(x, y), strict=True):
        assert_equal(got, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_and_infinities_pass_through(map_kernel: Kernel, dtype: str) -> None:
    map_kernel.need(dtype)
    special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)
    x, y = (array.ravel() for array in np.meshgrid(special, special))
    got = map_kernel.map(lambda x, y: (np.maximum(x, y), np.minimum(x, y), x == y, x < y), x, y)
    expected = np.maximum(x, y), np.minimum(x, y), x == y, x < y
    for one, other in zip(got, expected, strict=True):
        assert_equal(one, other)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("int8", "uint8"),
        ("int32", "float32"),
        ("int64", "uint64"),
        ("bool", "int8"),
        ("float16", "int8"),
        ("float16", "float32"),
        ("uint16", "int16"),
    ],
)
def test_mixed_dtypes_are_promoted_as_numpy_promotes(
    map_kernel: Kernel, rng: np.random.Generator, first: str, second: str
) -> None:
    x, y = random_values(rng, first, 500), random_values(rng, second, 500)
    map_kernel.need((x + y).dtype)
    assert_equal(map_kernel.map("x + y", x, y), x + y)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "int64"])
def test_python_numbers_take_the_dtype_of_their_company(
    map_kernel: Kernel, rng: np.random.Generator, dtype: str
) -> None:
    x = random_values(rng, dtype, 100)
    assert_equal(map_kernel.map("x * y", x, 3), x * 3)
    assert_equal(map_kernel.map("x * 3", x), x * 3)
    map_kernel.need((x * np.float64(2)).dtype)
    assert_equal(map_kernel.map("x * y", x, np.float64(2)), x * np.float64(2))


def test_groups_take_several_tiles(
    map_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if map_kernel.device.backend == "reference":
        pytest.skip("the reference device has no groups")
    x = random_values(rng, np.int16, 13 * map_kernel.variant.tile + 5)  # work-items take up to 16
    with two_groups(map_kernel.device, monkeypatch):
        got = map_kernel.map("x ^ (3*x)", x)
    assert_equal(got, x ^ (3 * x))


# Arguments and results ---------------------------------------------------------------------------------------------


def test_a_tuple_gives_several_results(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.float32, 4111), random_values(rng, np.int32, 4111)
    got = map_kernel.map(lambda x, y: (x + 1, y > 0, y.astype(np.int8), x), x, y)
    assert isinstance(got, tuple)
    for one, expected in zip(got, (x + 1, y > 0, y.astype(np.int8), x), strict=True):
        assert_equal(one, expected)
    (alone,) = map_kernel.map("(x,)", x)
    assert_equal(alone, x)


def test_a_strings_names_are_bound_in_order_of_appearance(map_kernel: Kernel) -> None:
    a, b = np.arange(5), np.arange(5) * 100
    assert_equal(map_kernel.map("2*x + y", a, b), 2 * a + b)
    assert_equal(map_kernel.map("2*y + x", a, b), 2 * a + b)


def test_keywords_bind_by_name(map_kernel: Kernel) -> None:
    a, b = np.arange(5), np.arange(5) * 100
    assert_equal(map_kernel.map("2*x + y", x=a, y=b), 2 * a + b)
    assert_equal(map_kernel.map("2*x + y", y=b, x=a), 2 * a + b)
    assert_equal(map_kernel.map("2*x + y", b, x=a), 2 * a + b)
    assert_equal(map_kernel.map(lambda x, y: 2 * x + y, a, y=b), 2 * a + b)


def test_numpy_functions_are_functions(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.float32, 300), random_values(rng, np.float32, 300)
    assert_equal(map_kernel.map(np.abs, x), np.abs(x))
    assert_equal(map_kernel.map(np.maximum, x, y), np.maximum(x, y))


@pytest.mark.parametrize(
    "shapes",
    [
        [(5, 1, 70), (30, 1)],
        [(200,), (40, 200)],
        [(40, 1), (1, 200), ()],
        [(2, 3, 4, 50), (4, 1), (3, 1, 1), (50,)],
        [(1,), (1, 1)],
    ],
)
def test_arrays_broadcast_together(map_kernel: Kernel, rng: np.random.Generator, shapes: Any) -> None:
    arrays = [random_values(rng, np.int32, shape) for shape in shapes]
    names = [f"v{k}" for k in range(len(shapes))]
    got = map_kernel.map(" - ".join(names), *arrays)
    expected = arrays[0]
    for array in arrays[1:]:
        expected = expected - array
    assert_equal(got, expected)


def test_results_lie_in_the_order_of_numpys(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x = np.asfortranarray(random_values(rng, np.int32, (30, 40)))
    for array in (x, x.T, x[::-1], x[:, ::3]):
        got = map_kernel.map("x + 1", array)
        assert_equal(got, array + 1)
        if map_kernel.device.driver.shares_host_memory:  # other devices get a copy in C order
            assert got.strides == (array + 1).strides


def test_0d_results_are_numpy_scalars(map_kernel: Kernel) -> None:
    for x in (np.float32(3), np.array(3, np.float32)):
        got = map_kernel.map("x + 1", x)
        assert type(got) is np.float32
        assert got == 4
    both = map_kernel.map("(x + 1, x > 2)", np.float32(3))
    assert [type(value) for value in both] == [np.float32, np.bool_]


@pytest.mark.parametrize("x", [5, 2.5, True, [1, 2, 3], [[1.5], [2.5]], (1, 2)])
def test_lists_and_numbers_are_arrays(map_kernel: Kernel, x: Any) -> None:
    expected = np.asarray(x) * 2
    map_kernel.need(expected.dtype)
    assert_equal(map_kernel.map("x * 2", x), expected)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_nothing_maps_to_nothing(map_kernel: Kernel, shape: tuple[int, ...]) -> None:
    x = np.empty(shape, np.float32)
    first, second = map_kernel.map("(x + 1, x > 1)", x)
    assert_equal(first, x + 1)
    assert_equal(second, x > 1)


def test_nothing_broadcasts(map_kernel: Kernel) -> None:
    x, y = np.empty((0, 3), np.int32), np.ones((1, 3), np.int32)
    assert_equal(map_kernel.map("x + y", x, y), x + y)


# Layouts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_elements_are_found_wherever_they_lie(map_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    map_kernel.need(np.float64)
    x = LAYOUTS[layout](rng)
    before = x.astype(np.float64)
    assert_equal(map_kernel.map("2*x", x), 2 * before)
    np.testing.assert_array_equal(x, before)  # and they are still there


def test_arrays_of_different_layouts_meet(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, (60, 70))
    arrays = [x, np.asfortranarray(x), x[::-1, ::-1], np.broadcast_to(x[0], x.shape), x.astype(">i4")]
    for a, b in itertools.permutations(arrays, 2):
        assert_equal(map_kernel.map("a - 2*b", a, b), np.asarray(a - 2 * b, np.int32))


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_start_inside_another_array(map_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    map_kernel.need(dtype)
    x = random_values(rng, dtype, 4200)
    for start in range(9):
        part = x[start:4111]
        assert_equal(map_kernel.map("where(x == x, x, x)", part), part)


def test_five_axes_that_do_not_merge(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, (4, 6, 8, 10, 12))[::2, ::3, ::2, ::5, ::4].transpose(4, 0, 3, 1, 2)
    assert_equal(map_kernel.map("x + 1", x), x + 1)


# Memory ------------------------------------------------------------------------------------------------------------


def test_every_result_is_written_whole(map_kernel: Kernel, rng: np.random.Generator) -> None:
    device = map_kernel.device
    x = random_values(rng, np.float32, 70_001)
    resident = on_device(device, x)
    for _ in range(3):
        poison(device)
        for got, expected in zip(map_kernel.map("(x + 1, x > 0)", resident), (x + 1, x > 0), strict=True):
            assert_equal(on_host(device, got), expected)
        poison(device)
        for got, expected in zip(map_kernel.map("(x + 1, x > 0)", x), (x + 1, x > 0), strict=True):
            assert_equal(got, expected)


def test_calls_chain_on_the_device_without_waiting(map_kernel: Kernel, rng: np.random.Generator) -> None:
    device = map_kernel.device
    x = random_values(rng, np.int64, 100_003)
    value, expected = on_device(device, x), x
    for step in range(30):
        value, expected = map_kernel.map("x*3 + y", value, step), expected * 3 + step
    assert_equal(on_host(device, value), expected)


def test_the_input_may_be_given_twice(map_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, 5000)
    assert_equal(map_kernel.map("x - 2*y", x, x), x - 2 * x)
    assert_equal(map_kernel.map("x - 2*y", x[1:], x[:-1]), x[1:] - 2 * x[:-1])


def test_the_best_able_variant_is_the_default(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 1000)
    assert_equal(gpuprims.map("x*x", x, device=device), x * x)
