"""scan under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, Kernel, affine_scan, assert_equal, on_device, on_host, random_values, two_groups
from watched_kernels import BACKEND, each, of, scan_sizes

from gpuprims.core.registry import REGISTRY

pytestmark = pytest.mark.oclgrind

SCANS = of("scan")


@each(SCANS)
def test_a_running_sum_of_one_tile_and_of_several(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in scan_sizes(kernel, np.int64):
        x = random_values(rng, np.int32, size)
        assert_equal(kernel.scan(x), np.cumsum(x))


@each(SCANS)
@pytest.mark.parametrize("dtype", ["float16", "float64", "complex64", "bool"])
def test_running_sums_of_other_values(kernel: Kernel, rng: np.random.Generator, dtype: str) -> None:
    kernel.need(dtype)
    x = rng.integers(0, 2, 600).astype(dtype)  # each dtype holds these sums exactly
    assert_equal(kernel.scan(x), np.cumsum(x))


def in_place(kernel: Kernel, x: np.ndarray) -> tuple[Any, Any]:
    """Return an array on the device and the array to write to: the same, but for kernels that read others' tiles.

    There a group may read a tile that another group is writing. It then finds that tile's aggregate and drops the value
    that it read, but Oclgrind reports the race. Round_robin's groups do so if a tile's aggregate is late, so it writes
    in place what is one tile.
    """
    place, name = on_device(kernel.device, x), kernel.variant.name
    late = (
        name in ("round_robin", "fixed_round_robin")
        and BACKEND == "opencl"
        and x.size > kernel.scanned_tile(x.size, x.dtype)
    )
    apart = late or name in ("lookback", "columns", "column_runs")
    return place, on_device(kernel.device, x) if apart else place


@each(SCANS)
def test_an_exclusive_max_in_place(kernel: Kernel, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 600)
    expected = np.append(np.float32(-np.inf), np.maximum.accumulate(x)[:-1])
    place, out = in_place(kernel, x)
    kernel.scan(place, op="max", inclusive=False, out=out)
    assert_equal(on_host(kernel.device, out), expected)


@each(SCANS)
@pytest.mark.parametrize("inclusive", [True, False])
def test_a_scan_by_an_operator_that_does_not_commute(
    kernel: Kernel, rng: np.random.Generator, *, inclusive: bool
) -> None:
    slopes, offsets = random_values(rng, np.int64, 600) | 1, random_values(rng, np.int64, 600)
    scanned = kernel.scan(slopes, offsets, op=AFFINE, inclusive=inclusive)
    for got, expected, nothing in zip(scanned, affine_scan(slopes, offsets), (1, 0), strict=True):
        assert_equal(got, expected if inclusive else np.append(nothing, expected[:-1]))


@each(SCANS)
def test_a_scan_of_several_lines(kernel: Kernel, rng: np.random.Generator) -> None:
    x, within = random_values(rng, np.int16, (3, 300)), random_values(rng, np.int16, (5, 40, 3))
    assert_equal(kernel.scan(x, axis=1), np.cumsum(x, axis=1))
    assert_equal(kernel.scan(x.T, op="min", axis=0), np.minimum.accumulate(x.T, axis=0))
    assert_equal(kernel.scan(within, axis=1), np.cumsum(within, axis=1))


@each(SCANS)
def test_a_scan_of_a_fused_map_of_two_arrays_in_place_of_one(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in (60, 601):
        x, y = rng.integers(-99, 99, (2, size))
        place, out = in_place(kernel, x)
        kernel.scan(place, on_device(kernel.device, y), map="x*y", out=out)
        assert_equal(on_host(kernel.device, out), np.cumsum(x * y))


@each(SCANS)
def test_a_scan_by_groups_that_take_several_tiles(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tile = kernel.scanned_tile(1500, np.int64)
    shapes = [((3 * tile + 5,), 0), ((3, tile + 1), 1)]
    if kernel.variant.outputs_per_group > 1:
        shapes = [((20, 5 * kernel.variant.block if kernel.variant.scratch == "levels" else 40), 0)]
    if kernel.by_columns:  # a tile has all of two rows, so no groups share a strip
        shapes = [((2, 40 * kernel.variant.block), 0)]
    if kernel.variant.name in ("fixed_rows", "fixed_columns"):
        shapes = [((400, 20), 1)] if kernel.variant.name == "fixed_rows" else [((1030, 33), 0)]
    for shape, axis in shapes:
        x = random_values(rng, np.int32, shape)
        with two_groups(kernel.device, monkeypatch):
            got = kernel.scan(x, axis=axis)
        assert_equal(got, np.cumsum(x, axis=axis))


@each(SCANS)
def test_scans_one_after_the_other_share_a_board(kernel: Kernel, rng: np.random.Generator) -> None:
    for size in (300, 70, 300, 1):
        x = random_values(rng, np.int32, size)
        assert_equal(kernel.scan(x), np.cumsum(x))


@each(SCANS)
def test_groups_stand_in_for_those_that_have_not_run(kernel: Kernel, rng: np.random.Generator) -> None:
    if not kernel.variant.together:
        pytest.skip("its groups wait for groups that run alone")
    # The first of five groups reach their second tiles before the last groups start.
    slopes, offsets = random_values(rng, np.int32, (2, 11 * kernel.scanned_tile(6000, np.int32, np.int32) + 3))
    slopes |= 1
    expected = [one.astype(np.int32) for one in affine_scan(slopes, offsets)]
    # Not in place, as in `in_place`.
    for got, one in zip(kernel.scan(slopes, offsets, op=AFFINE, dtype=np.int32), expected, strict=True):
        assert_equal(got, one)


@each([variant for variant in SCANS if variant.name == "lookback"])
def test_looking_back_goes_on_until_all_tiles_before_are_folded(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Only the first tile has an inclusive prefix, so each group folds all tiles before its own.
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


@each([variant for variant in SCANS if variant.by_rows])
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_rows_cut_from_longer_ones(kernel: Kernel, rng: np.random.Generator, axis: int | None) -> None:
    whole = random_values(rng, np.int32, (3, 9, 75))
    for x in (whole[..., 3:], whole[:, :, 70:], whole.transpose(1, 0, 2)):
        assert_equal(kernel.scan(x, axis=axis), np.cumsum(x, axis=axis))


@each(SCANS)
def test_elements_in_reverse_and_apart(kernel: Kernel, rng: np.random.Generator) -> None:
    views = {
        ("int16", (3, 103)): (lambda x: x.ravel()[::-1], lambda x: x[:, 3:]),
        ("float32", (2, 173)): (lambda x: x.ravel()[1::2], lambda x: x[:, ::-1]),
    }
    for (dtype, shape), two in views.items():
        whole = rng.integers(-9, 9, shape).astype(dtype)  # float32 holds each sum
        for view in two:
            x = view(whole)
            if kernel.device.backend == "opencl":
                assert_equal(kernel.scan(x), np.cumsum(x))
            else:  # which gets contiguous copies of host arrays
                assert_equal(on_host(kernel.device, kernel.scan(view(on_device(kernel.device, whole)))), np.cumsum(x))
