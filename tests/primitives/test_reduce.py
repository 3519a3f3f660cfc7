"""reduce: every variant of every device against NumPy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from kernel_cases import (
    AFFINE,
    DTYPES,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    Kernel,
    affine_fold,
    assert_equal,
    on_device,
    on_host,
    poison,
    random_values,
    two_groups,
)

import gpuprims

NUMPY = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "min": np.min, "max": np.max, "any": np.any, "all": np.all,
    "argmin": np.argmin, "argmax": np.argmax,
}  # fmt: skip
ROUNDING = ("sum", "prod", "mean")


def several_tiles(kernel: Kernel) -> int:
    """Return a size at which groups share an output, and the last tile is not full."""
    return 3 * kernel.variant.tile + 3 if kernel.variant.tile < 2**40 else 1003


def assert_close(got: Any, exact: Any, expected: Any, terms: int, largest: float = 1.0) -> None:
    """Hold a float result against the exact one, within what float additions of so many terms may round.

    The terms are around 1, or as large as ``largest``: where those of both signs cancel, their rounding stays.
    """
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    working = np.float32 if expected.dtype.itemsize < 4 else expected.dtype
    rounding = np.finfo(working).eps * math.log2(terms + 2) * 4 * max(largest, 1.0)
    last = np.spacing(np.abs(expected).astype(expected.dtype)).astype(np.float64)
    scale = max(1.0, math.sqrt(terms)) if terms else 1.0
    np.testing.assert_array_less(np.abs(got.astype(np.float64) - exact), rounding * scale + 4 * last)


# Sizes -------------------------------------------------------------------------------------------------------------


@pytest.mark.optimised
def test_sum_is_exact_at_every_boundary(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in reduce_kernel.boundary_sizes:
        x = random_values(rng, np.int32, size)
        assert_equal(reduce_kernel.reduce(x), np.sum(x))


@pytest.mark.optimised
def test_max_is_exact_at_every_boundary(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in reduce_kernel.boundary_sizes:
        x = -np.exp(random_values(rng, np.float32, size))  # all negative: a fold that starts at 0 shows
        assert_equal(reduce_kernel.reduce(x, op="max"), np.max(x))


def test_argmin_is_the_first_place_at_every_boundary(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in reduce_kernel.boundary_sizes:
        x = rng.integers(0, 1 + size // 10, size, dtype=np.int32)  # every value some ten times
        assert_equal(reduce_kernel.reduce(x, op="argmin"), np.argmin(x))


@pytest.mark.optimised
def test_an_operator_that_does_not_commute_folds_in_order_at_every_boundary(
    reduce_kernel: Kernel, rng: np.random.Generator
) -> None:
    for size in reduce_kernel.boundary_sizes:
        slopes, offsets = random_values(rng, np.int64, size) | 1, random_values(rng, np.int64, size)
        folded = reduce_kernel.reduce(slopes, offsets, op=AFFINE)
        for got, expected in zip(folded, affine_fold(slopes, offsets), strict=True):
            assert_equal(got, expected)


@pytest.mark.parametrize("edge", ["first", "last"])
def test_the_extreme_at_either_end_is_seen_at_every_boundary(
    reduce_kernel: Kernel, rng: np.random.Generator, edge: str
) -> None:
    for size in reduce_kernel.boundary_sizes:
        x = random_values(rng, np.float32, size)
        x[0 if edge == "first" else -1] = 100
        assert reduce_kernel.reduce(x, op="argmax") == (0 if edge == "first" else size - 1)


# Operators and dtypes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", [name for name in NUMPY if name not in ("any", "all")])
def test_operators_give_what_numpy_gives(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    x = random_values(rng, dtype, several_tiles(reduce_kernel))
    if op == "prod":  # odd integers, whose product is not 0 by wrapping, and floats whose product stays near 1
        x = x | np.array(1, dtype) if x.dtype.kind in "iub" else (1 + x / 1000).clip(0.99, 1.01).astype(dtype)
    expected = NUMPY[op](x)
    reduce_kernel.need(dtype, expected.dtype)
    got = reduce_kernel.reduce(x, op=op)
    if op in ROUNDING and expected.dtype.kind == "f":
        largest = float(np.abs(x.astype(np.float64)).max()) if x.dtype.kind in "iu" else 1.0
        assert_close(got, NUMPY[op](x.astype(np.float64)), expected, x.size, largest)
    else:
        assert_equal(got, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["any", "all"])
def test_one_element_decides_any_and_all(reduce_kernel: Kernel, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    size = several_tiles(reduce_kernel)
    for place in (None, 0, size // 2, size - 1):
        x = np.full(size, op == "all", dtype)
        if place is not None:
            x[place] = op == "any"
        assert_equal(reduce_kernel.reduce(x, op=op), NUMPY[op](x))


@pytest.mark.parametrize("op", ["any", "all"])
def test_nan_infinities_and_tiny_numbers_are_true(reduce_kernel: Kernel, op: str) -> None:
    for value in (np.nan, np.inf, 1e-30, -0.5):
        x = np.full(5, op == "all", np.float32)
        x[3] = value
        assert_equal(reduce_kernel.reduce(x, op=op), np.True_)
    assert_equal(reduce_kernel.reduce(np.float32([-0.0, 0.0]), op=op), np.False_)


def test_bools_of_other_bytes_than_0_and_1_count_once(reduce_kernel: Kernel) -> None:
    x = np.array([0, 1, 2, 255, 128], np.uint8).view(bool)
    assert_equal(reduce_kernel.reduce(x), np.int64(4))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax", "sum", "prod", "mean"])
def test_nan_propagates_from_any_place(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    size = several_tiles(reduce_kernel)
    for places in ([0], [size - 1], [size // 2, size // 2 + 1, size - 1], range(size)):
        x = (random_values(rng, dtype, size) / 1000 + 1).astype(dtype)
        x[size // 3] = np.inf
        x[list(places)] = np.nan
        assert_equal(reduce_kernel.reduce(x, op=op), NUMPY[op](x))


@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_that_equal_the_identity_are_found(reduce_kernel: Kernel, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    kind = np.dtype(dtype).kind
    limits = [-np.inf, np.inf] if kind == "f" else [False, True] if kind == "b" else None
    for limit in limits or [np.iinfo(dtype).min, np.iinfo(dtype).max]:
        x = np.full(several_tiles(reduce_kernel), limit, dtype)
        assert_equal(reduce_kernel.reduce(x, op=op), NUMPY[op](x))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy's, of inf - inf
def test_infinities_add_up_as_in_numpy(reduce_kernel: Kernel, dtype: str) -> None:
    reduce_kernel.need(dtype)
    for ends in ((np.inf, 1), (-np.inf, -np.inf), (np.inf, -np.inf)):
        x = np.ones(several_tiles(reduce_kernel) % 1000, dtype)
        x[0], x[-1] = ends
        assert_equal(reduce_kernel.reduce(x), np.sum(x))


def test_sums_of_small_integers_do_not_wrap(reduce_kernel: Kernel) -> None:
    size = several_tiles(reduce_kernel)
    assert reduce_kernel.reduce(np.full(size, 127, np.int8)) == 127 * size
    assert reduce_kernel.reduce(np.full(size, 255, np.uint8)) == 255 * size
    assert reduce_kernel.reduce(np.ones(size, bool)) == size


@pytest.mark.parametrize("op", ["sum", "prod"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_around_in_the_dtype_asked_for(
    reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str
) -> None:
    x = random_values(rng, dtype, 1001) | np.array(1, dtype)
    assert_equal(reduce_kernel.reduce(x, op=op, dtype=dtype), NUMPY[op](x, dtype=dtype))


@pytest.mark.parametrize(
    ("given", "dtype", "op"),
    [
        ("float32", "float64", "sum"),
        ("float64", "float32", "sum"),
        ("float16", "float32", "mean"),
        ("int32", "float32", "mean"),
        ("int64", "int8", "sum"),
        ("float32", "int32", "sum"),
        ("bool", "uint8", "sum"),
        ("uint8", "float64", "prod"),
    ],
)
def test_dtype_converts_the_elements_and_folds_in_it(
    reduce_kernel: Kernel, rng: np.random.Generator, given: str, dtype: str, op: str
) -> None:
    reduce_kernel.need(given, dtype)
    x = (random_values(rng, np.float32, 300) * 50 if given != "uint8" else rng.integers(1, 3, 300)).astype(given)
    expected = NUMPY[op](x, dtype=dtype)
    got = reduce_kernel.reduce(x, op=op, dtype=dtype)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-3 if got.dtype == np.float32 else 0)


def test_an_operator_written_as_a_string_folds(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.uint32, several_tiles(reduce_kernel))
    xor = gpuprims.Op("a ^ b", 0, commutative=True)
    assert_equal(reduce_kernel.reduce(x, op=xor), np.bitwise_xor.reduce(x))


def test_an_operator_that_keeps_its_first_operand_gives_the_first_element(reduce_kernel: Kernel) -> None:
    first = gpuprims.Op(lambda a, b: np.where(a != 0, a, b), 0)
    for size in reduce_kernel.boundary_sizes:
        assert reduce_kernel.reduce(np.arange(5, 5 + size, dtype=np.int64), op=first) == 5


@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_values_of_small_and_mixed_components_fold(reduce_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    both = gpuprims.Op(
        lambda p, q: (np.maximum(p[0], q[0]), p[1] + q[1], np.minimum(p[2], q[2])), (0, 0, 100), commutative=True
    )
    high, total, low = (rng.integers(0, 3, several_tiles(reduce_kernel)) for _ in range(3))
    high, low = high.astype(dtype), low.astype("uint8")
    results = reduce_kernel.reduce(high, total, low, op=both)
    assert_equal(results[0], high.max())
    assert_equal(results[1], total.sum())
    assert_equal(results[2], low.min())


# The fused map -----------------------------------------------------------------------------------------------------


def test_a_fused_map_of_two_arrays_is_a_dot_product(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    size = several_tiles(reduce_kernel)
    x, y = rng.integers(-1000, 1000, size), rng.integers(-1000, 1000, size)
    assert_equal(reduce_kernel.reduce(x, y, map="x*y"), x @ y)
    assert_equal(reduce_kernel.reduce(x, y, map=lambda x, y: x * y), x @ y)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2), (1, 2)])
def test_a_fused_map_broadcasts_its_arrays(reduce_kernel: Kernel, rng: np.random.Generator, axis: Any) -> None:
    x, y, z = (rng.integers(-99, 99, shape) for shape in ((7, 1, 300), (11, 1), (300,)))
    got = reduce_kernel.reduce(x, y, z, map="x*y - z", axis=axis)
    assert_equal(got, np.sum(x * y - z, axis=axis))


def test_a_fused_map_mixes_dtypes_and_numbers(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.uint8, (50, 40)), random_values(rng, np.int16, 40)
    got = reduce_kernel.reduce(x, y, 3, map=lambda x, y, z: np.where(y > 0, x, y) * z, op="min", axis=1)
    assert_equal(got, np.min(np.where(y > 0, x, y) * 3, axis=1))


def test_a_fused_map_finds_the_place_of_the_largest_magnitude(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, several_tiles(reduce_kernel))
    assert_equal(reduce_kernel.reduce(x, map=np.abs, op="argmax"), np.argmax(np.abs(x)))


def test_a_fused_map_that_gives_a_tuple_feeds_the_components(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int64, several_tiles(reduce_kernel))
    folded = reduce_kernel.reduce(x, map=lambda x: (2 * x + 1, x - 3), op=AFFINE)
    for got, expected in zip(folded, affine_fold(2 * x + 1, x - 3), strict=True):
        assert_equal(got, expected)


# Axes --------------------------------------------------------------------------------------------------------------


def subsets(ndim: int) -> list[tuple[int, ...]]:
    return [axes for size in range(ndim + 1) for axes in itertools.combinations(range(ndim), size)]


@pytest.mark.optimised
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(9, 20, 30), (3, 4, 5, 60), (1, 50, 1, 40)])
def test_every_subset_of_axes(
    reduce_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...], *, keepdims: bool
) -> None:
    x = random_values(rng, np.int32, shape)
    for axes in subsets(len(shape)):
        got = reduce_kernel.reduce(x, axis=axes, keepdims=keepdims)
        assert_equal(got, np.sum(x, axis=axes, keepdims=keepdims))


@pytest.mark.parametrize("axis", [-1, -3, np.int64(1), (-1, 0), (2, 0), (-2, -1)])
def test_negative_unordered_and_numpy_axes(reduce_kernel: Kernel, rng: np.random.Generator, axis: Any) -> None:
    x = random_values(rng, np.float32, (5, 60, 70))
    assert_equal(reduce_kernel.reduce(x, op="max", axis=axis), np.max(x, axis=axis))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_places_are_counted_along_the_folded_axis(reduce_kernel: Kernel, rng: np.random.Generator, axis: int) -> None:
    x = rng.integers(0, 20, (30, 40, 50), dtype=np.int8)
    for array in (x, x[::-1, :, ::-1], np.asfortranarray(x)):
        assert_equal(reduce_kernel.reduce(array, op="argmax", axis=axis), np.argmax(array, axis=axis))
        got = reduce_kernel.reduce(array, op="argmin", axis=axis, keepdims=True)
        assert_equal(got, np.argmin(array, axis=axis, keepdims=True))


def test_places_along_several_axes_are_counted_in_c_order(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.integers(0, 100, (30, 40, 50), dtype=np.int16)
    expected = x.transpose(1, 0, 2).reshape(40, -1).argmax(axis=1)
    assert_equal(reduce_kernel.reduce(x, op="argmax", axis=(0, 2)), expected)
    assert_equal(reduce_kernel.reduce(np.asfortranarray(x), op="argmax", axis=(0, 2)), expected)


@pytest.mark.optimised
@pytest.mark.parametrize("shape", [(3, 40_000), (40_000, 3), (300, 400)])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_fold_in_order(
    reduce_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, int], axis: int
) -> None:
    slopes, offsets = random_values(rng, np.int64, shape) | 1, random_values(rng, np.int64, shape)
    got = reduce_kernel.reduce(slopes, offsets, op=AFFINE, axis=axis)
    lines = zip(np.moveaxis(slopes, axis, -1)[-3:], np.moveaxis(offsets, axis, -1)[-3:], strict=True)
    expected = np.array([affine_fold(*line) for line in lines])
    assert_equal(got[0][-3:], expected[:, 0])
    assert_equal(got[1][-3:], expected[:, 1])
    assert got[0].shape == (shape[1 - axis],)


def test_several_axes_fold_in_c_order_whatever_the_layout(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    slopes, offsets = (random_values(rng, np.int64, (30, 4, 50)) | 1 for _ in range(2))
    rows = [affine_fold(slopes[:, k].ravel(), offsets[:, k].ravel()) for k in range(4)]
    for arrays in ((slopes, offsets), (np.asfortranarray(slopes), offsets)):
        got = reduce_kernel.reduce(*arrays, op=AFFINE, axis=(2, 0))
        assert_equal(np.stack(got, axis=1), np.array(rows))


@pytest.mark.optimised
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [1, 3, 37])
def test_more_than_65535_outputs(reduce_kernel: Kernel, rng: np.random.Generator, length: int, axis: int) -> None:
    shape = (70_001, length) if axis == 1 else (length, 70_001)
    x = random_values(rng, np.int16, shape)
    assert_equal(reduce_kernel.reduce(x, axis=axis), np.sum(x, axis=axis))
    assert_equal(reduce_kernel.reduce(x, op="argmax", axis=axis), np.argmax(x, axis=axis))


def test_few_long_outputs_are_shared_among_groups(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    for outputs in (1, 2, 3, 7):
        x = random_values(rng, np.int32, (several_tiles(reduce_kernel), outputs))
        assert_equal(reduce_kernel.reduce(x, axis=0), np.sum(x, axis=0))
        assert_equal(reduce_kernel.reduce(x.T, axis=1, op="max"), np.max(x.T, axis=1))
        assert_equal(reduce_kernel.reduce(np.ascontiguousarray(x.T), axis=1), np.sum(x.T, axis=1))


def test_groups_take_several_tasks(
    reduce_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reduce_kernel.device.backend == "reference":
        pytest.skip("the reference device has no groups")
    x = random_values(rng, np.int16, (501, 307))
    with two_groups(reduce_kernel.device, monkeypatch):
        got = [reduce_kernel.reduce(x, op=op, axis=1) for op in ("max", "argmax")]
    assert_equal(got[0], np.max(x, axis=1))
    assert_equal(got[1], np.argmax(x, axis=1))


# Nothing, one, and what is not an array ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "axis"), [((0,), None), ((0, 3), 0), ((0, 3), 1), ((0, 3), None), ((2, 0, 3), (1, 2)), ((0, 0), 0)]
)
@pytest.mark.parametrize("op", ["sum", "prod", "any", "all"])
def test_nothing_folds_to_the_identity(reduce_kernel: Kernel, op: str, shape: Any, axis: Any) -> None:
    poison(reduce_kernel.device)
    x = np.empty(shape, np.float32)
    for keepdims in (False, True):
        got = reduce_kernel.reduce(x, op=op, axis=axis, keepdims=keepdims)
        assert_equal(got, NUMPY[op](x, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
def test_nothing_has_no_extreme(reduce_kernel: Kernel, op: str) -> None:
    for shape, axis in (((0,), None), ((3, 0), 1), ((3, 0), None)):
        with pytest.raises(gpuprims.errors.EmptyReductionError):
            reduce_kernel.reduce(np.empty(shape), op=op, axis=axis)
    assert_equal(reduce_kernel.reduce(np.empty((3, 0), np.float32), op="max", axis=0), np.empty(0, np.float32))


def test_the_mean_of_nothing_is_nan(reduce_kernel: Kernel) -> None:
    assert_equal(reduce_kernel.reduce(np.empty((0, 2), np.float32), op="mean", axis=0), np.float32([np.nan, np.nan]))


def test_nothing_folds_to_the_identity_of_a_user_operator(reduce_kernel: Kernel) -> None:
    x = np.empty((0, 2), np.int64)
    slopes, offsets = reduce_kernel.reduce(x, x, op=AFFINE, axis=0)
    assert_equal(slopes, np.int64([1, 1]))
    assert_equal(offsets, np.int64([0, 0]))


@pytest.mark.parametrize("op", list(NUMPY))
def test_0d_arrays_lists_and_numbers(reduce_kernel: Kernel, op: str) -> None:
    for x in (np.array(7, np.int16), [3, 1, 2], [[True, False]], 5, np.float32(2.5), (1, 2)):
        expected = NUMPY[op](x)
        reduce_kernel.need(np.asarray(x).dtype, expected.dtype)
        assert_equal(reduce_kernel.reduce(x, op=op), expected)


def test_a_full_reduction_gives_a_numpy_scalar(reduce_kernel: Kernel) -> None:
    assert type(reduce_kernel.reduce(np.arange(9, dtype=np.float32))) is np.float32
    assert type(reduce_kernel.reduce(np.arange(9), op="argmax")) is np.int64
    assert isinstance(reduce_kernel.reduce(np.arange(9), keepdims=True), np.ndarray)


# Layouts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_elements_are_found_wherever_they_lie(reduce_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    reduce_kernel.need(np.float64)
    x = LAYOUTS[layout](rng)
    before = x.copy()
    for axis in (None, 0, 1):
        assert_equal(reduce_kernel.reduce(x, op="max", axis=axis), np.max(before, axis=axis))
        assert_equal(reduce_kernel.reduce(x, op="argmin", axis=axis), np.argmin(before, axis=axis))
    np.testing.assert_array_equal(x, before)  # and they are still there


def test_arrays_of_different_layouts_meet(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, (60, 70))
    arrays = [x, np.asfortranarray(x), x[::-1, ::-1], np.broadcast_to(x[0], x.shape)]
    for a, b in itertools.permutations(arrays, 2):
        assert_equal(reduce_kernel.reduce(a, b, map="a - 2*b", axis=1), np.sum(a - 2 * b, axis=1, dtype=np.int64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_start_inside_another_array(reduce_kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    reduce_kernel.need(dtype)
    x = random_values(rng, dtype, 4200)
    for start in range(9):
        assert_equal(reduce_kernel.reduce(x[start:4111], op="max"), np.max(x[start:4111]))


# Floats ------------------------------------------------------------------------------------------------------------


def test_a_float_sum_has_the_same_bits_in_every_run(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    if reduce_kernel.variant.accumulates:
        pytest.skip("folds groups in the order in which they are done, as its entry says")
    x = random_values(rng, np.float32, reduce_kernel.striding_size)
    first = reduce_kernel.reduce(x)
    poison(reduce_kernel.device)
    assert all(reduce_kernel.reduce(array).tobytes() == first.tobytes() for array in (x, x, x.copy(), x.copy()))


@pytest.mark.optimised
def test_a_float32_sum_is_as_accurate_as_numpys(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    magnitudes = 10.0 ** rng.uniform(-6, 6, 2**22)
    x = (magnitudes * rng.choice([-1, 1], magnitudes.size)).astype(np.float32)
    exact = math.fsum(x)
    orders = [rng.permutation(x) for _ in range(4)]
    errors = [float(reduce_kernel.reduce(order)) - exact for order in orders]
    numpys = [float(np.sum(order)) - exact for order in orders]
    few = 4 * float(np.spacing(np.float32(abs(exact))))
    times = 8 if reduce_kernel.variant.accumulates else 2  # which folds the groups one after the other
    assert math.hypot(*errors) <= times * math.hypot(*numpys) + few


def test_a_float32_sum_of_positive_numbers_is_as_accurate_as_numpys(
    reduce_kernel: Kernel, rng: np.random.Generator
) -> None:
    x = rng.random(2**22, np.float32)
    exact = math.fsum(x)
    few = 4 * float(np.spacing(np.float32(exact)))
    if reduce_kernel.variant.accumulates:  # which folds the groups one after the other
        few *= 8
    assert abs(float(reduce_kernel.reduce(x)) - exact) <= 2 * abs(float(np.sum(x)) - exact) + few


def test_a_float32_sum_along_columns_is_as_accurate_as_numpys(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = (rng.random((2**18, 4)) * 10.0 ** rng.uniform(-3, 3, (2**18, 1))).astype(np.float32)
    exact = np.array([math.fsum(column) for column in x.T])
    errors = np.abs(reduce_kernel.reduce(x, axis=0).astype(np.float64) - exact)
    pairwise = np.abs(np.sum(np.ascontiguousarray(x.T), axis=1).astype(np.float64) - exact)
    np.testing.assert_array_less(errors, 2 * pairwise.max() + 4 * np.spacing(exact.astype(np.float32)))


# Memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.optimised
@pytest.mark.parametrize("shape", [(50_000,), (50_000, 3), (3, 50_000)])
def test_no_result_or_partial_value_is_left_unwritten(
    reduce_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...]
) -> None:
    device = reduce_kernel.device
    x = random_values(rng, np.float32, shape)
    resident = on_device(device, x)
    for axis in (None, 0):
        poison(device)
        assert_equal(reduce_kernel.reduce(x, op="max", axis=axis), np.max(x, axis=axis))
        poison(device)
        got = on_host(device, reduce_kernel.reduce(resident, op="max", axis=axis))
        assert_equal(got, np.max(x, axis=axis))


def test_calls_that_follow_each_other_on_the_device_do_not_meet(
    reduce_kernel: Kernel, rng: np.random.Generator
) -> None:
    device = reduce_kernel.device
    arrays = [random_values(rng, np.int32, several_tiles(reduce_kernel)) for _ in range(20)]
    residents = [on_device(device, array) for array in arrays]
    results = [reduce_kernel.reduce(resident) for resident in residents]  # none is waited for
    for array, result in zip(arrays, results, strict=True):
        assert_equal(on_host(device, result), np.sum(array))
