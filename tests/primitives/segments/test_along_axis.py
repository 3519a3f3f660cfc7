"""segments= along an axis, against NumPy on the segments of each array."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, assert_equal, need, on_device, on_host, random_values
from segments_cases import ACCUMULATE, randomly

import gpuprims
from gpuprims.core.operands import as_operands
from gpuprims.errors import ArgumentError, AxisError, EmptyReductionError, ShapeError
from gpuprims.primitives.segments import along
from gpuprims.primitives.segments.along import Lines

SHAPES = [(7,), (1, 1), (40, 301), (301, 40), (5, 33, 7), (3, 1, 9), (0, 4), (4, 0), (2, 0, 3)]
FOLDS: dict[str, Callable[..., Any]] = {
    "sum": np.sum, "max": np.max, "mean": np.mean, "std": np.std, "any": np.any, "argmin": np.argmin,
    "nanmax": np.nanmax, "count_nonzero": np.count_nonzero,
}  # fmt: skip
OF_NOTHING = ("sum", "any", "count_nonzero")


def folded(function: Callable[..., Any], x: np.ndarray, offsets: np.ndarray, axis: int, **how: Any) -> np.ndarray:
    """Return NumPy's fold of each segment; places count along the axis."""
    found = []
    for begin, end in pairwise(offsets.tolist()):
        part = np.asarray(function(x.take(range(begin, end), axis), axis=axis, **how))
        found.append(part + begin if function is np.argmin else part)
    return np.stack(found, axis)


