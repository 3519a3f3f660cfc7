"""segments/fixed_tiles: which calls take it, and the bits of the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_calls import CompilingDriver, resident
from kernel_cases import AFFINE, FLAT, bits
from other_refusals import refusing

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.geometry import Geometry
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError
from gpuprims.primitives import fixed_scans
from gpuprims.primitives.segments.fixed_tiles import FixedTilesVariant

GPU = usual_device("gpu", 32)
RUN, TILE = 16, 4096


def chosen(dtype: str = "float32", level: str | None = "device", gpu: Any = GPU, arrays: int = 1, **how: Any) -> Any:
    """Return the variant that folds of segments take on a GPU, fitted to the call, and its kernel spec."""
    driver, offsets = CompilingDriver("cuda", gpu), np.array([0, 5, 3000])
    x = [resident(3000, dtype=dtype)] * arrays
    gpuprims.reduce(*x, segments=offsets, device=gpuprims.Device._of(driver), determinism=level, **how)  # type: ignore[arg-type]
    return driver.asked[-1]


@pytest.mark.parametrize(
    ("dtype", "how", "entry"),
    [
        ("float32", {}, "segments_fixed_tiles"),
        ("float64", {"op": "var"}, "segments_fixed_tiles"),
        ("float16", {"op": "mean"}, "segments_fixed_tiles"),
        ("float32", {"op": AFFINE, "arrays": 2}, "segments_fixed_tiles"),
        ("int32", {}, "segments_shares"),
        ("float32", {"op": "max"}, "segments_shares"),
        ("float32", {"level": None}, "segments_shares"),
    ],
)
def test_folds_that_round_take_it_at_the_level_device(dtype: str, how: dict[str, Any], entry: str) -> None:
    assert chosen(dtype, **how)[0].entry == entry


def test_devices_without_shuffles_take_it() -> None:
    variant, _ = chosen(gpu=replace(usual_device("gpu", 0), local_memory=48 << 10))
    assert (variant.entry, variant.block) == ("segments_fixed_tiles", 256)


def test_groups_of_large_values_are_smaller() -> None:
    for dtype, op, block in (("float64", "sum", 256), ("float32", "var", 128), ("float64", "var", 64)):
        variant, spec = chosen(dtype, op=op)
        assert (variant.block, spec.tile_runs) == (block, 256)


def test_values_that_do_not_fit_are_refused() -> None:
    assert chosen("float64", op="var", gpu=replace(GPU, local_memory=16 << 10))[0].primitive == "scan"


def test_more_than_three_levels_of_tiles_are_refused() -> None:
    (variant,) = (one for one in REGISTRY.variants("segments", "cuda") if one.name == "fixed_tiles")
    assert variant.refuse(GPU, replace(FLAT, size=TILE**3)) is None
    assert f"at most {TILE**3} elements" in str(variant.refuse(GPU, replace(FLAT, size=TILE**3 + 1)))


def same(gpu: gpuprims.Device, *arrays: np.ndarray, variant: Any = "fixed_tiles", **how: Any) -> None:
    """Check that a call has the reference's bits, for offsets that it checks before and for those that it knows."""
    there = [gpu.asarray(x) for x in arrays]
    offsets = gpu.asarray(np.array(how.pop("segments")))
    with np.errstate(all="ignore"):
        given = gpu.to_host(offsets)
        expected = gpuprims.reduce(*arrays, device="reference", determinism="device", segments=given, **how)
    for _ in range(2):
        got = gpuprims.reduce(*there, determinism="device", variant=variant, segments=offsets, **how)
        for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, expected)), strict=True):
            assert bits(gpu.to_host(one)) == bits(other)
    gpu.synchronize()  # tells if a call found known offsets wrong


def test_begins_and_ends_of_runs_and_tiles(gpu: gpuprims.Device, rng: np.random.Generator) -> None:
    """Segments that begin and end beside each end of a run, a warp and a tile, and cross some of them."""
    n = 21 * TILE + 5
    ends = [RUN, 3 * RUN, 32 * RUN, TILE - RUN, TILE, TILE + RUN, 3 * TILE, RUN * TILE, 20 * TILE]
    x = rng.standard_normal(n).astype(np.float32)
    for by in (-1, 0, 1):
        for some in (ends, ends[::2], ends[1::3], ends[4:5], ends[-1:]):
            same(gpu, x, segments=[0, *(end + by for end in some), n])


LENGTHS = {
    "up to 7": lambda rng: rng.integers(0, 8, 9000),
    "up to 300": lambda rng: rng.integers(0, 301, 400),
    "tiny ones and huge ones": lambda rng: rng.permutation(np.append(rng.integers(0, 4, 9000), [30_000] * 2)),
    "many that are empty": lambda rng: np.concatenate([[0] * 9000, [3], [0] * 5000, [70_000, 5], [0] * 700]),
    "blocks that are empty": lambda rng: np.repeat([0, 3, 0, 5000, 0, 2], [20_000, 2, 9001, 2, 5000, 1]),
    "two blocks, the second of nothing": lambda rng: [5] + [0] * 8191,
    "one": lambda rng: [TILE * 9 + 1],
    "one of nothing": lambda rng: [0],
}


