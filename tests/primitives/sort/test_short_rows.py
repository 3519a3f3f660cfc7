"""sort/lanes and sort/rows, for short rows on GPUs, on CPUs that they refuse in use."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from kernel_cases import on_device, on_host, random_values

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.registry import REGISTRY
from gpuprims.primitives.networks import exchanges
from gpuprims.primitives.sort.refusals import lanes_pay
from gpuprims.primitives.sort.room import fitted_to_lanes, fitted_to_row
from gpuprims.primitives.sort.traits import SortTraits
from gpuprims.primitives.sort.variants import SortVariant


def _variant(device: gpuprims.Device, name: str) -> SortVariant:
    """Return a variant that refuses nothing; rows/ in small groups of a warp or more."""
    found = [one for one in REGISTRY.variants("sort", device.backend) if one.name == name]
    if not found:
        pytest.skip("the reference has no kernels")
    if name == "rows" and not device.capabilities.warp:
        pytest.skip("the device has no shuffles")
    geometry = {"rows": Geometry(256, 4), "lanes": Geometry(32, 4)}[name]
    return replace(SortVariant.of(found[0]), refuse=first_refusal(), geometry=geometry)


def _order(keys: np.ndarray, *, descending: bool) -> np.ndarray:
    ranks = np.unique(keys, return_inverse=True)[1].reshape(keys.shape)
    return np.argsort(-ranks if descending else ranks, axis=-1, kind="stable")


@pytest.mark.parametrize("length", range(1, 33))
def test_networks_sort(length: int, rng: np.random.Generator) -> None:
    rows = rng.integers(0, 2, (4000, length))
    expected = np.sort(rows)
    for low, high in exchanges(length):
        assert low < high
        rows[:, [low, high]] = np.sort(rows[:, [low, high]])
    assert np.array_equal(rows, expected)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "f2", "i4", "f4", "i8", "f8"])
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("lanes", (70, 1)),
        ("lanes", (97, 4)),
        ("lanes", (40, 11)),
        ("rows", (3, 1)),
        ("rows", (4, 129)),
        ("rows", (2, 700)),
    ],
)
def test_rows(device: gpuprims.Device, name: str, shape: tuple[int, int], dtype: str, rng: np.random.Generator) -> None:
    variant, keys = _variant(device, name), random_values(rng, np.dtype(dtype), shape)
    keys[rng.random(shape) < 0.3] = 1
    if dtype[0] == "f":
        keys[rng.random(shape) < 0.2] = np.nan
        keys[rng.random(shape) < 0.2] = -0.0
        keys[rng.random(shape) < 0.2] = 0.0
    values = rng.integers(0, 2**60, shape)
    there, beside = on_device(device, keys), on_device(device, values)
    for descending in (False, True):
        how = {"device": device, "variant": variant, "descending": descending}
        order = _order(keys, descending=descending)
        ordered = np.take_along_axis(keys, order, 1)
        assert on_host(device, gpuprims.sort(there, **how)).tobytes() == ordered.tobytes()
        assert np.array_equal(on_host(device, gpuprims.argsort(there, **how)), order)
        moved, kept = gpuprims.sort_by_key(there, beside, **how)
        assert on_host(device, moved).tobytes() == ordered.tobytes()
        assert np.array_equal(on_host(device, kept), np.take_along_axis(values, order, 1))


@pytest.mark.parametrize("dtype", ["u2", "f4", "i8"])
def test_digits_that_are_alike(device: gpuprims.Device, dtype: str) -> None:
    """A digit that all keys share moves nothing, unless it is the last."""
    variant = _variant(device, "rows")
    keys = np.stack([np.arange(300)[::-1] % 200, np.full(300, 7), np.arange(300) * 100]).astype(dtype)
    order = np.argsort(keys, kind="stable")
    there = on_device(device, keys)
    assert np.array_equal(on_host(device, gpuprims.argsort(there, device=device, variant=variant)), order)
    assert np.array_equal(on_host(device, gpuprims.sort(there, device=device, variant=variant)), np.sort(keys))


def test_tiles_fit_rows() -> None:
    able = replace(usual_device("gpu", 32), asked_local_memory=64 * 1024)
    for n in (1, 32, 33, 1000, 8000):
        found = fitted_to_row(Geometry(1024, 16), n, 4, able)
        assert found is not None
        (block, items, _), local = found
        assert block * items >= n
        assert block * (items - 1) < n
        assert block % 32 == 0
        assert local <= able.asked_local_memory
    assert fitted_to_row(Geometry(1024, 16), 20_000, 4, able) is None
    narrow = fitted_to_row(Geometry(1024, 16), 12_000, 4, able)  # 24 warps of 16 items would have too many counts
    assert narrow is not None
    assert narrow[0].items > 16


@pytest.mark.parametrize(("name", "most"), [("lanes", 256), ("rows", 16_384)])
def test_longer_rows_are_refused(name: str, most: int) -> None:
    (variant,) = (one for one in REGISTRY.variants("sort", "cuda") if one.name == name)
    able = replace(usual_device("gpu", 32), asked_local_memory=227 * 1024)
    for dtype, beside in product(("u1", "f2", "f4", "f8"), (0, 8)):
        nbytes = np.dtype(dtype).itemsize
        for size in (1, most, most + 1):
            call = SortTraits((np.dtype(dtype),), size, 5, value_bytes=nbytes + beside)
            assert (variant.refuse(able, call) is None) == (size <= most)
    compared = SortTraits((np.dtype("f4"),), 5, 5, compares=True)
    assert "less=" in (variant.refuse(able, compared) or "")
    short = replace(able, local_memory=1024, asked_local_memory=9 * 1024)
    assert "local memory" in (variant.refuse(short, SortTraits((np.dtype("f8"),), min(most, 3000), 5)) or "")


@pytest.mark.parametrize(("dtype", "longest"), [("u1", 80), ("f2", 112), ("f4", 224), ("f8", 256)])
def test_rows_left_to_other_sorts(dtype: str, longest: int) -> None:
    able = usual_device("gpu", 32)
    for size, rows, stays in (
        (longest, 2**14, True), (longest + 1, 2**14, False), (longest, 3, False), (33, 2, False), (32, 2, True)
    ):  # fmt: skip
        assert (lanes_pay(able, SortTraits((np.dtype(dtype),), size, rows)) is None) == stays


def test_lanes_fit_in_local_memory() -> None:
    able = replace(usual_device("gpu", 32), local_memory=48 * 1024)
    assert fitted_to_lanes(Geometry(128, 32), 32, 4, able) == (128, 32)
    assert fitted_to_lanes(Geometry(128, 32), 33, 4, able) == (128, 17)
    assert fitted_to_lanes(Geometry(128, 32), 256, 8, able) == (64, 32)  # rows, and the keys of their parts
