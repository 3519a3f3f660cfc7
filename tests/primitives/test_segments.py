"""segments=: scans and reductions of runs of elements, by every variant of either, against a loop over the runs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from kernel_cases import (
    AFFINE,
    Kernel,
    assert_equal,
    need,
    on_device,
    on_host,
    poison,
    random_values,
    two_groups,
)

import gpuprims
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError, AxisError, DtypeError, EmptyReductionError, NoVariantError, ShapeError

LARGEST_TILE = 2**15

ACCUMULATE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sum": np.cumsum,
    "prod": np.cumprod,
    "min": np.minimum.accumulate,
    "max": np.maximum.accumulate,
    "any": lambda x: np.logical_or.accumulate(x != 0),
    "all": lambda x: np.logical_and.accumulate(x != 0),
}


@pytest.fixture
def kernel(segments_kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Each variant of scan, and of folds of segments alone, on each device that it is meant for.

    Those for many short segments are to be right with others too, and do not refuse them here.
    """
    variant = segments_kernel.variant
    if variant.name != "lanes":
        return segments_kernel
    unlimited = dataclasses.replace(variant, refuse=lambda *_: None)
    monkeypatch.setitem(REGISTRY._variants[variant.backend, "segments"], variant.name, unlimited)
    return dataclasses.replace(segments_kernel, variant=unlimited)


def scan(kernel: Kernel, *arrays: Any, **keywords: Any) -> Any:
    """Scan, by the best variant where the kernel folds alone."""
    variant = kernel.variant.name if kernel.variant.primitive == "scan" else None
    return gpuprims.scan(*arrays, device=kernel.device, variant=variant, **keywords)


def size_of_several_tiles(kernel: Kernel) -> int:
    """Return a size at which segments cross tiles, and the last tile is not full."""
    tile = kernel.variant.tile
    return 3 * tile + 3 if tile < LARGEST_TILE else 5003


def randomly(rng: np.random.Generator, size: int) -> np.ndarray:
    """Divide elements at random places, some of them equal, with empty segments at the start and the end."""
    inner = np.sort(rng.integers(0, size + 1, rng.integers(3, 40)))
    again = np.sort(np.concatenate([inner, inner[::3]]))
    return np.concatenate([[0, 0], again, [size, size, size]])


def around_tiles(rng: np.random.Generator, size: int) -> np.ndarray:
    """Divide just before, at and after every 1024th element, at which tiles of all kernels begin."""
    near = np.arange(0, size, 1024)[:, None] + [-1, 0, 1]
    return np.concatenate([[0], near[(near > 0) & (near < size)], [size]])


def one_huge(rng: np.random.Generator, size: int) -> np.ndarray:
    """Divide into many tiny segments and a huge one among them."""
    few = size // 8
    steps = rng.integers(0, 3, few)
    ends = np.cumsum(steps)[np.cumsum(steps) <= few]
    return np.concatenate([[0], ends, size - ends[::-1], [size]])


DIVISIONS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "random, with empty ones": randomly,
    "one of all": lambda rng, size: np.array([0, size]),
    "one for each element": lambda rng, size: np.arange(size + 1),
    "two for each element, one of them empty": lambda rng, size: np.append(np.repeat(np.arange(size), 2), size),
    "one huge and many tiny": one_huge,
    "around the tiles": around_tiles,
    "all in the last": lambda rng, size: np.array([0, 0, 0, size]),
    "all in the first": lambda rng, size: np.array([0, size, size, size]),
}


def runs(x: np.ndarray, offsets: Any) -> list[np.ndarray]:
    return [x[first:last] for first, last in itertools.pairwise(offsets)]


def scanned(x: np.ndarray, offsets: Any, op: str = "sum") -> np.ndarray:
    """Scan each segment by NumPy."""
    whole = ACCUMULATE[op](x[:0])
    return np.concatenate([whole, *(ACCUMULATE[op](run) for run in runs(x, offsets) if run.size)])


def shifted(inclusive: np.ndarray, offsets: Any, nothing: Any) -> np.ndarray:
    """Make an exclusive scan of each segment of an inclusive one."""
    result = np.empty_like(inclusive)
    result[1:] = inclusive[:-1]
    starts = np.asarray(offsets)[:-1]
    result[starts[starts < result.size]] = nothing
    return result


def reduced(fold: Callable[..., Any], x: np.ndarray, offsets: Any, dtype: Any = None) -> np.ndarray:
    """Fold each segment by NumPy."""
    folded = [fold(run) for run in runs(x, offsets)]
    return np.array(folded, dtype=fold(x).dtype if dtype is None else dtype)


