"""Host arrays larger than a device's memory: the same results, a slab at a time."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, affine_fold, assert_equal, need, random_values

import gpuprims
from gpuprims.errors import NoVariantError
from gpuprims.primitives import pipeline, slabs


@pytest.fixture(autouse=True)
def _in_slabs(small: gpuprims.Device, uploads: list[int]) -> Iterator[None]:
    """Check that no upload is larger than a slab."""
    yield
    assert max(uploads) <= slabs.slab_bytes(small)


SHAPES = [(100_003,), (317, 331), (3, 5, 7001), (1, 50_021, 3), (1, 1, 70_000)]


@pytest.mark.parametrize("shape", SHAPES)
def test_map(small: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x, y = random_values(rng, np.int32, (2, *shape))
    assert_equal(gpuprims.map("x - 3*y", x, y, device=small), x - 3 * y)
    several = gpuprims.map("(x * 2, y > x)", x, y[..., :1], device=small)
    assert_equal(several[0], np.broadcast_to(x * 2, shape))
    assert_equal(several[1], y[..., :1] > x)


def test_an_error_on_a_slab_reaches_the_caller(small: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    x, calls, empty = np.arange(100_000, dtype=np.int16), itertools.count(), small.driver.empty

    def fails(*asked: Any) -> Any:
        if asked[1] == np.int16 and next(calls) == 20:
            raise gpuprims.errors.DeviceMemoryError("a device", 1, 0)
        return empty(*asked)

    monkeypatch.setitem(vars(small.driver), "empty", fails)  # gone afterwards, as setattr would leave the method
    with pytest.raises(gpuprims.errors.DeviceMemoryError):
        gpuprims.map("x + 1", x, device=small)
    assert_equal(gpuprims.map("x + 1", x, device=small), x + 1)


def test_the_next_upload_begins_before_a_kernel(small: gpuprims.Device, link: Any, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int32, 100_003)
    assert_equal(gpuprims.map("x + 1", x, device=small), x + 1)
    assert link.most == (pipeline._AHEAD if link.begun else 0)


def test_calls_of_several_threads(small: gpuprims.Device, rng: np.random.Generator) -> None:
    x, right = rng.integers(0, 9, (4, 30_001), dtype=np.int32), list[bool]()

    def call(row: np.ndarray) -> None:
        right.append(np.array_equal(gpuprims.scan(row, device=small), np.cumsum(row)))

    threads = [threading.Thread(target=call, args=(row,)) for row in x]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4


def test_map_of_vectors_and_out(small: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (4, 90, 170))
    assert_equal(gpuprims.map(lambda p: p[::-1], x, vector_axis=0, device=small), x[::-1])
    out = np.empty((170, 90), np.float32).T
    assert gpuprims.map(lambda p: p[0] + p[3], x, vector_axis=0, out=out, device=small) is out
    assert_equal(out, x[0] + x[3])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("op", ["sum", "max", "argmin", "any", "count_nonzero"])
def test_reduce(small: gpuprims.Device, rng: np.random.Generator, op: str, shape: tuple[int, ...]) -> None:
    x = rng.integers(0, 1000, shape, dtype=np.int32)
    function = getattr(np, op)
    assert_equal(gpuprims.reduce(x, op=op, device=small), np.asarray(function(x))[()])
    for axis in range(len(shape)):
        assert_equal(gpuprims.reduce(x, op=op, axis=axis, device=small), function(x, axis=axis))


def test_several_axes_and_out(small: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.int16, (30, 40, 50))
    for axes in ((0, 1), (0, 2), (1, 2)):
        kept = gpuprims.reduce(x, axis=axes, keepdims=True, device=small)
        assert_equal(kept, x.sum(axis=axes, keepdims=True))
        out = np.empty(x.sum(axis=axes).shape, np.int64)
        assert gpuprims.reduce(x, axis=axes, out=out, device=small) is out
        assert_equal(out, x.sum(axis=axes))


def test_mean_and_spread_count_all_slabs(small: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.standard_normal((400, 300)).astype(np.float32) + 1000
    for op in ("mean", "var", "std"):
        expected = getattr(np, op)(x, axis=0, dtype=np.float64)
        np.testing.assert_allclose(gpuprims.reduce(x, op=op, axis=0, device=small), expected, rtol=2e-5)
        np.testing.assert_allclose(
            gpuprims.reduce(x, op=op, device=small), getattr(np, op)(x, dtype=np.float64), rtol=2e-5
        )


def test_order_is_kept(small: gpuprims.Device, rng: np.random.Generator) -> None:
    slopes, offsets = random_values(rng, np.int64, (2, 40_007)) | 1
    assert gpuprims.reduce(slopes, offsets, op=AFFINE, device=small) == affine_fold(slopes, offsets)


def test_a_fused_map_sees_broadcast_arrays(small: gpuprims.Device, rng: np.random.Generator) -> None:
    need(small, np.float64)
    x, w = rng.standard_normal((500, 60)), rng.standard_normal(60)
    got = gpuprims.reduce(x, w, map="x*w", axis=1, device=small)
    np.testing.assert_allclose(got, x @ w, rtol=1e-10, atol=1e-10)


def test_the_first_place_is_found_across_slabs(small: gpuprims.Device) -> None:
    x = np.zeros((50, 1001), np.float32)
    x[7, 900] = x[7, 901] = x[40, 3] = 5
    assert gpuprims.reduce(x, op="argmax", device=small) == 7 * 1001 + 900
    x[20, 20] = np.nan
    assert gpuprims.reduce(x, op="argmax", device=small) == 20 * 1001 + 20


def _before(folded: np.ndarray, axis: int, nothing: int) -> np.ndarray:
    """Return the exclusive scan, given the inclusive one."""
    before = np.roll(folded, 1, axis)
    before[(slice(None),) * axis + (0,)] = nothing
    return before


@pytest.mark.parametrize("shape", SHAPES)
def test_scan(small: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x = rng.integers(-1000, 1000, shape, dtype=np.int32)
    assert_equal(gpuprims.scan(x, device=small), np.cumsum(x))
    assert_equal(gpuprims.scan(x, inclusive=False, device=small), _before(np.cumsum(x), 0, 0))
    for axis in range(len(shape)):
        assert_equal(gpuprims.scan(x, axis=axis, device=small), np.cumsum(x, axis=axis))
        assert_equal(gpuprims.scan(x, op="max", axis=axis, device=small), np.maximum.accumulate(x, axis=axis))
        got = gpuprims.scan(x, axis=axis, where=x % 3 == 0, device=small)
        assert_equal(got, np.cumsum(np.where(x % 3 == 0, x, 0), axis=axis))
        got = gpuprims.scan(x, axis=axis, inclusive=False, device=small)
        assert_equal(got, _before(np.cumsum(x, axis=axis), axis, 0))


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_sizes_around_the_ends_of_slabs(small: gpuprims.Device, rng: np.random.Generator, extra: int) -> None:
    for count in (13, 14, 15):
        x = rng.integers(-9, 9, count * (slabs.slab_bytes(small) // 12) + extra, dtype=np.int32)  # and int64 results
        assert_equal(gpuprims.scan(x, device=small), np.cumsum(x))
        assert_equal(gpuprims.scan(x, inclusive=False, device=small), _before(np.cumsum(x), 0, 0))
        x = rng.integers(-9, 9, count * (slabs.slab_bytes(small) // 8) + extra, dtype=np.int32)
        assert_equal(gpuprims.map("-x", x, device=small), -x)


def test_scan_of_any_layout_into_any(small: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (300, 301), dtype=np.int32)
    assert_equal(gpuprims.scan(x.T, device=small), np.cumsum(x.T))
    assert_equal(gpuprims.scan(x.T, inclusive=False, device=small), _before(np.cumsum(x.T), 0, 0))
    assert_equal(gpuprims.scan(x, x[0], map="x*y", device=small), np.cumsum(x * x[0]))
    out = np.empty((301, 600), np.int64).T[::2]
    assert gpuprims.scan(x, axis=0, out=out, device=small) is out
    assert_equal(out, np.cumsum(x, axis=0))
    for inclusive in (True, False):
        y = x.astype(np.int64).reshape(-1)
        assert gpuprims.scan(y, out=y, inclusive=inclusive, device=small) is y
        assert_equal(y, np.cumsum(x) if inclusive else _before(np.cumsum(x), 0, 0))


def test_scan_from_the_end(small: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (301, 333), dtype=np.int32)
    back = np.cumsum(x.ravel()[::-1])[::-1]
    assert_equal(gpuprims.scan(x, reverse=True, device=small), back)
    assert_equal(gpuprims.scan(x.T, reverse=True, device=small), np.cumsum(x.T.ravel()[::-1])[::-1])
    exclusive = gpuprims.scan(x, reverse=True, inclusive=False, initial=5, device=small)
    assert_equal(exclusive, np.append(back[1:], 0) + 5)
    for axis in (0, 1):
        expected = np.flip(np.cumsum(np.flip(x, axis), axis=axis), axis)
        out = np.empty((301, 666), np.int64)[:, ::2]
        assert_equal(gpuprims.scan(x, axis=axis, reverse=True, out=out, device=small), expected)
    y = x.astype(np.int64).reshape(-1)
    assert_equal(gpuprims.scan(y, reverse=True, out=y, device=small), back)
    z = rng.permutation(50_021).astype(np.float32)
    found = gpuprims.scan(z, op="argmax", reverse=True, device=small)
    assert_equal(z[found], np.maximum.accumulate(z[::-1])[::-1])


def test_scan_keeps_order_counts_and_places(small: gpuprims.Device, rng: np.random.Generator) -> None:
    slopes, offsets = random_values(rng, np.int64, (2, 20_003)) | 1
    folded = gpuprims.scan(slopes, offsets, op=AFFINE, device=small)
    for n in (1, 1000, 20_003):
        assert tuple(one[n - 1] for one in folded) == affine_fold(slopes[:n], offsets[:n])
    x = rng.random(50_021, np.float32)
    mean = np.cumsum(x, dtype=np.float64) / np.arange(1, x.size + 1)
    np.testing.assert_allclose(gpuprims.scan(x, op="mean", device=small), mean, rtol=1e-5)
    found = gpuprims.scan(x, op="argmax", device=small)
    assert_equal(x[found], np.maximum.accumulate(x))
    sums = gpuprims.scan(x, device=small)
    np.testing.assert_allclose(sums, np.cumsum(x, dtype=np.float64), rtol=1e-5)
    assert_equal(sums, gpuprims.scan(x, device=small))  # bit for bit
    x[30_000] = np.nan
    assert_equal(np.isnan(gpuprims.scan(x, device=small)), np.arange(x.size) >= 30_000)


@pytest.mark.whole
def test_scans_at_levels_are_exact_or_raise(small: gpuprims.Device, rng: np.random.Generator) -> None:
    """Sums of floats that go on from slab to slab would depend on the room that a device has."""
    x = (rng.standard_normal(30_021) * 2.0 ** rng.integers(-60, 60, 30_021)).astype(np.float32)
    with gpuprims.use_determinism("order"):
        for how in ({}, {"inclusive": False}, {"reverse": True}):
            assert_equal(gpuprims.scan(x, device=small, **how), gpuprims.scan(x, device="reference", **how))
    with pytest.raises(NoVariantError, match="scans of arrays larger than the device's memory"):
        gpuprims.scan(x, device=small, determinism="device")


@pytest.mark.parametrize("shape", SHAPES)
def test_compact(small: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x, mask = random_values(rng, np.int32, shape), rng.random(shape) < 0.3
    assert_equal(gpuprims.compact(x, mask, device=small), x[mask])
    assert_equal(gpuprims.compact(x, "x % 3 == 0", device=small), x[x % 3 == 0])
    assert_equal(gpuprims.compact(x.T, mask.T, device=small), x.T[mask.T])
    assert gpuprims.compact(x, "x != x", device=small).shape == (0,)


@pytest.mark.parametrize("shape", [(100_003,), (317, 331), (3, 5, 7001)])
def test_histogram(small: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    x, w = rng.random(shape, np.float32), rng.integers(-9, 9, shape).astype(np.int32)
    for bins, limits in ((10, None), (77, (0.2, 0.9)), ([0, 0.1, 0.5, 2], None)):
        for how in ({}, {"weights": w}, {"density": True}):
            got, expected = (
                gpuprims.histogram(x, bins, limits, device=small, **how),
                np.histogram(x, bins, limits, **how),
            )
            np.testing.assert_allclose(got[0], expected[0], rtol=1e-12)
            assert_equal(got[1], expected[1])
    if len(shape) > 1:
        rowwise, _ = gpuprims.histogram(x, 9, (0, 1), axis=0, device=small)
        rows = np.moveaxis(x, 0, -1).reshape(-1, shape[0])
        assert_equal(rowwise.reshape(-1, 9), np.array([np.histogram(row, 9, (0, 1))[0] for row in rows]))


def test_histogram_of_elements_that_are_not_finite(small: gpuprims.Device) -> None:
    x = np.zeros(100_000, np.float32)
    x[77_777] = np.nan
    with pytest.raises(gpuprims.errors.ArgumentError, match="finite"):
        gpuprims.histogram(x, device=small)


def test_bincount(small: gpuprims.Device, rng: np.random.Generator) -> None:
    x, w = np.sort(rng.integers(0, 3000, 90_001)), rng.random(90_001)
    assert_equal(gpuprims.bincount(x, device=small), np.bincount(x))
    assert_equal(gpuprims.bincount(x, minlength=4000, device=small), np.bincount(x, minlength=4000))
    np.testing.assert_allclose(gpuprims.bincount(x, w, device=small), np.bincount(x, w), rtol=1e-12)
    rows = rng.integers(0, 50, (300, 400))
    expected = np.array([np.bincount(row, minlength=50) for row in rows])
    assert_equal(gpuprims.bincount(rows, axis=1, minlength=50, device=small), expected)
