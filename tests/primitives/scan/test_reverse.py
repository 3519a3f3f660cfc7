"""Scans from the end: every variant of every device against NumPy's scan of the reversed array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, DTYPES, LAYOUTS, Kernel, affine_scan, assert_equal, on_device, on_host, random_values
from scan_cases import COLUMNS, NUMPY, affine_pair

import gpuprims
from gpuprims.errors import ArgumentError


def backward(op: str, x: np.ndarray, axis: int | None) -> np.ndarray:
    """Scan by NumPy from the end."""
    if axis is None:
        x, axis = np.ravel(x), 0
    return np.flip(NUMPY[op](np.flip(x, axis), axis=axis), axis)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("shape", ["flat", "columns"])
def test_every_dtype(scan_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str, shape: str) -> None:
    x = random_values(rng, dtype, scan_kernel.several_scanned if shape == "flat" else COLUMNS)
    if x.dtype.kind == "f":
        x = (x * 0 + rng.integers(-1, 2, x.shape)).astype(dtype)
        x.reshape(-1)[2000:] = 0  # sums in float16 stay exact
    expected = backward(op, x, 0)
    scan_kernel.need(dtype, expected.dtype)
    assert_equal(scan_kernel.scan(x, op=op, axis=0, reverse=True), expected)


def test_every_boundary(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for size in scan_kernel.scan_sizes(np.int64):
        x = rng.integers(-9, 9, size, dtype=np.int64)
        assert_equal(scan_kernel.scan(x, reverse=True), backward("sum", x, None))


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_every_axis_inclusive_or_not(scan_kernel: Kernel, rng: np.random.Generator, axis: int | None) -> None:
    x, row = rng.integers(-9, 9, (5, 40, 300)), rng.integers(1, 3, 300)
    assert_equal(scan_kernel.scan(x, axis=axis, reverse=True), backward("sum", x, axis))
    product = scan_kernel.scan(x, row, map="x*y", axis=axis, reverse=True)
    assert_equal(product, backward("sum", x * row, axis))
    after = scan_kernel.scan(x, axis=axis, reverse=True, inclusive=False, initial=7)
    assert_equal(after, backward("sum", x, axis) - (x.ravel() if axis is None else x) + 7)


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_any_layout(scan_kernel: Kernel, rng: np.random.Generator, layout: str) -> None:
    scan_kernel.need(np.float64)
    x = LAYOUTS[layout](rng)
    for axis in (None, 0, 1):
        assert_equal(scan_kernel.scan(x, op="max", axis=axis, reverse=True), backward("max", x, axis))


def test_the_last_element_comes_first(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    slopes, offsets = affine_pair(rng, scan_kernel.several_scanned)
    got = scan_kernel.scan(slopes, offsets, op=AFFINE, reverse=True)
    for one, expected in zip(got, affine_scan(slopes[::-1], offsets[::-1]), strict=True):
        assert_equal(one, expected[::-1])


@pytest.mark.parametrize("axis", [None, 0])
def test_places_are_those_of_the_array(scan_kernel: Kernel, rng: np.random.Generator, axis: int | None) -> None:
    x = rng.integers(0, 50, COLUMNS if axis == 0 else scan_kernel.several_scanned)
    rows = x.reshape(x.shape[0], -1)
    found = np.empty(rows.shape, np.int64)
    best, place = rows[-1].copy(), np.full(rows.shape[1], len(rows) - 1)
    for k in reversed(range(len(rows))):
        place = np.where(rows[k] >= best, k, place)
        best = np.maximum(best, rows[k])
        found[k] = place
    assert_equal(scan_kernel.scan(x, op="argmax", axis=axis, reverse=True), found.reshape(x.shape))


def test_in_place_and_into_any_layout(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (30, 500))
    for axis in (None, 0, 1):
        expected = backward("sum", x, axis)
        out = np.empty((*expected.shape[:-1], 2 * expected.shape[-1]), np.int64)[..., ::-2]
        assert gpuprims.scan(x, axis=axis, reverse=True, out=out, device=device) is out
        assert_equal(out, expected)
        own = x.ravel().copy() if axis is None else x.copy()
        gpuprims.scan(own, axis=axis, reverse=True, out=own, device=device)
        assert_equal(own, expected)
        for _ in range(2):  # the second one is warm
            assert_equal(on_host(device, gpuprims.scan(on_device(device, x), axis=axis, reverse=True)), expected)
    assert_equal(gpuprims.plan("scan", x, axis=1, reverse=True, device=device)(x + 1), backward("sum", x + 1, 1))
    assert gpuprims.scan(np.empty((0, 3)), axis=0, reverse=True, device=device).shape == (0, 3)


@pytest.mark.parametrize("how", [{"segments": [0, 3]}, {"by": [1, 1, 2]}])
def test_segments_and_keys_go_forward_alone(how: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"scan: no reverse= with (segments|by)=; got"):
        gpuprims.scan([1, 2, 3], reverse=True, device="reference", **how)
