"""scan with out=: strided results, scans in place, and overlaps that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_cases import AFFINE, Kernel, affine_scan, assert_equal, on_device, on_host, random_values
from scan_cases import COLUMNS, affine_pair, exclusively

import gpuprims
from gpuprims.errors import ArgumentError

# Views of 40 x 2200 elements; a call must write nothing outside of them.
PLACES: dict[str, Any] = {
    "contiguous": lambda whole: whole[:40, :2200],
    "every second column": lambda whole: whole[:40, 0:4400:2],
    "reversed": lambda whole: whole[39::-1, 2199::-1],
    "in the middle": lambda whole: whole[3:43, 50:2250],
    "transposed": lambda whole: whole.reshape(4500, 50)[:2200, :40].T,
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("place", PLACES)
def test_results_go_where_the_caller_says_and_nowhere_else(
    scan_kernel: Kernel, rng: np.random.Generator, place: str, axis: int
) -> None:
    x = random_values(rng, np.int32, (40, 2200))
    whole = np.full((50, 4500), -7, np.int64)
    expected = whole.copy()
    PLACES[place](expected)[...] = np.cumsum(x, axis=axis)
    out = PLACES[place](whole)
    assert scan_kernel.scan(x, axis=axis, out=out) is out
    assert_equal(whole, expected)


@settings(max_examples=8)
@given(step=st.sampled_from([1, 2, 3, -1, -2]), start=st.integers(0, 9), size=st.integers(1, 2000))
def test_a_flat_result_goes_to_a_strided_array(scan_kernel: Kernel, step: int, start: int, size: int) -> None:
    x = random_values(np.random.default_rng(size), np.int16, (2, size))
    whole = np.full(13_000, -7, np.int64)
    expected, out = whole.copy(), whole[::step][start : start + 2 * size]
    expected[::step][start : start + 2 * size] = np.cumsum(x)
    assert scan_kernel.scan(x, out=out) is out
    assert_equal(whole, expected)


@pytest.mark.parametrize("inclusive", [True, False])
@pytest.mark.parametrize("resident", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [("several tiles", None), ((7, 3001), 1), ((3001, 7), 0), (COLUMNS, 0)])
def test_in_place(
    scan_kernel: Kernel, rng: np.random.Generator, shape: Any, axis: int | None, *, resident: bool, inclusive: bool
) -> None:
    x = random_values(rng, np.int64, scan_kernel.several_scanned if shape == "several tiles" else shape)
    expected = np.cumsum(x, axis=axis)
    if not inclusive:
        expected = exclusively(expected, 0, axis or 0)
    place = on_device(scan_kernel.device, x) if resident else x.copy()
    assert scan_kernel.scan(place, axis=axis, out=place, inclusive=inclusive) is place
    assert_equal(on_host(scan_kernel.device, place) if resident else place, expected)


def test_in_place_of_each_component(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    for shape in (COLUMNS, (scan_kernel.several_scanned,)):
        slopes, offsets = affine_pair(rng, shape)
        lines = [one.reshape(shape[0], -1) for one in (slopes, offsets)]
        expected = [affine_scan(lines[0][:, k].copy(), lines[1][:, k].copy()) for k in (0, -1)]
        scan_kernel.scan(slopes, offsets, op=AFFINE, axis=0, out=(slopes, offsets))
        for k, pair in zip((0, -1), expected, strict=True):
            assert_equal(lines[0][:, k], pair[0])
            assert_equal(lines[1][:, k], pair[1])


def test_in_place_of_one_of_two_arrays_and_of_a_view(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.int64, (2, *COLUMNS))
    expected = np.cumsum(x * y, axis=0)
    scan_kernel.scan(x, y, map="x*y", axis=0, out=y)
    assert_equal(y, expected)
    view = x[::-1, 3:2400]
    expected = np.cumsum(view, axis=0)
    scan_kernel.scan(view, axis=0, out=view)
    assert_equal(view, expected)


OVERLAPPING: dict[str, Any] = {
    "one element further": lambda x: (x[:-1], x[1:]),
    "backwards": lambda x: (x, x[::-1]),
    "every second": lambda x: (x[:50], x[::2]),
    "other numbers of the same bytes": lambda x: (x[:50].view(np.int32), x[:100]),
}


@pytest.mark.parametrize("case", OVERLAPPING)
def test_any_other_overlap_is_refused(device: gpuprims.Device, case: str) -> None:
    whole = np.arange(100)
    x, out = OVERLAPPING[case](whole)
    with pytest.raises(ArgumentError, match="scan: out= apart from the arrays in memory, or one of them; got one that"):
        gpuprims.scan(x, out=out, device=device)
    assert_equal(whole, np.arange(100))
