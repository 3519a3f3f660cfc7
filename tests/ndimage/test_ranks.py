"""Filters by rank against SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ndimage_cases import compare, draw_rank, draws
from scipy import ndimage as scipy_ndimage

import gpuprims
from gpuprims import ndimage
from gpuprims.ndimage.ranks import spans_of
from gpuprims.primitives.stencil.calls import run

# Each call is a kernel to compile, but for NumPy.
COMPILED, BY_NUMPY = 12, 300


def test_random_calls(device: gpuprims.Device) -> None:
    count = BY_NUMPY if device.backend == "reference" else COMPILED
    for name, x, args, keywords in draws(draw_rank, 0, count):
        compare(device, name, x, *args, **keywords)


@pytest.mark.parametrize("size", [3, 5, 12])
def test_medians_by_networks_and_by_selection(device: gpuprims.Device, rng: np.random.Generator, size: int) -> None:
    x = rng.random((60, 90)).astype(np.float32)
    assert (ndimage.median_filter(x, size, device=device) == scipy_ndimage.median_filter(x, size)).all()


@pytest.mark.parametrize(("dtype", "size"), [("float32", 5), ("uint8", 3)])
def test_elements_beside_each_other_share_a_network(
    device: gpuprims.Device, rng: np.random.Generator, dtype: str, size: int
) -> None:
    x = (250 * rng.random((30, 150))).astype(dtype)
    bound = ndimage.median_filter.__wrapped__(x, size, device=device)  # type: ignore[attr-defined]  # see filtering
    name = None if device.backend == "reference" else "rolling"
    got = run(bound.call.operands, bound.requests[0], None, name)
    assert (got == scipy_ndimage.median_filter(x, size)).all()


def test_many_neighbours_of_a_footprint(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuprims.ndimage.ranks._AT_ONCE", 50_000)  # a few rows at a time
    x, footprint = rng.integers(0, 99, (20, 30, 4)), rng.random((9, 8, 4)) < 0.7
    for rank in (0, 50, -1):
        how: dict[str, Any] = {"footprint": footprint, "mode": "constant", "cval": 40, "origin": (1, -2, 0)}
        expected = scipy_ndimage.rank_filter(x, rank, **how)
        assert (ndimage.rank_filter(x, rank, device=device, **how) == expected).all()


@pytest.mark.parametrize("mode", ["reflect", "constant", "mirror"])
def test_extremes_of_many_neighbours(device: gpuprims.Device, rng: np.random.Generator, mode: str) -> None:
    x = rng.integers(0, 99, (40, 300)).astype(np.int16)
    for size, origin in ((32, -5), (33, 16), (500, 0), (1200, 3)):
        how: dict[str, Any] = {"size": size, "mode": mode, "origin": origin, "axis": 1}
        expected = scipy_ndimage.maximum_filter1d(x, **how)
        assert (ndimage.maximum_filter1d(x, device=device, **how) == expected).all()
    assert (ndimage.minimum_filter(x, (3, 50), device=device) == scipy_ndimage.minimum_filter(x, (3, 50))).all()


def test_bools_and_halves(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.random((20, 30))
    for dtype in (np.bool_, np.float16):
        given = (x if dtype == np.float16 else x > 0.5).astype(dtype)
        expected = scipy_ndimage.median_filter(given.astype(np.float32), 3)
        assert (ndimage.median_filter(given, 3, device=device) == expected.astype(dtype)).all()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: ndimage.median_filter(x), r"ndimage.median_filter: size= or footprint=; got neither"),
        (lambda x: ndimage.median_filter(x, footprint=np.zeros((3, 3))), "with an element that counts"),
        (lambda x: ndimage.median_filter(x, footprint=[True]), r"footprint= of 2 axes; got shape \(1,\)"),
        (lambda x: ndimage.rank_filter(x, 9, 3), "rank= a whole number from -9 to 8; got 9"),
        (lambda x: ndimage.rank_filter(x, 1.5, 3), "rank= a whole number from -9 to 8; got 1.5"),  # type: ignore[arg-type]  # not a rank
        (lambda x: ndimage.percentile_filter(x, 101, 3), "percentile= from -100 to 100; got 101"),
        (lambda x: ndimage.minimum_filter(x, (3, 3, 3)), "one for each of 2 axes"),
        (lambda x: ndimage.maximum_filter1d(x, 2, origin=1), "origin= from -1 to 0 for 2 neighbours; got 1"),
    ],
)
def test_errors_say_what_to_do(call: Callable[[Any], object], said: str) -> None:
    with gpuprims.use_device("reference"), pytest.raises(gpuprims.errors.GpuprimsError, match=said):
        call(np.ones((4, 5)))


@pytest.mark.parametrize("length", [32, 39, 100, 961, 962, 40_000])
def test_passes_of_a_long_line_compare_each_neighbour(length: int) -> None:
    for low in (-7, 0, -length // 2):
        reached = {0}
        spans = spans_of(low, length)
        for span in spans:
            reached = {at + step for at in reached for step in span}
        assert reached == set(range(low, low + length))
        assert max(map(len, spans)) <= 31
        assert max(map(len, spans)) - min(map(len, spans)) <= 3
