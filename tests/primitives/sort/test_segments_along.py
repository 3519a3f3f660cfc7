"""Sorts of segments along an axis: the same segments of each row, column or plane."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from kernel_cases import assert_equal, on_device, on_host

import gpuprims
from gpuprims.errors import AxisError, ShapeError


def expected(x: np.ndarray, offsets: Sequence[int], axis: int, *, places: bool, descending: bool) -> np.ndarray:
    """Return a sort by NumPy of each segment; elements before the first offset are one too."""
    rows = np.moveaxis(x, axis, -1)
    found = np.empty(rows.shape, np.int64 if places else x.dtype)
    ends = np.unique([0, *offsets, rows.shape[-1]])
    for row in np.ndindex(rows.shape[:-1]):
        for low, high in pairwise(ends):
            own = rows[row][low:high]
            order = np.argsort(-own if descending else own, kind="stable")
            found[row][low:high] = order + low if places else own[order]
    return np.moveaxis(found, -1, axis)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape", [(7, 300), (3, 4, 41), (41, 5)])
def test_each_row_has_the_segments(
    device: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, ...], *, descending: bool
) -> None:
    x = rng.integers(-9, 9, shape).astype(np.float32)
    for axis in range(-1, len(shape) - 1):
        n = shape[axis]
        for offsets in ([0, n], [0, 1, 1, n - 1, n], [0, n // 2, n]):
            how = {"axis": axis, "segments": offsets, "descending": descending, "device": device}
            keys = expected(x, offsets, axis, places=False, descending=descending)
            assert_equal(gpuprims.sort(x, **how), keys)
            places = expected(x, offsets, axis, places=True, descending=descending)
            assert_equal(gpuprims.argsort(x, **how), places)
            there = on_device(device, x)
            own = gpuprims.argsort(there, axis, segments=offsets, descending=descending)
            assert_equal(on_host(device, own), places)


def test_arrays_without_elements(device: gpuprims.Device) -> None:
    x = np.empty((0, 5), np.float32)
    assert gpuprims.sort(x, 1, segments=[0, 2, 5], device=device).shape == (0, 5)
    assert gpuprims.argsort(x, 1, segments=[0, 2, 5], device=device).dtype == np.int64
    assert gpuprims.sort(x, 0, segments=[0, 0], device=device).shape == (0, 5)


def test_what_segments_do_not_go_with(device: gpuprims.Device) -> None:
    x = np.zeros((3, 4), np.float32)
    with pytest.raises(AxisError, match=r"got axis=None \(sort x.reshape\(-1\), with offsets in that\)"):
        gpuprims.sort(x, None, segments=[0, 12], device=device)
    with pytest.raises(AxisError, match="from -2 to 1"):
        gpuprims.argsort(x, 2, segments=[0, 12], device=device)
    with pytest.raises(ShapeError, match="sort: out= of the result's shape"):
        gpuprims.sort(x, 1, segments=[0, 4], out=x[1:].copy(), device=device)
