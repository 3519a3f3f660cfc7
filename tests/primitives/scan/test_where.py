"""scan with where=: elements that a mask leaves out, in every kernel and every kind of scan."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, on_device, on_host
from scan_cases import COLUMNS

import gpuprims
from gpuprims import Op
from gpuprims.errors import ArgumentError, ArrayError, DtypeError, ShapeError


@pytest.mark.parametrize("shape", ["flat", "columns"])
def test_every_kernel_leaves_elements_out(scan_kernel: Kernel, rng: np.random.Generator, shape: str) -> None:
    x = rng.integers(-9, 9, scan_kernel.several_scanned if shape == "flat" else COLUMNS).astype(np.float32)
    mask = rng.random(x.shape) < 0.4
    most = np.maximum.accumulate(np.where(mask, x, -5), axis=0)
    assert_equal(scan_kernel.scan(x, op="max", axis=0, where=mask, initial=-5), np.maximum(most, -5))


def test_parts_of_arrays_and_masks_that_broadcast(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (7, 60, 5)).astype(np.float32)[:, ::-2]
    for mask, axis in ((rng.random((30, 1)) < 0.5, 1), (rng.random(5) < 0.5, 0), (np.False_, None), (np.True_, 1)):
        expected = np.cumsum(np.where(mask, x, 0), axis=axis)
        assert_equal(gpuprims.scan(x, axis=axis, where=mask, device=device), expected)
    for op, identity in (("sum", 0), ("prod", 1)):
        whole = rng.choice([-1, 1], 500).astype(np.int32)
        mask = rng.random(500) < 0.5
        accumulate = (np.add if op == "sum" else np.multiply).accumulate
        expected = accumulate(np.where(mask, whole, identity)[::-1], dtype=np.int64)[::-1]
        assert_equal(gpuprims.scan(whole, op=op, where=mask, reverse=True, device=device), expected)


def test_means_and_places_count_what_is_kept(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, mask = rng.integers(0, 9, 400).astype(np.float64), rng.random(400) < 0.5
    mask[0] = True
    expected = np.cumsum(np.where(mask, x, 0)) / np.cumsum(mask)
    np.testing.assert_allclose(gpuprims.scan(x, op="mean", where=mask, device="reference"), expected, rtol=1e-15)
    twice = gpuprims.scan(x.astype(np.float32), x.astype(np.float32), map="x + y", where=mask, device=device)
    assert_equal(twice, np.cumsum(np.where(mask, 2 * x, 0)).astype(np.float32))


def test_segments_keys_plans_and_arrays_of_the_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, mask, offsets = rng.integers(-9, 9, 600).astype(np.float32), rng.random(600) < 0.5, [0, 100, 100, 600]
    kept = np.where(mask, x, 0)
    parts = np.concatenate([np.cumsum(kept[first:last]) for first, last in pairwise(offsets)])
    keys = rng.integers(0, 3, 600)
    for _ in range(2):
        got = gpuprims.scan(on_device(device, x), where=on_device(device, mask), device=device)
        assert_equal(on_host(device, got), np.cumsum(kept))
        assert_equal(gpuprims.scan(x, where=mask, segments=offsets, initial=2, device=device), parts + 2)
    got = gpuprims.scan(x, where=mask, by=keys, device=device)
    for key in range(3):
        assert_equal(got[keys == key], np.cumsum(kept[keys == key]))
    assert_equal(
        gpuprims.plan("scan", x, where=mask, device=device)(x[::-1].copy(), mask), np.cumsum(np.where(mask, x[::-1], 0))
    )
    rows, marks = x.reshape(3, 200), mask.reshape(3, 200)
    got = gpuprims.scan(rows, where=marks, segments=[0, 50, 200], axis=1, device=device)
    assert_equal(got[:, 50:], np.cumsum(kept.reshape(3, 200)[:, 50:], axis=1))


def test_operators_of_ones_own(device: gpuprims.Device, rng: np.random.Generator) -> None:
    a, b = rng.integers(1, 3, (2, 50))
    affine = Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (1, 0), name="affine")
    mask = rng.random(50) < 0.2
    got = gpuprims.scan(a, b, op=affine, where=mask, device=device)
    expected = gpuprims.scan(np.where(mask, a, 1), np.where(mask, b, 0), op=affine, device="reference")
    for one, other in zip(got, expected, strict=True):
        assert_equal(one, other)


X = np.arange(6.0).reshape(2, 3)
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "a mask of integers": ({"where": [1, 0, 1]}, DtypeError, r"scan with sum: where= of bools; got int64"),
    "a larger mask": ({"where": np.ones((4, 2, 3), bool)}, ShapeError, r"scan: where= that broadcasts to the arrays'"),
    "an extreme of nothing": ({"op": "min", "where": X > 1}, ArgumentError, "scan with min: initial= beside where="),
    "a function": ({"where": "x > 1"}, ArrayError, "scan: where= an array of bools; got 'x > 1'"),
}


@pytest.mark.parametrize(("how", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_meaning_is_refused(how: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gpuprims.scan(X, device="reference", **how)
