"""segments/shares and segscan/tails, whose groups share elements and segments evenly, and segments/fixed_tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, assert_equal, on_device, on_host, poison, random_values, two_groups
from segments_cases import reduced, runs, scanned, shifted

import gpuprims
from gpuprims.errors import ArgumentError, EmptyReductionError, GpuprimsWarning


def fold(device: gpuprims.Device, *arrays: Any, **keywords: Any) -> Any:
    return gpuprims.reduce(*arrays, device=device, variant="shares", **keywords)


def fold_tiles(device: gpuprims.Device, *arrays: Any, **keywords: Any) -> Any:
    return gpuprims.reduce(*arrays, device=device, variant="fixed_tiles", **keywords)


def scan(device: gpuprims.Device, *arrays: Any, **keywords: Any) -> Any:
    return gpuprims.scan(*arrays, device=device, variant="tails", **keywords)


# Lengths that end in every place of a tile, of a lane's items and of a share; and runs of empty segments.
LENGTHS: dict[str, Callable[[np.random.Generator], Any]] = {
    "up to 3": lambda rng: rng.integers(0, 4, 9000),
    "up to 70": lambda rng: rng.integers(0, 71, 1500),
    "up to 9000": lambda rng: rng.integers(0, 9001, 20),
    "all of 1": lambda rng: np.ones(5000, np.int64),
    "all of 16, a lane's": lambda rng: np.full(900, 16),
    "around a tile of some warps": lambda rng: rng.permutation(
        np.add.outer([64, 128, 256, 512], np.arange(-5, 6)).ravel()
    ),
    "as many as a window": lambda rng: np.repeat([3, 0, 900, 7], [128, 64, 2, 513]),
    "one of many shares": lambda rng: [400_000],
    "tiny ones and huge ones": lambda rng: rng.permutation(np.append(rng.integers(0, 4, 9000), [70_000] * 3)),
    "many more that are empty": lambda rng: np.concatenate([[0] * 20_000, [3], [0] * 9000, [5], [0] * 7000]),
    "heavy tails": lambda rng: rng.zipf(1.3, 2000).clip(0, 20_000),
}


@pytest.mark.parametrize("lengths", list(LENGTHS))
def test_sums_of_segments_of_every_length(gpu: gpuprims.Device, rng: np.random.Generator, lengths: str) -> None:
    poison(gpu)
    offsets = np.concatenate([[0], np.cumsum(LENGTHS[lengths](rng))])
    x = random_values(rng, np.int8, offsets[-1])
    totals = np.concatenate([[0], np.cumsum(x, dtype=np.int64)])
    running = totals[1:] - np.repeat(totals[offsets[:-1]], np.diff(offsets))
    there, given = on_device(gpu, x), on_device(gpu, offsets)
    for _ in range(2):  # the first call checks the offsets before, the second meanwhile
        for function in (fold, fold_tiles):
            assert_equal(on_host(gpu, function(gpu, there, segments=given)), np.diff(totals[offsets]))
        assert_equal(on_host(gpu, scan(gpu, there, segments=given)), running)
    assert_equal(scan(gpu, x, segments=offsets, inclusive=False), running - x)


@pytest.mark.parametrize(
    "lengths", ["up to 70", "around a tile of some warps", "many more that are empty", "heavy tails"]
)
def test_operands_keep_their_order(gpu: gpuprims.Device, rng: np.random.Generator, lengths: str) -> None:
    offsets = np.concatenate([[0], np.cumsum(LENGTHS[lengths](rng))])
    a, b = random_values(rng, np.int64, (2, offsets[-1]))
    how = {"op": AFFINE, "segments": offsets}
    for got, function in ((fold(gpu, a | 1, b, **how), gpuprims.reduce), (scan(gpu, a | 1, b, **how), gpuprims.scan)):
        for one, expected in zip(got, function(a | 1, b, device="reference", **how), strict=True):
            assert_equal(one, expected)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "uint64"])
def test_offsets_of_any_dtype_on_host_and_device(gpu: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    offsets = np.array([0, 0, 3, 64, 64, 100, 127], dtype)
    x = random_values(rng, np.int32, 127)
    there = on_device(gpu, x)
    for given in (offsets, on_device(gpu, offsets), on_device(gpu, np.repeat(offsets, 2))[::2]):
        assert_equal(on_host(gpu, fold(gpu, there, segments=given)), reduced(np.sum, x, offsets))
        assert_equal(on_host(gpu, scan(gpu, there, segments=given)), scanned(x, offsets))


WRONG = {
    "fall": ([0, 50, 40, 90_000], "that never decrease; got 50 before 40 at index 1"),
    "fall at the end": ([0, 90_001, 90_000], "that never decrease; got 90001 before 90000 at index 1"),
    "are below 0": ([0, -(2**40), 90_000], "that never decrease; got 0 before"),
    "go far past the end": ([0, 2**60, 90_000], "that never decrease; got 1152921504606846976 before 90000 at index 1"),
    "begin late": ([1, 90_000], "from 0 to 90000, the number of elements; got 1 to 90000"),
    "end early": ([0, 89_999], "from 0 to 90000, the number of elements; got 0 to 89999"),
    "end late": ([0, 90_001], "from 0 to 90000, the number of elements; got 0 to 90001"),
    "are huge and fall everywhere": (2**62 - np.arange(5000) * 2**48, "from 0 to 90000"),
}


@pytest.mark.parametrize("name", list(WRONG))
def test_wrong_offsets_raise_and_change_nothing(gpu: gpuprims.Device, name: str) -> None:
    offsets, rule = WRONG[name]
    x, given = on_device(gpu, np.ones(90_000, np.float32)), np.array(offsets)
    for one in (given, on_device(gpu, given)):
        for function, size in ((fold, given.size - 1), (fold_tiles, given.size - 1), (scan, 90_000)):
            out = on_device(gpu, np.full(size, 7, np.float32))
            for how in ({}, {"out": out}):
                with pytest.raises(ArgumentError, match=f"segments= {rule}"):
                    function(gpu, x, segments=one, **how)
            assert_equal(on_host(gpu, out), np.full(size, 7, np.float32))
    for function in (fold, fold_tiles):  # finds its counters zero
        assert_equal(on_host(gpu, function(gpu, x, segments=[0, 4, 90_000])), np.float32([4, 89_996]))


def test_an_empty_segment_raises_and_changes_nothing(gpu: gpuprims.Device) -> None:
    x, out = on_device(gpu, np.ones(9000, np.float32)), on_device(gpu, np.full(3, 7, np.float32))
    for function in (fold, fold_tiles):
        with pytest.raises(EmptyReductionError, match=r"reduce with max: .*; got an empty segment"):
            function(gpu, x, op="max", segments=[0, 5, 5, 9000], out=out)
    assert_equal(on_host(gpu, out), np.full(3, 7, np.float32))


def test_few_groups_that_take_many_tiles(
    gpu: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = rng.permutation(np.concatenate([rng.integers(0, 30, 4001), [0] * 900, [30_000, 9000]]))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = random_values(rng, np.int32, offsets[-1])
    with two_groups(gpu, monkeypatch):
        for function in (fold, fold_tiles):
            assert_equal(function(gpu, x, segments=offsets), reduced(np.sum, x, offsets))
        assert_equal(scan(gpu, x, segments=offsets), scanned(x, offsets))


def test_moments_and_places(gpu: gpuprims.Device, rng: np.random.Generator) -> None:
    offsets = np.concatenate([[0], np.cumsum(rng.permutation(np.append(rng.integers(1, 50, 900), [8192, 4000])))])
    x = rng.standard_normal(offsets[-1]).astype(np.float32) + 100
    exact = x.astype(np.float64)
    for op, function, rtol in (("mean", np.mean, 1e-6), ("var", np.var, 1e-4)):
        np.testing.assert_allclose(fold(gpu, x, op=op, segments=offsets), reduced(function, exact, offsets), rtol=rtol)
    whole = np.round(x * 2)  # many values are equal
    places = [first + np.argmax(run) for first, run in zip(offsets[:-1], runs(whole, offsets), strict=True)]
    assert_equal(fold(gpu, whole, op="argmax", segments=offsets), np.int64(places))
    before = np.concatenate([np.arange(run.size) for run in runs(x, offsets)])
    sums = shifted(scanned(whole.astype(np.float64), offsets), offsets, 0)
    with np.errstate(invalid="ignore"):
        got = scan(gpu, whole, op="mean", segments=offsets, inclusive=False)
        np.testing.assert_allclose(got, sums / before, rtol=1e-6)


def test_parts_of_arrays(gpu: gpuprims.Device, rng: np.random.Generator) -> None:
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 60, 500))])
    x, y = random_values(rng, np.int16, 2 * offsets[-1])[::-2], random_values(rng, np.int32, offsets[-1] + 3)[3:]
    product = x * y.astype(np.int64)
    assert_equal(fold(gpu, x, y, map="x * int64(y)", segments=offsets), reduced(np.sum, product, offsets))
    out = np.zeros(2 * offsets[-1], np.int64)
    scan(gpu, x, y, map="x * int64(y)", segments=offsets, out=out[1::2])
    assert_equal(out[1::2], scanned(product, offsets))
    assert not out[::2].any()


@pytest.mark.parametrize("call", [fold, fold_tiles, scan])
def test_an_array_of_offsets_that_becomes_wrong_is_told_later(gpu: gpuprims.Device, call: Callable[..., Any]) -> None:
    x = on_device(gpu, np.ones(5000, np.float32))
    right, wrong = np.array([0, 10, 3000, 5000]), np.array([0, 3000, 10, 5000])
    offsets = on_device(gpu, right)
    expected = on_host(gpu, call(gpu, x, segments=offsets))
    for ask in (gpu.synchronize, lambda: [call(gpu, x, segments=on_device(gpu, right)) for _ in range(100)]):
        assert_equal(on_host(gpu, call(gpu, x, segments=offsets)), expected)
        gpu.synchronize()
        offsets.set(wrong)
        call(gpu, x, segments=offsets)  # an earlier call found this array right, so this one does not wait
        with pytest.raises(ArgumentError, match="right in one call, and wrong in a later one"):
            ask()
        with pytest.raises(ArgumentError, match="never decrease"):  # now it waits again
            call(gpu, x, segments=offsets)
        offsets.set(right)
        assert_equal(on_host(gpu, call(gpu, x, segments=offsets)), expected)


def test_a_fault_that_nobody_asks_for_is_told_at_the_end(gpu: gpuprims.Device) -> None:
    offsets = on_device(gpu, np.array([0, 5]))
    for end in (5, 6):
        offsets.set(np.array([0, end]))
        fold(gpu, on_device(gpu, np.ones(5, np.float32)), segments=offsets)
    with pytest.warns(GpuprimsWarning, match="right in one call, and wrong in a later one"):
        gpu.faults.warn()
    gpu.faults.warn()  # once


@pytest.mark.parametrize("count", [3, 3000])
@pytest.mark.parametrize("call", [fold, fold_tiles, scan])
def test_copies_of_offsets_are_right_for_good(
    gpu: gpuprims.Device,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[..., Any],
    count: int,
) -> None:
    x = random_values(rng, np.int32, 70_000)
    there, offsets = on_device(gpu, x), np.sort(rng.integers(0, x.size, count + 1))
    offsets[[0, -1]] = 0, x.size
    wide = x.astype(np.int64)
    expected = scanned(wide, offsets) if call is scan else reduced(np.sum, wide, offsets)
    asked: list[Any] = []
    for _ in range(4):
        assert_equal(on_host(gpu, call(gpu, there, segments=offsets.copy())), expected)
        monkeypatch.setattr(gpu.faults, "add", lambda *report: asked.append(report))
    assert not asked
    shorter = on_device(gpu, x[:-1].copy())  # right for other arrays, and wrong for this one
    for _ in range(2):
        with pytest.raises(ArgumentError, match="segments= from 0 to 69999"):
            call(gpu, shorter, segments=offsets)
