"""Every kernel, every path through it, at sizes that a watched device can run; see ``oclgrind.py``, ``sanitizer.py``.

The kernels are OpenCL's, and under compute-sanitizer CUDA's. OpenCL kernels for CPUs run on any OpenCL device: they are
slow elsewhere, and correct.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import (
    AFFINE,
    Kernel,
    able_variants,
    affine_fold,
    affine_scan,
    assert_descended,
    assert_descent,
    assert_equal,
    assert_logistic,
    assert_product,
    on_device,
    on_host,
    random_values,
    two_groups,
)
from scipy import ndimage, sparse

import gpuprims
from gpuprims.core.geometry import Geometry, Refusal
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.primitives.csr import csr_product
from gpuprims.primitives.descent import logistic_descent
from gpuprims.primitives.hogwild import logistic_hogwild
from gpuprims.primitives.logistic import logistic_gradient
from gpuprims.primitives.sgd import logistic_sgd
from gpuprims.primitives.stencil.refusals import along_lines

pytestmark = pytest.mark.oclgrind

BACKEND = "cuda" if "GPUPRIMS_SANITIZER" in os.environ else "opencl"
VARIANTS = [variant for name in REGISTRY.primitive_names for variant in REGISTRY.variants(name, BACKEND)]
MAPS = [variant for variant in VARIANTS if variant.primitive == "map"]
PICKING = [variant for variant in VARIANTS if variant.name == "cpu_best"]
REDUCTIONS = [variant for variant in VARIANTS if variant.primitive == "reduce" and variant not in PICKING]
SCANS = [variant for variant in VARIANTS if variant.primitive == "scan"]
HISTOGRAMS = [variant for variant in VARIANTS if variant.primitive == "histogram"]
# Kernels whose warps cannot be of one work-item each, as those of other kernels are where there are no shuffles.
NEED_WARPS = ("reduce_warp", "reduce_rows", "scan_rows", "segments_lanes")
LARGEST = 20_000
# Primitives whose kernels run with smaller tiles here.
CUT = ("scan", "segments", "histogram", "stencil")


def small(variant: Variant) -> Variant:
    """Return a variant that refuses no device.

    Tiles of a scan, a histogram and of segments are small, groups that run together several though one unit runs them,
    and so are those of one work-item.
    """
    units = variant.groups_per_unit
    if variant.together or (units and variant.block == 1):
        units = max(units or 0, 5)
    few = {"histogram": 4, "segments": 300}.get(
        variant.primitive, 4 if getattr(variant, "word_items", False) else variant.items
    )
    if variant.primitive == "scan" and variant.tile > LARGEST:
        few = 2048
    refuse: Refusal = lambda *_: None  # noqa: E731 - a rule among rules
    if variant.primitive == "stencil":  # what kernels do not do in one launch is done in two
        refuse = along_lines if variant.name == "cpu_rows" else variant.refuse
    geometry = Geometry(variant.block, min(variant.items, few), units)
    return dataclasses.replace(variant, refuse=refuse, geometry=geometry)


SMALL = {variant: small(variant) for variant in VARIANTS}


@pytest.fixture
def kernel(device: gpuprims.Device, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A variant on a device of its backend; one that is meant for other devices is asked not to refuse."""
    variant: Variant = request.param
    if device.backend != BACKEND:
        pytest.skip(f"is about {BACKEND} devices")
    if variant.entry in NEED_WARPS and not device.capabilities.warp:
        pytest.skip("the simulator has no shuffles; compute-sanitizer watches the same text under CUDA")
    if variant.together and device.capabilities.kind == "cpu" and "OCLGRIND_LOG" not in os.environ:
        pytest.skip("Intel's compiler for CPUs crashes on it; it refuses CPUs")
    if variant.primitive in CUT or variant not in able_variants(device, variant.primitive):
        monkeypatch.setitem(REGISTRY._variants[BACKEND, variant.primitive], variant.name, SMALL[variant])
        return Kernel(device, SMALL[variant])
    return Kernel(device, variant)