@pytest.mark.parametrize("lengths", list(LENGTHS))
def test_any_lengths(gpu: gpuprims.Device, rng: np.random.Generator, lengths: str) -> None:
    offsets = np.concatenate([[0], np.cumsum(LENGTHS[lengths](rng))])
    x = rng.standard_normal(offsets[-1]).astype(np.float32)
    x[::911] = np.nan
    x[5:20] = -0.0
    same(gpu, x, segments=offsets)
    same(gpu, x[::-1], segments=offsets)


def test_a_fault_in_a_block_of_empty_segments_is_told(gpu: gpuprims.Device) -> None:
    right = np.repeat([0, 3000, 5000], [1, 13_000, 1])
    x, offsets = gpu.asarray(np.ones(5000, np.float32)), gpu.asarray(right)
    expected = np.append(3000, np.zeros(13_000))
    expected[-1] = 2000
    for _ in range(2):
        got = gpuprims.reduce(x, segments=offsets, variant="fixed_tiles")
        np.testing.assert_array_equal(gpu.to_host(got), expected)
    wrong = right.copy()
    wrong[6000] = 2999
    offsets.set(wrong)
    gpuprims.reduce(x, segments=offsets, variant="fixed_tiles")
    with pytest.raises(ArgumentError, match="right in one call, and wrong in a later one"):
        gpu.synchronize()


@pytest.mark.parametrize("block", [64, 128, 256])
def test_groups_that_take_a_tile_in_parts(gpu: gpuprims.Device, rng: np.random.Generator, block: int) -> None:
    offsets = np.unique(np.concatenate([[0], np.cumsum(rng.zipf(1.3, 900).clip(0, 9000))]))
    x = rng.standard_normal((2, offsets[-1]))
    variant = replace(own(), geometry=Geometry(block, RUN, 4))
    same(gpu, x[0], op="var", segments=offsets, variant=variant)
    same(gpu, *(x.astype(np.float32) / 9 + 1), op=AFFINE, segments=offsets, variant=variant)


def own() -> FixedTilesVariant:
    """Return the variant for OpenCL, which refuses nothing in these tests."""
    return next(
        FixedTilesVariant.of(one) for one in REGISTRY.variants("segments", "opencl") if one.name == "fixed_tiles"
    )


@pytest.mark.parametrize("runs", [64, 256])
def test_levels_of_tiles(
    gpu: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, runs: int
) -> None:
    """Small tiles, so that few elements have several tiles of tiles."""
    variant = replace(own(), geometry=Geometry(64, 2, 4), tile_runs=runs)
    monkeypatch.setattr(fixed_scans, "RUN", 2)
    monkeypatch.setattr(fixed_scans, "TILE", variant.order_tile)
    n = variant.order_tile**2 * 3 + 1001
    x = rng.standard_normal(n).astype(np.float32)
    above = variant.order_tile**2
    for inner in ([], [above], [above - 1, 2 * above], [5, above + 7, 3 * above + 900], rng.integers(0, n, 900)):
        same(gpu, x, segments=np.sort(np.r_[0, inner, n]).astype(np.int64), variant=variant)


def test_inputs_maps_and_masks(gpu: gpuprims.Device, rng: np.random.Generator) -> None:
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 60, 500))])
    x, y = rng.standard_normal((2, offsets[-1])).astype(np.float32)
    same(gpu, x, y, map="x * y + 0.1", segments=offsets)
    given, mask = gpu.asarray(offsets), rng.random(x.size) < 0.5
    how: dict[str, Any] = {"op": "mean", "determinism": "device"}
    got = gpuprims.reduce(gpu.asarray(x), where=gpu.asarray(mask), segments=given, variant="fixed_tiles", **how)
    with np.errstate(all="ignore"):
        expected = gpuprims.reduce(x, where=mask, segments=offsets, device="reference", **how)
    assert bits(gpu.to_host(got)) == bits(expected)


def test_folds_by_keys_read_no_marks(
    gpu: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offsets that a sort of keys gives are known to be right."""
    x, keys = rng.standard_normal(70_000).astype(np.float32), rng.integers(0, 900, 70_000)
    expected = gpuprims.reduce(x, by=keys, device="reference", determinism="device")

    def marked(*_: Any) -> None:
        raise AssertionError("a fold read marks")

    monkeypatch.setattr("gpuprims.primitives.reduce.plan.plan_by_marks", marked)
    with refusing(lambda *_: "is left out here", ("segments", "cpu_tiles")):
        for _ in range(2):
            got = gpuprims.reduce(gpu.asarray(x), by=gpu.asarray(keys), determinism="device")
            assert bits(gpu.to_host(got)) == bits(expected)