def filled(rng: np.random.Generator, length: int) -> np.ndarray:
    """Return offsets of segments that have elements."""
    inner = np.sort(rng.permutation(np.arange(1, max(length, 1)))[: length // 3])
    return np.array([0, *inner, length])


@pytest.mark.parametrize("op", FOLDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_folds(device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...], op: str) -> None:
    x = rng.integers(-9, 9, shape).astype(np.float32)
    for given in (x, x.T, x[::-1]):
        for axis in range(-given.ndim, given.ndim):
            length = given.shape[axis]
            if not length and op not in OF_NOTHING:
                continue
            offsets = randomly(rng, length) if op in OF_NOTHING else filled(rng, length)
            expected = folded(FOLDS[op], given, offsets, axis % given.ndim)
            got = gpuprims.reduce(given, op=op, segments=offsets, axis=axis, device=device)
            assert got.shape == expected.shape
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
            if op in ("sum", "max", "argmin", "any"):
                assert_equal(got, expected)


def test_folds_by_offsets_that_the_device_computes(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(along, "_ON_HOST", 0)
    x = rng.integers(-9, 9, (40, 301)).astype(np.float32)
    for axis in (0, 1):
        offsets = randomly(rng, x.shape[axis])
        for given in (offsets, offsets.astype(np.int32)):
            got = gpuprims.reduce(x, segments=given, axis=axis, device=device)
            assert_equal(got, folded(np.sum, x, offsets, axis))


@pytest.mark.parametrize("most", [0, 2**21])
def test_offsets_of_all_rows_are_kept_for_equal_offsets(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(along, "_ON_HOST", 0)
    monkeypatch.setattr(along, "_KEPT", most)
    x = rng.integers(-9, 9, (40, 301)).astype(np.float32)
    there, offsets = on_device(device, x), np.array([0, 7, 301])
    for end in (7, 9, 9, 300, 7):
        offsets[1] = end
        for given in (offsets, on_device(device, offsets)):
            got = on_host(device, gpuprims.reduce(there, segments=given, axis=1))
            assert_equal(got, folded(np.sum, x, offsets, 1))
            got = on_host(device, gpuprims.scan(there, segments=given, axis=1))
            assert_equal(got, np.concatenate([x[:, :end].cumsum(1), x[:, end:].cumsum(1)], 1))


@pytest.mark.parametrize("op", ACCUMULATE)
@pytest.mark.parametrize("shape", SHAPES)
def test_scans(device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...], op: str) -> None:
    need(device, "int64")
    x = rng.integers(0, 3, shape)
    for axis in range(x.ndim):
        offsets = randomly(rng, x.shape[axis])
        parts = [
            np.apply_along_axis(ACCUMULATE[op], axis, x.take(range(begin, end), axis))
            for begin, end in pairwise(offsets.tolist())
            if end > begin and x.size
        ]
        expected = np.concatenate(parts, axis) if parts else x
        got = gpuprims.scan(x, op=op, segments=offsets, axis=axis, device=device)
        assert got.shape == x.shape
        np.testing.assert_array_equal(got, expected)
    if x.size:
        places = gpuprims.scan(x, op="argmax", segments=[0, x.shape[-1]], axis=-1, device=device)
        assert_equal(places, gpuprims.scan(x, op="argmax", axis=-1, device=device))


def test_several_arrays_masks_and_keywords(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, y = rng.integers(-9, 9, (2, 30, 50)).astype(np.float32)
    keep, offsets = rng.random(x.shape) < 0.5, randomly(rng, 30)
    how: dict[str, Any] = {"segments": offsets, "axis": 0, "device": device}
    assert_equal(gpuprims.reduce(x, y, map="x * y", **how), folded(np.sum, x * y, offsets, 0))
    masked = gpuprims.reduce(x, where=keep, initial=3, **how)
    assert_equal(masked, folded(np.sum, x, offsets, 0, initial=3) - folded(np.sum, np.where(keep, 0, x), offsets, 0))
    begun = gpuprims.scan(x, inclusive=False, initial=5, segments=[0, 10, 30], axis=0, device=device)
    assert_equal(begun[[0, 10]], np.full((2, 50), 5, np.float32))
    low, high = gpuprims.reduce(x, op="minmax", segments=[0, 10, 30], axis=0, device=device)
    assert_equal(low, np.stack([x[:10].min(0), x[10:].min(0)]))
    assert_equal(high, np.stack([x[:10].max(0), x[10:].max(0)]))
    slopes = (1 + x / 16, y)
    got = gpuprims.reduce(*slopes, op=AFFINE, segments=[0, 10, 30], axis=0, device=device)
    for one, begin, end in ((0, 0, 10), (1, 10, 30)):
        wanted = gpuprims.reduce(*(s[begin:end] for s in slopes), op=AFFINE, axis=0, device="reference")
        for own, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(own[one], other, rtol=1e-4)


def test_arrays_of_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, (60, 500))
    there = on_device(device, x)
    for axis in (0, 1):
        offsets = filled(rng, x.shape[axis])
        for given in (offsets, on_device(device, offsets), on_device(device, offsets.astype(np.int32))):
            got = gpuprims.reduce(there, op="max", segments=given, axis=axis)
            assert type(got) is type(there)
            assert_equal(on_host(device, got), folded(np.max, x, offsets, axis))
            places = gpuprims.reduce(there, op="argmin", segments=given, axis=axis)
            assert_equal(on_host(device, places), folded(np.argmin, x, offsets, axis))
            scanned = gpuprims.scan(there, op="max", segments=given, axis=axis)
            assert_equal(on_host(device, scanned), gpuprims.scan(x, op="max", segments=offsets, axis=axis))


X = np.ones((2, 3), np.float32)
INDEXED = gpuprims.Op(lambda a, b: a + b, 0, prepare=lambda x, j: x * j)
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "another end": (
        lambda **w: gpuprims.reduce(X, segments=[0, 2], axis=1, **w), ArgumentError,
        "reduce: segments= from 0 to 3, the number of elements; got 0 to 2",
    ),
    "offsets that fall": (
        lambda **w: gpuprims.scan(X, segments=[0, 2, 1, 3], axis=1, **w), ArgumentError, "never decrease; got 2",
    ),
    "an axis": (lambda **w: gpuprims.scan(X, segments=[0, 3], axis=2, **w), AxisError, "axis: from -2 to 1"),
    "two axes": (lambda **w: gpuprims.reduce(X, segments=[0, 3], axis=(0, 1), **w), AxisError, "axis: an int; got"),
    "two shapes": (
        lambda **w: gpuprims.reduce(X, X[0], map="x + y", segments=[0, 3], axis=1, **w), ShapeError,
        "arrays of one shape with segments= along an axis; got (2, 3) and (3,)",
    ),
    "an empty segment": (
        lambda **w: gpuprims.reduce(X, op="max", segments=[0, 0, 3], axis=1, **w), EmptyReductionError, "segment",
    ),
    "out": (
        lambda **w: gpuprims.scan(X, segments=[0, 3], axis=1, out=X[1:].copy(), **w), ShapeError, "out= of the",
    ),
    "an index": (
        lambda **w: gpuprims.reduce(X, op=INDEXED, segments=[0, 3], axis=1, **w), ArgumentError, "without prepare=",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(device: gpuprims.Device, case: str) -> None:
    call, error, message = WRONG[case]
    with pytest.raises(error, match=re.escape(message)):
        call(device=device)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_rows_whose_elements_lie_together_are_not_taken_apart(device: gpuprims.Device, dtype: str) -> None:
    operands = as_operands("reduce", (on_device(device, np.zeros((40, 50), dtype)),), None)
    along_memory, across_memory = Lines.of(operands, (40, 50), 1), Lines.of(operands, (40, 50), 0)
    assert not along_memory.lie_apart(sums=True)
    assert across_memory.lie_apart(sums=False) == (operands.driver.capabilities.kind == "cpu")


@pytest.mark.parametrize("lengths", [(301, 140), (1, 140), (3, 50, 70)])
def test_scans_where_many_rows_lie(device: gpuprims.Device, rng: np.random.Generator, lengths: tuple[int, ...]) -> None:
    x, axis = rng.integers(-9, 9, lengths).astype(np.int32), len(lengths) - 2
    offsets = np.sort([0, 0, lengths[axis] // 3, lengths[axis]])
    operands = as_operands("scan", (on_device(device, x),), None)
    assert Lines.of(operands, lengths, axis).lie_apart(sums=True) == (lengths[axis] > 1)
    found = on_host(device, gpuprims.scan(on_device(device, x), axis=axis, segments=on_device(device, offsets)))
    expected = np.concatenate([np.cumsum(part, axis) for part in np.split(x, offsets[1:-1], axis)], axis)
    assert np.array_equal(found, expected)