# Divisions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("division", list(DIVISIONS))
def test_sums_of_int64_are_exact_however_segments_lie(kernel: Kernel, rng: np.random.Generator, division: str) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.int64, size), DIVISIONS[division](rng, size)
    expected = scanned(x, offsets)
    assert_equal(scan(kernel, x, segments=offsets), expected)
    assert_equal(scan(kernel, x, segments=offsets, inclusive=False), shifted(expected, offsets, 0))
    assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


@pytest.mark.optimised
def test_segments_of_every_size_around_a_tile(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in kernel.boundary_sizes:
        x, offsets = random_values(rng, np.int32, size), randomly(rng, size)
        assert_equal(scan(kernel, x, segments=offsets), scanned(x, offsets))
        assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


def test_random_divisions_again_and_again(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in rng.integers(1, 20_000, 30):
        x, offsets = random_values(rng, np.int64, size), randomly(rng, size)
        assert_equal(scan(kernel, x, segments=offsets), scanned(x, offsets))
        assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


@pytest.mark.parametrize("offsets", [[0], [0, 0], [0, 0, 0]])
def test_nothing_is_divided_into_nothing(kernel: Kernel, offsets: list[int]) -> None:
    poison(kernel.device)
    x = np.empty(0, np.float32)
    assert_equal(scan(kernel, x, segments=offsets), x)
    assert_equal(scan(kernel, x, segments=offsets, inclusive=False), x)
    assert_equal(kernel.reduce(x, segments=offsets), np.zeros(len(offsets) - 1, np.float32))
    assert_equal(kernel.reduce(x, segments=offsets, op="prod"), np.ones(len(offsets) - 1, np.float32))


@pytest.mark.parametrize("offsets", [[0, 1], [0, 0, 1], [0, 1, 1], [0, 0, 0, 1, 1, 1]])
def test_one_element_among_empty_segments(kernel: Kernel, offsets: list[int]) -> None:
    poison(kernel.device)
    x = np.array([7], np.int16)
    assert_equal(scan(kernel, x, segments=offsets), np.int64([7]))
    assert_equal(scan(kernel, x, segments=offsets, inclusive=False), np.int64([0]))
    assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


def test_many_more_segments_than_elements(kernel: Kernel, rng: np.random.Generator) -> None:
    poison(kernel.device)
    x = random_values(rng, np.int64, 11)
    offsets = np.concatenate([[0], np.sort(rng.integers(0, 12, 5000)), [11]])
    assert_equal(scan(kernel, x, segments=offsets), scanned(x, offsets))
    assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "uint64"])