def each(variants: list[Variant]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kernel", variants, indirect=True, ids=lambda variant: variant.entry)


def sizes(kernel: Kernel) -> list[int]:
    """Return one element, less than a tile, and tiles with a rest, as far as the simulator's patience goes."""
    tile = kernel.variant.tile
    return [size for size in (1, 200, tile, tile + 1, 2 * tile + 3) if size <= LARGEST]


def many(kernel: Kernel, outputs: int) -> int:
    """Return so many outputs, or a tenth where each takes a group of many work-items, all of which are simulated."""
    return outputs // 10 if kernel.variant.block > 1 and kernel.variant.outputs_per_group == 1 else outputs


def scan_sizes(kernel: Kernel, dtype: Any) -> list[int]:
    """Return sizes as above, of values as large as a dtype's, where the tile depends on both."""
    found = []
    for size in (1, 1500):
        tile = kernel.scanned_tile(size, dtype)
        found += [size, tile, 2 * tile + 3]
    return sorted({size for size in found if size <= LARGEST // 8})


# map ---------------------------------------------------------------------------------------------------------------


@each(MAPS)
def test_map_of_several_arrays_to_several_results(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in sizes(kernel):
        x, y = random_values(rng, np.float32, size), random_values(rng, np.int16, size)
        got = kernel.map(lambda x, y, z: (x * 2 + z, y > 3, x + y), x, y, 1)
        for one, expected in zip(got, (x * 2 + 1, y > 3, x + y), strict=True):
            assert_equal(one, expected)


@each(MAPS)
def test_map_of_float16(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float16, sizes(kernel)[-1])
    assert_equal(kernel.map("x * x + 1", x), x * x + 1)


@each(MAPS)
def test_map_over_axes_that_do_not_merge(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.int32, (30, 40, 6))[::-1, ::3, ::2], random_values(rng, np.uint8, (14, 1))
    assert_equal(kernel.map("x - y", x, y), x - y)


@each(MAPS)
def test_map_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int64, 3001)
    resident = on_device(kernel.device, x)
    assert_equal(on_host(kernel.device, kernel.map("x + y", resident[1:], resident[:-1])), x[1:] + x[:-1])


@each(MAPS)
def test_map_by_groups_of_several_tiles(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = random_values(rng, np.int8, 3 * kernel.variant.tile + 5)
    with two_groups(kernel.device, monkeypatch):
        got = kernel.map("x ^ (5*x)", x)
    assert_equal(got, x ^ (5 * x))


@each(MAPS)
def test_map_of_complex_numbers_in_vectors(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.complex64, (2, sizes(kernel)[-1]))
    resident = [on_device(kernel.device, array) for array in (x, y)]
    got, order = kernel.map("conj(x) + 2*y, x < y", *resident)
    assert_equal(on_host(kernel.device, got), x.conj() + 2 * y)
    assert_equal(on_host(kernel.device, order), x < y)


@each(MAPS)
def test_map_of_float64(kernel: Kernel, rng: np.random.Generator) -> None:
    kernel.need(np.float64)
    x = random_values(rng, np.float64, 700)
    assert_equal(kernel.map("where(x > 0, x // 2, x % 3)", x), np.where(x > 0, x // 2, x % 3))


# reduce ------------------------------------------------------------------------------------------------------------


@each(REDUCTIONS)
def test_sum_in_one_pass_and_in_two(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in sizes(kernel):
        x = random_values(rng, np.int32, size)
        assert_equal(kernel.reduce(x), np.sum(x))


@each(REDUCTIONS)
@pytest.mark.parametrize("op", ["max", "argmax"])
def test_extremes_in_one_pass_and_in_two(kernel: Kernel, rng: np.random.Generator, op: str) -> None:
    for size in (200, sizes(kernel)[-1]):
        x = random_values(rng, np.float32, size)
        assert_equal(kernel.reduce(x, op=op), getattr(np, op)(x))


@each(PICKING)
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_places_of_extremes_in_spans_and_in_parts(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    for size in (1, 31, 32, 2049, 18_001):
        x = random_values(rng, dtype, size)
        for one in (x, np.sort(x), np.sort(x)[::-1]):
            assert_equal(kernel.reduce(one, op="argmax"), np.argmax(one))
            assert_equal(kernel.reduce(one, op="argmin"), np.argmin(one))
        if x.dtype.kind == "f":
            x[rng.integers(0, size, 3)] = np.nan
            assert_equal(kernel.reduce(x, op="argmin"), np.argmin(x))


@each(PICKING)
def test_places_of_extremes_along_axes(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float16, (5, 40, 7))
    for axis in (0, 1, 2):
        assert_equal(kernel.reduce(x, op="argmax", axis=axis), np.argmax(x, axis=axis))


@each(REDUCTIONS)
def test_an_operator_that_does_not_commute(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in (200, sizes(kernel)[-1]):
        slopes, offsets = random_values(rng, np.int64, size) | 1, random_values(rng, np.int64, size)
        for got, expected in zip(kernel.reduce(slopes, offsets, op=AFFINE), affine_fold(slopes, offsets), strict=True):
            assert_equal(got, expected)


@each(REDUCTIONS)
def test_max_of_float16(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float16, sizes(kernel)[-1])
    assert_equal(kernel.reduce(x, op="max"), np.max(x))


@each(REDUCTIONS)
def test_sum_of_complex_numbers(kernel: Kernel, rng: np.random.Generator) -> None:
    parts = rng.integers(-9, 9, (2, sizes(kernel)[-1])).astype(np.float32)  # whole, so that no sum is rounded
    x = parts[0] + 1j * parts[1]
    assert_equal(kernel.reduce(x), np.sum(x))


@each(REDUCTIONS)
def test_any_of_bools(kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.random((50, 60)) < 0.02
    for axis in (None, 0, 1):
        assert_equal(kernel.reduce(x, op="any", axis=axis), np.any(x, axis=axis))


@each(REDUCTIONS)
def test_a_fused_map_of_several_arrays(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = (rng.integers(-99, 99, sizes(kernel)[-1]) for _ in range(2))
    assert_equal(kernel.reduce(x, y, map="x*y"), x @ y)


@each(REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), (0, 1)])
def test_every_kind_of_axis(kernel: Kernel, rng: np.random.Generator, axis: Any) -> None:
    x = random_values(rng, np.int16, (7, many(kernel, 40), 11))
    assert_equal(kernel.reduce(x, axis=axis), np.sum(x, axis=axis))


@each(REDUCTIONS)
@pytest.mark.parametrize(("rows", "length"), [(3, 5000), (400, 3), (100, 1)])
def test_long_short_many_and_few_rows(kernel: Kernel, rng: np.random.Generator, rows: int, length: int) -> None:
    x = random_values(rng, np.int32, (many(kernel, rows) if rows > 3 else rows, length))
    assert_equal(kernel.reduce(x, op="min", axis=1), np.min(x, axis=1))
    assert_equal(kernel.reduce(x.T, op="min", axis=0), np.min(x, axis=1))


@each(REDUCTIONS)
def test_groups_that_take_several_tasks(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, axis = ((20, 1100), 0) if kernel.variant.outputs_per_group > 256 else ((33, 703), 1)
    x = random_values(rng, np.int8, shape)
    with two_groups(kernel.device, monkeypatch):
        got = kernel.reduce(x, op="argmin", axis=axis)
    assert_equal(got, np.argmin(x, axis=axis))


@each(REDUCTIONS)
def test_the_fold_of_nothing(kernel: Kernel) -> None:
    outputs = many(kernel, 300)
    assert_equal(kernel.reduce(np.empty((0, outputs), np.float32), axis=0), np.zeros(outputs, np.float32))


@each(REDUCTIONS)
def test_the_fold_of_part_of_a_device_array(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.uint8, 5000)
    got = kernel.reduce(on_device(kernel.device, x)[13:4900:3])
    assert_equal(on_host(kernel.device, got), np.sum(x[13:4900:3]))


# scan --------------------------------------------------------------------------------------------------------------


@each(SCANS)
def test_a_running_sum_of_one_tile_and_of_several(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in scan_sizes(kernel, np.int64):
        x = random_values(rng, np.int32, size)
        assert_equal(kernel.scan(x), np.cumsum(x))


@each(SCANS)
@pytest.mark.parametrize("dtype", ["float16", "float64", "complex64", "bool"])
def test_running_sums_of_other_values(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    kernel.need(dtype)
    x = rng.integers(0, 2, 1500).astype(dtype)  # sums that are exact in each
    assert_equal(kernel.scan(x), np.cumsum(x))


def in_place(kernel: Kernel, x: np.ndarray) -> tuple[Any, Any]:
    """Return an array on the device, and where to write: the array itself.

    But not where a group may stand in for one that is writing: it then finds a fold posted, and drops its own.
    """
    place = on_device(kernel.device, x)
    return place, on_device(kernel.device, x) if kernel.variant.name == "lookback" else place


@each(SCANS)
def test_an_exclusive_max_in_place(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in (200, 1501):
        x = random_values(rng, np.float32, size)
        expected = np.append(np.float32(-np.inf), np.maximum.accumulate(x)[:-1])
        place, out = in_place(kernel, x)
        kernel.scan(place, op="max", inclusive=False, out=out)
        assert_equal(on_host(kernel.device, out), expected)


@each(SCANS)
@pytest.mark.parametrize("inclusive", [True, False])
def test_a_scan_by_an_operator_that_does_not_commute(
    kernel: Kernel, rng: np.random.Generator, *, inclusive: bool
) -> None:
    for size in (200, 2100):
        slopes, offsets = random_values(rng, np.int64, size) | 1, random_values(rng, np.int64, size)
        scanned = kernel.scan(slopes, offsets, op=AFFINE, inclusive=inclusive)
        for got, expected, nothing in zip(scanned, affine_scan(slopes, offsets), (1, 0), strict=True):
            assert_equal(got, expected if inclusive else np.append(nothing, expected[:-1]))


@each(SCANS)
@pytest.mark.parametrize(("shape", "axis"), [((3, 550), 1), ((300, 5), 0), ((5, 70, 3), 1)])
def test_a_scan_of_several_lines(kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...], axis: int) -> None:
    x = random_values(rng, np.int16, shape)
    assert_equal(kernel.scan(x, axis=axis), np.cumsum(x, axis=axis))
    assert_equal(kernel.scan(x.T, op="min", axis=-1 - axis), np.minimum.accumulate(x.T, axis=-1 - axis))


@each(SCANS)
def test_a_scan_of_a_fused_map_of_two_arrays_in_place_of_one(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = rng.integers(-99, 99, (2, 1300))
    place, out = in_place(kernel, x)
    kernel.scan(place, on_device(kernel.device, y), map="x*y", out=out)
    assert_equal(on_host(kernel.device, out), np.cumsum(x * y))


@each(SCANS)
def test_a_scan_by_groups_that_take_several_tiles(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tile = kernel.scanned_tile(1500, np.int64)
    shapes = [((5 * tile + 5,), 0), ((4, tile + 1), 1)]
    if kernel.variant.outputs_per_group > 1:
        shapes = [((20, 5 * kernel.variant.block), 0)]
    for shape, axis in shapes:
        x = random_values(rng, np.int32, shape)
        with two_groups(kernel.device, monkeypatch):
            got = kernel.scan(x, axis=axis)
        assert_equal(got, np.cumsum(x, axis=axis))


@each(SCANS)
def test_scans_one_after_the_other_share_a_board(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in (1500, 200, 1500, 1):
        x = random_values(rng, np.int32, size)
        assert_equal(kernel.scan(x), np.cumsum(x))


@each(SCANS)
def test_groups_stand_in_for_those_that_have_not_run(kernel: Kernel, rng: np.random.Generator) -> None:
    if not kernel.variant.together:
        pytest.skip("its groups wait for groups that run alone")
    # The first of five groups come to their second tiles while the last have yet to start.
    slopes, offsets = random_values(rng, np.int32, (2, 11 * kernel.scanned_tile(6000, np.int32, np.int32) + 3))
    slopes |= 1
    expected = [one.astype(np.int32) for one in affine_scan(slopes, offsets)]
    # Not in place: there a stand-in may read what is being written, and then finds the fold posted and takes that.
    for got, one in zip(kernel.scan(slopes, offsets, op=AFFINE, dtype=np.int32), expected, strict=True):
        assert_equal(got, one)


@each([variant for variant in SCANS if variant.name == "lookback"])
def test_looking_back_goes_on_until_all_tiles_before_are_folded(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Without prefixes, but for the first tile's, every group folds the tiles before its own one by one.
    text = kernel.variant.path.read_text()
    posted = "gp_write_status(statuses, at, tag + 1, OP(before, aggregate));"
    assert text.count(posted) == 1
    forgetful = tmp_path / kernel.variant.path.name
    forgetful.write_text(text.replace(posted, ""))
    known = REGISTRY._variants[BACKEND, "scan"]
    monkeypatch.setitem(known, "lookback", dataclasses.replace(kernel.variant, source=forgetful))
    size = (70 if kernel.device.capabilities.warp else 9) * kernel.scanned_tile(1500, np.int64, np.int64) + 3
    slopes, offsets = random_values(rng, np.int64, (2, size)) | 1
    for got, expected in zip(kernel.scan(slopes, offsets, op=AFFINE), affine_scan(slopes, offsets), strict=True):
        assert_equal(got, expected)


# histogram ---------------------------------------------------------------------------------------------------------


def counted(kernel: Kernel, x: Any, *how: Any, **keywords: Any) -> np.ndarray:
    if kernel.variant.name == "bytes" and x.dtype.itemsize > 1:
        pytest.skip("counts bytes alone")
    if kernel.variant.name in ("bytes", "cached") and "weights" in keywords:
        pytest.skip("counts elements alone")
    got, _ = gpuprims.histogram(x, *how, device=kernel.device, variant=kernel.variant.name, **keywords)
    return got if isinstance(got, np.ndarray) else on_host(kernel.device, got)


@each(HISTOGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64"])
def test_histograms_of_even_bins_and_of_others(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    for size in sizes(kernel)[::2]:
        x = rng.integers(0, 90, size).astype(dtype)
        for bins, limits in ((9, (0, 81)), (7, (0.3, 60.2)), ([0, 3, 4, 4, 50, 80], None)):
            assert_equal(counted(kernel, x, bins, limits), np.histogram(x, bins, limits)[0])


@each(HISTOGRAMS)
def test_a_histogram_of_each_row(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (3, 700))
    expected = [np.histogram(row, 9, (-1, 1))[0] for row in x]
    assert_equal(counted(kernel, x, 9, (-1, 1), axis=1), np.array(expected))
    assert_equal(counted(kernel, on_device(kernel.device, x.T), 9, (-1, 1), axis=0), np.array(expected))


@each(HISTOGRAMS)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_histograms_of_weights(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    x, weights = random_values(rng, np.float32, 1501), rng.integers(-9, 9, 1501).astype(dtype)
    for deterministic in (True, False):
        got = counted(kernel, x, 9, (-1, 1), weights=weights, deterministic=deterministic)
        assert_equal(got, np.histogram(x, 9, (-1, 1), weights=weights)[0])


@each(HISTOGRAMS)
def test_counts_of_numbers(kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.integers(0, 300, 2100).astype(np.uint8 if kernel.variant.name == "bytes" else np.int64)
    assert_equal(gpuprims.bincount(x, device=kernel.device, variant=kernel.variant.name), np.bincount(x))


@each(HISTOGRAMS)
def test_a_histogram_by_two_groups(kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    x = rng.integers(0, 100, (4, 2 * kernel.variant.tile + 5 if kernel.variant.block > 1 else 100))
    x = x.astype(np.uint8) if kernel.variant.name == "bytes" else x
    with two_groups(kernel.device, monkeypatch):
        got = counted(kernel, x, 100, (0, 100), axis=1)
    assert_equal(got, np.array([np.bincount(row, minlength=100) for row in x]))


# stencil -----------------------------------------------------------------------------------------------------------

STENCILS = [variant for variant in VARIANTS if variant.primitive == "stencil"]


@each(STENCILS)
@pytest.mark.parametrize("mode", ["reflect", "constant"])
def test_stencils_at_borders(kernel: Kernel, rng: np.random.Generator, mode: str) -> None:
    weights = np.arange(-7, 8).reshape(3, 5)
    for shape in ((1, 1), (3, 30), (21, 70)):
        x = rng.integers(-9, 9, shape).astype(np.int32)
        got = gpuprims.stencil(x, weights, mode=mode, cval=2, device=kernel.device, variant=kernel.variant.name)
        assert_equal(got, ndimage.correlate(x, weights, mode=mode, cval=2))


@each(STENCILS)
def test_stencils_in_two_steps_and_of_channels(kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, (9, 30, 3)).astype(np.float32)
    weights = np.outer([1, 2, 1], [1, 0, 2, 0, 1])
    how = {"device": kernel.device, "variant": kernel.variant.name}
    got = gpuprims.stencil(x, weights * 0.5, mode="reflect", channel_axis=-1, **how)
    expected = [ndimage.correlate(x[..., c], weights * 0.5, mode="reflect") for c in range(3)]
    np.testing.assert_allclose(got, np.stack(expected, -1), rtol=1e-5)


@each(STENCILS)
def test_stencils_of_bytes_three_times(kernel: Kernel, rng: np.random.Generator) -> None:
    means = x = rng.integers(0, 256, (23, 40, 3)).astype(np.uint8)
    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])[..., np.newaxis]
    for _ in range(3):
        means = (ndimage.correlate(means.astype(np.int64), cross, mode="reflect") // 5).astype(np.uint8)
    how = {"device": kernel.device, "variant": kernel.variant.name}
    assert_equal(gpuprims.blur(x, mode="reflect", channel_axis=-1, iterations=3, **how), means)


# segments and compact ----------------------------------------------------------------------------------------------

PLACING = [variant for variant in VARIANTS if variant.primitive == "scan"]
FOLDING = [*PLACING, *(variant for variant in VARIANTS if variant.primitive == "segments")]
OFFSETS = np.array([0, 0, 1, 40, 40, 700, 1024, 1025, 1999, 2003, 2003])


@each(PLACING)
def test_scans_of_segments(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, 2003)
    how = {"segments": OFFSETS, "device": kernel.device, "variant": kernel.variant.name}
    sums = [np.cumsum(run) for run in np.split(x, OFFSETS[1:-1])]
    assert_equal(gpuprims.scan(x, **how), np.concatenate(sums))
    before = [np.append(0, run[:-1]) for run in sums if run.size]
    assert_equal(gpuprims.scan(x, inclusive=False, **how), np.concatenate(before))


@each(FOLDING)
def test_folds_of_segments_some_of_them_empty(kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.int64, 2003), random_values(rng, np.int8, 2003)
    how = {"segments": OFFSETS, "device": kernel.device, "variant": kernel.variant.name}
    expected = np.array([np.sum(run) for run in np.split(x * y, OFFSETS[1:-1])])
    assert_equal(gpuprims.reduce(x, y, map="x*y", **how), expected)


@each(FOLDING)
def test_folds_of_segments_by_an_operator_that_does_not_commute(kernel: Kernel, rng: np.random.Generator) -> None:
    slopes, shifts = random_values(rng, np.int64, 2003) | 1, random_values(rng, np.int64, 2003)
    offsets = np.unique(OFFSETS)
    how = {"op": AFFINE, "segments": offsets, "device": kernel.device, "variant": kernel.variant.name}
    pairs = zip(np.split(slopes, offsets[1:-1]), np.split(shifts, offsets[1:-1]), strict=True)
    expected = np.array([affine_fold(*pair) for pair in pairs])
    assert_equal(np.stack(gpuprims.reduce(slopes, shifts, **how), axis=1), expected)


# Kernels of compact's own, and those of a scan that go by no name of theirs.
COMPACTING = [variant for variant in VARIANTS if variant.primitive == "compact"]
COMPACTING += [variant for variant in PLACING if variant.name not in {own.name for own in COMPACTING}]


@each(COMPACTING)
def test_the_elements_that_a_mask_keeps(kernel: Kernel, rng: np.random.Generator) -> None:
    how = {"device": kernel.device, "variant": kernel.variant.name}
    for size in (1, 200, 2003):
        x, mask = random_values(rng, np.float32, size), rng.random(size) < 0.5
        assert_equal(gpuprims.compact(x, mask, **how), x[mask])
        assert_equal(gpuprims.compact(x, "x > 0", **how), x[x > 0])
    plane = random_values(rng, np.int16, (30, 50))
    assert_equal(gpuprims.compact(plane.T, plane.T > 0, **how), plane.T[plane.T > 0])


@each([variant for variant in PLACING if variant.name == "cpu_chunks"])
def test_chunks_write_side_by_side_what_a_mask_keeps(kernel: Kernel, rng: np.random.Generator) -> None:
    small: Any = kernel.variant.resized(items=300)  # chunks, of which each ends in the middle of a stretch
    for share in (0.02, 0.5, 0.98):
        x, mask = random_values(rng, np.float32, 4001), rng.random(4001) < share
        assert_equal(gpuprims.compact(x, mask, device=kernel.device, variant=small), x[mask])


@each(COMPACTING)
def test_the_elements_that_a_mask_keeps_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.uint8, 2003)
    how = {"device": kernel.device, "variant": kernel.variant.name}
    for mask in (rng.random(2003) < 0.1, np.zeros(2003, bool), np.ones(2003, bool)):
        got = gpuprims.compact(on_device(kernel.device, x), on_device(kernel.device, mask), **how)
        assert_equal(on_host(kernel.device, got), x[mask])


# logistic ----------------------------------------------------------------------------------------------------------

LOGISTICS = [variant for variant in VARIANTS if variant.primitive == "logistic"]


@each(LOGISTICS)
def test_logistic_gradients(kernel: Kernel, rng: np.random.Generator) -> None:
    for n, k in ((1, 3), (300, 5), (70, 40)):
        for shares in (None, rng.random(n).astype("f4")):
            X, y = random_values(rng, np.float32, (n, k)), (rng.random(n) < 0.4).astype("f4")
            weights = random_values(rng, np.float32, k + 1)
            where = {"device": kernel.device, "variant": kernel.variant.name}
            assert_logistic(logistic_gradient(X, y, weights, sample_weight=shares, **where), X, y, weights, shares)


@each(LOGISTICS)
def test_logistic_gradients_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    n, k = 1500, 8  # rows of whole vectors, more than two groups take at once
    X, y = random_values(rng, np.float32, (n, k)), (rng.random(n) < 0.4).astype("f4")
    weights = random_values(rng, np.float32, k)
    resident = [on_device(kernel.device, a) for a in (X, y, weights)]
    got = logistic_gradient(*resident, variant=kernel.variant.name)
    assert_logistic([on_host(kernel.device, one) for one in got], X, y, weights)


@each([variant for variant in LOGISTICS if variant.word_items])
def test_logistic_gradients_of_rows_that_a_whole_group_holds(kernel: Kernel, rng: np.random.Generator) -> None:
    X, y = random_values(rng, np.float32, (3, 1100)), np.float32([0, 1, 1])
    weights = random_values(rng, np.float32, 1100) / 33
    got = logistic_gradient(X, y, weights, device=kernel.device, variant=kernel.variant.name)
    assert_logistic(got, X, y, weights)


# descent -----------------------------------------------------------------------------------------------------------


@each([variant for variant in VARIANTS if variant.primitive == "descent"])
def test_descents(kernel: Kernel, rng: np.random.Generator) -> None:
    how: dict[str, Any] = {"rate": 0.01, "steps": 3, "decay": 0.125}
    for n, k in ((1, 3), (300, 5), (70, 11)):
        for shares in (None, rng.random(n).astype("f4")):
            X, y = random_values(rng, np.float32, (n, k)), (rng.random(n) < 0.4).astype("f4")
            weights = random_values(rng, np.float32, k + 1)
            given = [on_device(kernel.device, a) for a in (X, y, weights)]
            held = None if shares is None else on_device(kernel.device, shares)
            got = logistic_descent(*given, sample_weight=held, variant=kernel.variant.name, **how)
            assert_descended(on_host(kernel.device, got), X, y, weights, shares, **how)


# csr ---------------------------------------------------------------------------------------------------------------

PRODUCTS = [variant for variant in VARIANTS if variant.primitive == "csr"]


@each(PRODUCTS)
def test_products_with_a_sparse_matrix(kernel: Kernel, rng: np.random.Generator) -> None:
    # Rows of every length, some empty, by one lane, by a few and by a warp; the first is the matrix's only long one.
    for longest, n, integer in ((2, 300, "i4"), (14, 70, "i8"), (150, 30, "i4")):
        lengths = rng.integers(0, longest, n)
        lengths[0] = 1200
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(integer)
        data, indices = random_values(rng, np.float32, indptr[-1]), rng.integers(0, 50, indptr[-1]).astype(integer)
        for outputs in (1, 3, 11):
            A, B = sparse.csr_array((data, indices, indptr), (n, 50)), random_values(rng, np.float32, (50, outputs))
            where = {"device": kernel.device, "variant": kernel.variant.name}
            assert_product(csr_product(data, indices, indptr, B, **where), A, B)


@each(PRODUCTS)
def test_products_with_a_sparse_matrix_by_two_groups(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 700 if kernel.variant.block > 1 else 12_000
    indptr = np.arange(0, 2 * n + 1, 2, dtype=np.int32)
    data, indices = random_values(rng, np.float32, 2 * n), rng.integers(0, 9, 2 * n).astype(np.int32)
    A, B = sparse.csr_array((data, indices, indptr), (n, 9)), random_values(rng, np.float32, 9)
    with two_groups(kernel.device, monkeypatch):
        got = csr_product(data, indices, indptr, B, device=kernel.device, variant=kernel.variant.name)
    assert_product(got, A, B)


# descent by single samples -----------------------------------------------------------------------------------------

DESCENTS = [variant for variant in VARIANTS if variant.primitive == "sgd"]
FREE = [variant for variant in VARIANTS if variant.primitive == "hogwild"]


def _walk(rng: np.random.Generator, n: int, k: int, steps: int, dtype: Any = "f4") -> list[np.ndarray]:
    """Return X, y, weights with an intercept, and an order of samples, some of them several times."""
    X, y = random_values(rng, dtype, (n, k)), (rng.random(n) < 0.4).astype(dtype)
    return [X, y, random_values(rng, dtype, k + 1) / np.sqrt(k).astype(dtype), rng.integers(0, n, steps).astype("i4")]


@each(DESCENTS)
def test_steps_by_single_samples(kernel: Kernel, rng: np.random.Generator) -> None:
    where = {"device": kernel.device, "variant": kernel.variant.name}
    for n, k, steps in ((1, 3, 1), (40, 20, 72), (9, 130, 40)):
        for shares in (None, rng.random(n).astype("f4")):
            X, y, weights, order = _walk(rng, n, k, steps)
            how = {"rate": 0.1 if steps == 1 else [0.1, 0.05], "keep": 0.97}
            got = logistic_sgd(X, y, weights, order, sample_weight=shares, **how, **where)
            assert_descent(got, X, y, weights, order, shares=shares, **how)
            got = logistic_sgd(X, y, weights[:k], order, sample_weight=shares, **how, **where)
            assert_descent(got, X, y, weights[:k], order, shares=shares, **how)


@each(DESCENTS)
def test_steps_by_single_samples_on_the_device(kernel: Kernel, rng: np.random.Generator) -> None:
    arrays = _walk(rng, 30, 64, 70, "f8")  # rows of whole vectors
    resident = [on_device(kernel.device, a) for a in arrays]
    got = logistic_sgd(*resident, rate=0.05, variant=kernel.variant.name)
    assert_descent(on_host(kernel.device, got), *arrays, rate=0.05)


@each([variant for variant in DESCENTS if variant.scratch == "products"])
def test_steps_of_groups_as_asked_for(kernel: Kernel, rng: np.random.Generator) -> None:
    arrays = _walk(rng, 30, 40, 21)
    for threads, rows in ((1, 1), (2, 16), (16, 8)):
        how = {"device": kernel.device, "variant": kernel.variant.name}
        got = logistic_sgd(*arrays, rate=0.05, threads_per_datapoint=threads, datapoints_per_block=rows, **how)
        assert_descent(got, *arrays, rate=0.05)


@each(FREE)
def test_steps_without_locks(kernel: Kernel, rng: np.random.Generator) -> None:
    where = {"device": kernel.device, "variant": kernel.variant.name}
    for dtype in ("f4", "f8"):
        arrays = _walk(rng, 30, 40, 45, dtype)
        for threads in (None, 8, 64):
            got = logistic_hogwild(*arrays, rate=0.05, keep=0.97, workers=1, threads_per_datapoint=threads, **where)
            assert_descent(got, *arrays, rate=0.05, keep=0.97)
            together = logistic_hogwild(*arrays, rate=1e-4, workers=5, threads_per_datapoint=threads, **where)
            np.testing.assert_allclose(together, arrays[2], atol=0.05)
            none = np.full((30, 40), np.nan, dtype)  # whose steps are to reach no further than others
            assert np.isnan(logistic_hogwild(none, *arrays[1:], rate=1, threads_per_datapoint=threads, **where)).all()