def test_offsets_are_integers_of_any_dtype(device: gpuprims.Device, dtype: str) -> None:
    x = np.arange(100.0, dtype=np.float32)
    offsets = np.array([0, 3, 3, 64, 100], dtype)
    expected = np.float32([3, 0, sum(range(3, 64)), sum(range(64, 100))])
    assert_equal(gpuprims.reduce(x, segments=offsets, device=device), expected)
    assert_equal(gpuprims.reduce(x, segments=offsets.tolist(), device=device), expected)
    assert_equal(gpuprims.reduce(x, segments=np.repeat(offsets, 2)[::2], device=device), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64"])
@pytest.mark.parametrize("division", [[0, 3, 3, 64, 100], [0, 100], list(range(101))])
def test_offsets_may_lie_on_the_device(device: gpuprims.Device, dtype: str, division: list[int]) -> None:
    x = np.arange(100.0, dtype=np.float32)
    offsets = device.asarray(np.array(division, dtype))
    sums, scanned_ = reduced(np.sum, x, division), scanned(x, np.array(division))
    assert_equal(gpuprims.reduce(x, segments=offsets, device=device), sums)
    assert_equal(gpuprims.scan(x, segments=offsets, device=device), scanned_)
    there = device.asarray(x)
    assert_equal(device.to_host(gpuprims.reduce(there, segments=offsets)), sums)
    assert_equal(device.to_host(gpuprims.scan(there, segments=offsets)), scanned_)


def test_offsets_on_the_device_may_lie_apart(device: gpuprims.Device) -> None:
    x, offsets = device.asarray(np.arange(100.0)), device.asarray(np.repeat([0, 3, 64, 100], 2))[::2]
    expected = np.float64([3, sum(range(3, 64)), sum(range(64, 100))])
    assert_equal(device.to_host(gpuprims.reduce(x, segments=offsets)), expected)


@pytest.mark.parametrize(
    ("offsets", "rule"),
    [
        ([0, 5, 3, 4, 9], "that never decrease; got 5 before 3 at 1"),
        ([1, 5, 9], "from 0 to 9, the number of elements; got 1 to 9"),
        ([0, 5, 8], "from 0 to 9, the number of elements; got 0 to 8"),
        ([8], "from 0 to 9, the number of elements; got 8 to 8"),
        ([0, -1, 9], "that never decrease; got 0 before -1 at 0"),
        ([0, 12, 9], "that never decrease; got 12 before 9 at 1"),
    ],
)
def test_offsets_are_checked_where_they_lie(device: gpuprims.Device, offsets: list[int], rule: str) -> None:
    x = np.ones(9, np.float32)
    for given in (offsets, device.asarray(np.array(offsets))):
        for elements in (x, device.asarray(x)):
            how = {"device": device} if elements is x else {}
            with pytest.raises(ArgumentError, match=f"reduce: segments= {rule}"):
                gpuprims.reduce(elements, segments=given, **how)


def test_an_empty_segment_is_seen_on_the_device(device: gpuprims.Device) -> None:
    x = device.asarray(np.float32([1, 2, 3]))
    with pytest.raises(EmptyReductionError, match="an empty segment"):
        gpuprims.reduce(x, op="argmax", segments=device.asarray(np.array([0, 2, 2, 3])))


# Operators ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_extremes_of_segments(kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, dtype, size), np.unique(randomly(rng, size))
    assert_equal(scan(kernel, x, op=op, segments=offsets), scanned(x, offsets, op))
    assert_equal(kernel.reduce(x, op=op, segments=offsets), reduced(getattr(np, op), x, offsets))


def test_an_exclusive_max_begins_each_segment_with_the_lowest_value(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.float32, size), randomly(rng, size)
    got = scan(kernel, x, op="max", segments=offsets, inclusive=False)
    assert_equal(got, shifted(scanned(x, offsets, "max"), offsets, np.float32(-np.inf)))


def test_a_not_a_number_stays_in_its_segment(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.float32, size), np.unique(randomly(rng, size))
    x[rng.integers(0, size, 2)] = np.nan
    assert_equal(scan(kernel, x, op="max", segments=offsets), scanned(x, offsets, "max"))
    assert_equal(kernel.reduce(x, op="min", segments=offsets), reduced(np.min, x, offsets))


def test_products_of_segments(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.int64, size) | 1, randomly(rng, size)
    expected = scanned(x, offsets, "prod")
    assert_equal(scan(kernel, x, op="prod", segments=offsets), expected)
    assert_equal(scan(kernel, x, op="prod", segments=offsets, inclusive=False), shifted(expected, offsets, 1))
    assert_equal(kernel.reduce(x, op="prod", segments=offsets), reduced(np.prod, x, offsets))


@pytest.mark.parametrize(("op", "share"), [("any", 0.001), ("all", 0.999)])
def test_truth_of_segments(kernel: Kernel, rng: np.random.Generator, op: str, share: float) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = (rng.random(size) < share).astype(np.int8) * np.int8(3), randomly(rng, size)
    assert_equal(scan(kernel, x, op=op, segments=offsets), scanned(x, offsets, op))
    assert_equal(kernel.reduce(x, op=op, segments=offsets), reduced(getattr(np, op), x, offsets))


def test_means_of_segments(kernel: Kernel, rng: np.random.Generator) -> None:
    need(kernel.device, np.float64)
    size = size_of_several_tiles(kernel)
    x, offsets = rng.integers(-1000, 1000, size).astype(np.int16), randomly(rng, size)
    counts = np.diff(offsets)
    with np.errstate(invalid="ignore"):
        expected = reduced(np.sum, x, offsets) / counts  # of whole numbers, whose sums are exact
    assert_equal(kernel.reduce(x, op="mean", segments=offsets), expected)
    places = np.arange(size) - np.repeat(offsets[:-1], counts)
    assert_equal(scan(kernel, x, op="mean", segments=offsets), scanned(x, offsets) / (places + 1))
    before = shifted(scanned(x, offsets), offsets, 0)
    with np.errstate(invalid="ignore"):
        assert_equal(scan(kernel, x, op="mean", segments=offsets, inclusive=False), before / places)


@pytest.mark.parametrize("ddof", [0, 1])
def test_spreads_of_segments(kernel: Kernel, rng: np.random.Generator, ddof: int) -> None:
    need(kernel.device, np.float64)
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.float64, size), np.array([0, 7, 7 + size // 2, size - 2, size])
    for op, fold in (("var", np.var), ("std", np.std)):
        expected = reduced(partial(fold, ddof=ddof), x, offsets)
        got = kernel.reduce(x, op=op, ddof=ddof, segments=offsets)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_places_are_counted_along_the_whole_array(kernel: Kernel, rng: np.random.Generator, op: str) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = rng.integers(0, 50, size, dtype=np.int16), np.unique(randomly(rng, size))
    places = [first + getattr(np, op)(run) for first, run in zip(offsets[:-1], runs(x, offsets), strict=True)]
    assert_equal(kernel.reduce(x, op=op, segments=offsets), np.int64(places))


def test_a_scan_of_argmax_tells_where_the_largest_of_the_segment_is(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = rng.permutation(size).astype(np.int32), randomly(rng, size)
    where = np.argsort(x)  # the place of each value, of which there is one
    assert_equal(scan(kernel, x, op="argmax", segments=offsets), where[scanned(x, offsets, "max")])


def composed(slopes: np.ndarray, shifts: np.ndarray, offsets: Any) -> tuple[np.ndarray, np.ndarray]:
    """Compose the affine maps of each segment, one after the other; integers wrap."""
    results: list[tuple[int, int]] = []
    for ours, theirs in zip(runs(slopes, offsets), runs(shifts, offsets), strict=True):
        a, b = 1, 0
        for p, q in zip(ours.tolist(), theirs.tolist(), strict=True):
            a, b = a * p % 2**64, (b * p + q) % 2**64
            results.append((a, b))
    both = np.array(results, np.uint64).reshape(-1, 2).astype(np.int64)
    return both[:, 0], both[:, 1]


def test_an_operator_that_does_not_commute(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    slopes, shifts = random_values(rng, np.int64, size) | 1, random_values(rng, np.int64, size)
    offsets = randomly(rng, size)
    expected = composed(slopes, shifts, offsets)
    got = scan(kernel, slopes, shifts, op=AFFINE, segments=offsets)
    for one, other in zip(got, expected, strict=True):
        assert_equal(one, other)
    got = scan(kernel, slopes, shifts, op=AFFINE, segments=offsets, inclusive=False)
    for one, other, nothing in zip(got, expected, (1, 0), strict=True):
        assert_equal(one, shifted(other, offsets, nothing))
    got = kernel.reduce(slopes, shifts, op=AFFINE, segments=offsets)
    for one, other, nothing in zip(got, expected, (1, 0), strict=True):
        kept = np.diff(offsets) > 0
        last = np.full(kept.size, nothing)
        last[kept] = other[np.asarray(offsets)[1:][kept] - 1]
        assert_equal(one, last)


def test_a_compensated_sum_of_each_segment(kernel: Kernel) -> None:
    x = np.tile(np.float32([1e8, 1, -1e8]), 2000)
    offsets = np.array([0, 3, 3, 6, 6000])
    got = kernel.reduce(x, segments=offsets, compensated=True)
    assert_equal(got, np.float32([1, 0, 1, 1998]))


# Dtypes and maps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_sums_of_whole_numbers_in_floats_are_exact(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    size = size_of_several_tiles(kernel)
    x = rng.integers(-1, 2, size).astype(dtype)
    x = x * np.array(2 + 3j, dtype) if dtype == "complex64" else x
    offsets = randomly(rng, size)
    assert_equal(scan(kernel, x, segments=offsets), scanned(x, offsets))
    assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


def test_float32_sums_round_no_more_than_their_own_segment(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = rng.random(size, np.float32), randomly(rng, size)
    x[: offsets[4]] *= np.float32(1e6)  # a difference of running sums would lose the small ones behind
    exact = reduced(np.sum, x.astype(np.float64), offsets)
    np.testing.assert_allclose(kernel.reduce(x, segments=offsets), exact, rtol=2e-6)


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_elements_are_converted_before_they_are_folded(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = rng.integers(-9, 9, size).astype(np.int8), randomly(rng, size)
    assert_equal(scan(kernel, x, segments=offsets, dtype=dtype), scanned(x.astype(dtype), offsets))
    assert_equal(kernel.reduce(x, segments=offsets, dtype=dtype), reduced(np.sum, x.astype(dtype), offsets))


def test_a_fused_map_of_two_arrays(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    x, y, offsets = random_values(rng, np.int64, size), random_values(rng, np.int8, size), randomly(rng, size)
    assert_equal(kernel.reduce(x, y, map="x*y", segments=offsets), reduced(np.sum, x * y, offsets))
    assert_equal(scan(kernel, x, y, map=lambda x, y: x - 3 * y, segments=offsets), scanned(x - 3 * y, offsets))


def test_a_fused_map_takes_numbers_beside_arrays(kernel: Kernel, rng: np.random.Generator) -> None:
    x, offsets = random_values(rng, np.int64, 1000), randomly(rng, 1000)
    assert_equal(scan(kernel, x, 5, map="x*y", segments=offsets), scanned(5 * x, offsets))
    assert_equal(kernel.reduce(x, 5, map="x*y", segments=offsets), reduced(np.sum, 5 * x, offsets))


# Layouts, out= and device arrays -------------------------------------------------------------------------------------


def test_elements_are_found_wherever_they_lie(kernel: Kernel, rng: np.random.Generator) -> None:
    whole = random_values(rng, np.int32, (5003, 3))
    for x in (whole[:, 1], whole[::-1, 2], whole[1::7, 0], np.broadcast_to(whole[0, 0], 3000)):
        offsets = randomly(rng, x.size)
        assert_equal(scan(kernel, x, segments=offsets), scanned(x, offsets))
        assert_equal(scan(kernel, x, segments=offsets, inclusive=False), shifted(scanned(x, offsets), offsets, 0))
        assert_equal(kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


def test_results_go_where_the_caller_says_and_nowhere_else(kernel: Kernel, rng: np.random.Generator) -> None:
    x, offsets = random_values(rng, np.int32, 5003), randomly(rng, 5003)
    whole = np.full((5003, 2), -7, np.int64)
    out = whole[::-1, 1]
    assert scan(kernel, x, segments=offsets, out=out) is out
    assert_equal(out, scanned(x, offsets))
    assert_equal(whole[:, 0], np.full(5003, -7))

    expected = reduced(np.sum, x, offsets)
    whole = np.full((expected.size, 3), -7, np.int64)
    out = whole[:, 1]
    assert kernel.reduce(x, segments=offsets, out=out) is out
    assert_equal(out, expected)
    assert_equal(whole[:, ::2], np.full((expected.size, 2), -7))


def test_results_may_go_where_the_offsets_lie(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int64, 50_001)
    offsets = np.unique(np.concatenate([[0, x.size], rng.integers(0, x.size, 3000)]))
    expected = reduced(np.sum, x, offsets)
    kernel.reduce(x, segments=offsets, out=offsets[:-1])
    assert_equal(offsets[:-1], expected)


@pytest.mark.parametrize("inclusive", [True, False])
def test_a_scan_may_write_over_its_input(kernel: Kernel, rng: np.random.Generator, *, inclusive: bool) -> None:
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.int64, size), randomly(rng, size)
    expected = scanned(x, offsets) if inclusive else shifted(scanned(x, offsets), offsets, 0)
    resident = on_device(kernel.device, x)
    assert scan(kernel, x, segments=offsets, inclusive=inclusive, out=x) is x
    assert_equal(x, expected)
    assert scan(kernel, resident, segments=offsets, inclusive=inclusive, out=resident) is resident
    assert_equal(on_host(kernel.device, resident), expected)


def test_arrays_and_offsets_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    device = kernel.device
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.int64, size), randomly(rng, size)
    resident = on_device(device, x)
    for divided in (offsets, on_device(device, offsets)):
        got = scan(kernel, resident, segments=divided)
        assert type(got) is type(resident)
        assert_equal(on_host(device, got), scanned(x, offsets))
        got = kernel.reduce(resident, segments=divided)
        assert type(got) is type(resident)
        assert_equal(on_host(device, got), reduced(np.sum, x, offsets))


def test_calls_that_follow_each_other_do_not_meet(kernel: Kernel, rng: np.random.Generator) -> None:
    size = size_of_several_tiles(kernel)
    arrays = [random_values(rng, np.int64, size) for _ in range(10)]
    divided = [randomly(rng, size) for _ in arrays]
    residents = [on_device(kernel.device, array) for array in arrays]
    got = [
        kernel.reduce(resident, segments=offsets) for resident, offsets in zip(residents, divided, strict=True)
    ]  # none is waited for
    for one, x, offsets in zip(got, arrays, divided, strict=True):
        assert_equal(on_host(kernel.device, one), reduced(np.sum, x, offsets))


def test_a_float_sum_has_the_same_bits_in_every_run(kernel: Kernel, rng: np.random.Generator) -> None:
    if not kernel.variant.deterministic:
        pytest.skip("brackets depend on how far other groups have come, as its entry says")
    size = size_of_several_tiles(kernel)
    x, offsets = random_values(rng, np.float32, size), randomly(rng, size)
    first = kernel.reduce(x, segments=offsets)
    poison(kernel.device)
    assert all(kernel.reduce(x.copy(), segments=offsets).tobytes() == first.tobytes() for _ in range(3))


# Empty segments ----------------------------------------------------------------------------------------------------

WITH_EMPTY = [0, 0, 2, 2, 5, 5]


@pytest.mark.parametrize(("op", "nothing"), [("sum", 0), ("prod", 1), ("norm", 0), ("mean", np.nan), ("var", np.nan)])
def test_an_empty_segment_folds_to_what_nothing_folds_to(kernel: Kernel, op: str, nothing: float) -> None:
    poison(kernel.device)
    got = kernel.reduce(np.arange(1, 6, dtype=np.float32), op=op, segments=WITH_EMPTY)
    assert_equal(got[[0, 2, 4]], np.float32([nothing] * 3))
    assert np.isfinite(got[[1, 3]]).all()


@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
def test_an_empty_segment_has_no_extreme(kernel: Kernel, op: str) -> None:
    for x, offsets in ((np.arange(5.0, dtype=np.float32), WITH_EMPTY), (np.empty(0, np.float32), [0, 0])):
        with pytest.raises(EmptyReductionError, match=rf"reduce with {op}: .*; got an empty segment"):
            kernel.reduce(x, op=op, segments=offsets)
    expected = np.empty(0, np.int64 if op.startswith("arg") else np.float32)
    assert_equal(kernel.reduce(np.empty(0, np.float32), op=op, segments=[0]), expected)


@pytest.mark.parametrize("op", ["min", "max"])
def test_a_scan_passes_over_empty_segments_whatever_the_operator(kernel: Kernel, op: str) -> None:
    x = np.float32([3, 1, 4, 1, 5])
    assert_equal(scan(kernel, x, op=op, segments=WITH_EMPTY), scanned(x, WITH_EMPTY, op))


# Bad input ---------------------------------------------------------------------------------------------------------

X = np.arange(6, dtype=np.float32)

BAD = {
    "do not begin at 0": ({"segments": [1, 6]}, ArgumentError, r"segments= from 0 to 6, .*; got 1 to 6"),
    "do not end at the end": ({"segments": [0, 5]}, ArgumentError, r"segments= from 0 to 6, .*; got 0 to 5"),
    "go past the end": ({"segments": [0, 7]}, ArgumentError, r"segments= from 0 to 6, .*; got 0 to 7"),
    "are below 0": ({"segments": [0, -1, 6]}, ArgumentError, r"that never decrease; got 0 before -1 at 0"),
    "fall": ({"segments": [0, 2, 4, 3, 6]}, ArgumentError, r"that never decrease; got 4 before 3 at 2"),
    "are floats": ({"segments": [0.0, 6.0]}, DtypeError, r"of integers; got dtype float64"),
    "are truths": ({"segments": [False, True]}, DtypeError, r"of integers; got dtype bool"),
    "have two dimensions": ({"segments": [[0, 6]]}, ShapeError, r"of one dimension.*; got \(1, 2\)"),
    "are a number": ({"segments": 6}, ShapeError, r"of one dimension.*; got \(\)"),
    "are none": ({"segments": np.empty(0, np.int64)}, ShapeError, r"of one dimension.*; got \(0,\)"),
    "come with an axis": ({"segments": [0, 6], "axis": 0}, ArgumentError, r"axis.* with segments.*; got .*0"),
}


@pytest.mark.parametrize("function", [gpuprims.scan, gpuprims.reduce], ids=["scan", "reduce"])
@pytest.mark.parametrize("name", list(BAD))
def test_segments_that_are_none_are_named(device: gpuprims.Device, function: Callable[..., Any], name: str) -> None:
    keywords, error, said = BAD[name]
    with pytest.raises(error, match=f"^{function.__name__}: .*{said}"):
        function(X, device=device, **keywords)


def test_dimensions_are_not_kept(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match=r"reduce: neither axis nor keepdims with segments; got .*True"):
        gpuprims.reduce(X, segments=[0, 6], keepdims=True, device=device)


@pytest.mark.parametrize("function", [gpuprims.scan, gpuprims.reduce], ids=["scan", "reduce"])
def test_arrays_are_of_one_dimension_and_one_length(device: gpuprims.Device, function: Callable[..., Any]) -> None:
    said = f"^{function.__name__}: arrays of one dimension and one length with segments=; got "
    with pytest.raises(ShapeError, match=said + r"\(2, 3\)"):
        function(X.reshape(2, 3), segments=[0, 6], device=device)
    with pytest.raises(ShapeError, match=said + r"\(6,\) and \(3,\)"):
        function(X, X[:3], map="x*y", segments=[0, 6], device=device)
    with pytest.raises(ShapeError, match=said + r"\(\)"):
        function(np.float32(3), segments=[0, 1], device=device)


def test_a_place_of_nothing_cannot_be_told(device: gpuprims.Device) -> None:
    with pytest.raises(ArgumentError, match=r"scan with argmax: inclusive=True.*; got inclusive=False"):
        gpuprims.scan(X, op="argmax", inclusive=False, segments=[0, 6], device=device)


def test_results_of_another_shape_are_refused(device: gpuprims.Device) -> None:
    with pytest.raises(ShapeError, match=r"reduce: .*\(2,\).*; got \(6,\)"):
        gpuprims.reduce(X, segments=[0, 3, 6], out=np.empty(6, np.float32), device=device)
    with pytest.raises(AxisError, match="'rows'"):
        gpuprims.scan(X, segments=[0, 6], axis="rows", device=device)


# Kernels that fold segments alone ----------------------------------------------------------------------------------


@pytest.fixture
def runs_kernel(kernel: Kernel) -> Kernel:
    if kernel.variant.primitive != "segments":
        pytest.skip("is about kernels that fold segments alone")
    return kernel


def test_segments_of_every_length_around_lanes_and_spans(runs_kernel: Kernel, rng: np.random.Generator) -> None:
    lengths = np.concatenate([np.arange(0, 20), [31, 32, 33, 255, 256, 257, 511, 512, 513, 1024, 5000]])
    for order in (lengths, lengths[::-1], rng.permutation(np.repeat(lengths, 9))):
        offsets = np.concatenate([[0], np.cumsum(order)])
        x = random_values(rng, np.int64, offsets[-1])
        assert_equal(runs_kernel.reduce(x, segments=offsets), reduced(np.sum, x, offsets))


@pytest.mark.parametrize("size", [8191, 8192, 8193, 100_003])
def test_a_segment_may_end_anywhere_in_a_part(runs_kernel: Kernel, rng: np.random.Generator, size: int) -> None:
    a, b = random_values(rng, np.int64, size) | 1, random_values(rng, np.int64, size)
    for cut in (1, size // 2, size - 1):
        for offsets in ([0, cut, size], [0, cut, cut, cut, size], [0, 0, cut, size, size]):
            got = runs_kernel.reduce(a, b, op=AFFINE, segments=offsets)
            for run, one in enumerate(zip(*got, strict=True)):
                part = slice(offsets[run], offsets[run + 1])
                whole = gpuprims.reduce(a[part], b[part], op=AFFINE, device="reference")
                assert one == whole


def test_long_segments_are_added_up_pairwise(runs_kernel: Kernel, rng: np.random.Generator) -> None:
    if runs_kernel.variant.name == "lanes":
        pytest.skip("is for segments that are not long")
    x, offsets = rng.random(3_000_000, dtype=np.float32), [0, 1_000_000, 1_000_100, 3_000_000]
    exact = reduced(np.sum, x.astype(np.float64), offsets)
    np.testing.assert_allclose(runs_kernel.reduce(x, segments=offsets), exact, rtol=5e-7)


def test_calls_choose_it_where_it_is_able(device: gpuprims.Device) -> None:
    chosen = gpuprims.explain("segments", device).chosen
    cpu = device.backend == "opencl" and device.capabilities.kind == "cpu"
    assert (chosen.primitive == "segments") == cpu


# segments/lanes ----------------------------------------------------------------------------------------------------


@pytest.fixture
def lanes(device: gpuprims.Device) -> gpuprims.Device:
    if not device.capabilities.warp:
        pytest.skip(f"{device.capabilities.name} offers no shuffles")
    return device


def by_lanes(device: gpuprims.Device, *arrays: np.ndarray, **keywords: Any) -> Any:
    return gpuprims.reduce(*arrays, device=device, variant="lanes", **keywords)


# Mixed so that from one lane to a whole warp have a segment, and that some are left to the warp.
MIXTURES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "up to 3": lambda rng: rng.integers(0, 4, 5000),
    "up to 16": lambda rng: rng.integers(0, 17, 2000),
    "up to 70": lambda rng: rng.integers(0, 71, 1500),
    "up to 700": lambda rng: rng.integers(0, 701, 1100),
    "around a warp": lambda rng: rng.permutation(np.repeat([0, 1, 31, 32, 33, 64], 300)),
    "all of 1": lambda rng: np.ones(1024, np.int64),
    "all of 4, a lane each": lambda rng: np.full(1025, 4),
    "all of 32": lambda rng: np.full(2049, 32),
    "tiny ones and the longest": lambda rng: rng.permutation(np.append(rng.integers(0, 4, 3000), [8192] * 5)),
    "the longest first and last": lambda rng: np.concatenate([[8192], rng.integers(0, 9, 2000), [8191, 8192]]),
    "around what is left to the warp": lambda rng: rng.permutation(np.append(np.full(3000, 2), [63, 64, 65, 129] * 9)),
    "few that are not empty": lambda rng: np.where(np.arange(2000) % 97 == 5, 1000, 0),
}


@pytest.mark.parametrize("mixture", list(MIXTURES))
def test_segments_of_every_length_by_lanes(lanes: gpuprims.Device, rng: np.random.Generator, mixture: str) -> None:
    poison(lanes)
    lengths = MIXTURES[mixture](rng)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = random_values(rng, np.int8, offsets[-1])
    assert_equal(by_lanes(lanes, x, segments=offsets), reduced(np.sum, x, offsets))
    a, b = random_values(rng, np.int64, (2, offsets[-1]))
    composed = by_lanes(lanes, a | 1, b, op=AFFINE, segments=offsets)
    exact = gpuprims.reduce(a | 1, b, op=AFFINE, segments=offsets, device="reference")
    for got, expected in zip(composed, exact, strict=True):
        assert_equal(got, expected)


@pytest.mark.parametrize("mean", [1, 5, 9, 30, 200])
@pytest.mark.parametrize("segments", [1024, 1025, 2047, 2048, 2049])
def test_as_many_segments_as_groups_take_and_more(
    lanes: gpuprims.Device, rng: np.random.Generator, mean: int, segments: int
) -> None:
    poison(lanes)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 2 * mean + 1, segments))])
    x = random_values(rng, np.int64, offsets[-1])
    assert_equal(by_lanes(lanes, x, segments=offsets), reduced(np.sum, x, offsets))


def test_groups_of_lanes_that_take_several_runs(
    lanes: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    offsets = np.concatenate([[0], np.cumsum(rng.permutation(np.append(rng.integers(0, 30, 7001), [8192, 900])))])
    x = random_values(rng, np.uint8, offsets[-1])
    with two_groups(lanes, monkeypatch):
        got = by_lanes(lanes, x, segments=offsets)
    assert_equal(got, reduced(np.sum, x, offsets))


def test_moments_and_places_by_lanes(lanes: gpuprims.Device, rng: np.random.Generator) -> None:
    lengths = rng.permutation(np.append(rng.integers(1, 50, 3000), [8192, 4000]))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = rng.standard_normal(offsets[-1]).astype(np.float32) + 100
    x[offsets[7]] = np.nan
    exact = x.astype(np.float64)
    for op, fold, rtol in (("mean", np.mean, 1e-6), ("var", np.var, 1e-4), ("sum", np.sum, 1e-6)):
        got = by_lanes(lanes, x, op=op, segments=offsets)
        np.testing.assert_allclose(got, reduced(fold, exact, offsets), rtol=rtol, atol=1e-6)
    whole = np.round(x * 2)  # of which many are alike
    places = [first + np.argmax(run) for first, run in zip(offsets[:-1], runs(whole, offsets), strict=True)]
    assert_equal(by_lanes(lanes, whole, op="argmax", segments=offsets), np.int64(places))


def test_parts_of_arrays_and_arrays_on_the_device_by_lanes(lanes: gpuprims.Device, rng: np.random.Generator) -> None:
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 60, 1500))])
    x, y = random_values(rng, np.int16, 2 * offsets[-1])[::-2], random_values(rng, np.int32, offsets[-1] + 3)[3:]
    expected = reduced(np.sum, x * y.astype(np.int64), offsets)
    assert_equal(by_lanes(lanes, x, y, map="x * int64(y)", segments=offsets), expected)
    there, out = on_device(lanes, y), on_device(lanes, np.zeros(2 * 1500, np.int64))
    gpuprims.reduce(there, segments=on_device(lanes, offsets), variant="lanes", out=out[::2])
    assert_equal(on_host(lanes, out)[::2], reduced(np.sum, y, offsets))
    assert not on_host(lanes, out)[1::2].any()


def test_lanes_refuse_few_segments_and_long_ones(lanes: gpuprims.Device) -> None:
    said = "1024 segments or more of at most 8192 elements; this call has "
    with pytest.raises(NoVariantError, match=said + "1023, none longer than 8"):
        by_lanes(lanes, np.ones(5 * 1023), segments=np.arange(0, 5 * 1024, 5))
    with pytest.raises(NoVariantError, match=said + "1025, none longer than 16384"):
        by_lanes(lanes, np.ones(1024 + 8193), segments=np.append(np.arange(1025), 1024 + 8193))


def test_explain_tells_of_segments_by_number_and_length(lanes: gpuprims.Device) -> None:
    for size, count, able in ((8192, 1024, True), (8193, 1024, False), (8192, 1023, False)):
        told = gpuprims.explain("segments", lanes, size=size, outputs=count).refusals
        ((_, reason),) = [one for one in told if one[0].name == "lanes"]
        assert (reason is None) == able
