"""sort and top_k of sharded arrays against NumPy: any cuts, ties, NaN and shards without elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_groups import group_of

import gpuprims
from gpuprims.distributed import runs
from gpuprims.errors import ArgumentError, DtypeError


def arrays(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return arrays that are hard to cut in equal shares."""
    normal = rng.standard_normal(5_003).astype(np.float32)
    holes = np.where(rng.random(5_003) < 0.3, np.nan, normal)
    return {
        "normal": normal,
        "sorted": np.sort(normal),
        "reversed": np.sort(normal)[::-1].copy(),
        "equal": np.full(5_003, 7, np.int32),
        "few": rng.integers(0, 3, 5_003, np.int32),
        "skewed": np.where(rng.random(5_003) < 0.9, 1, rng.integers(-9, 9, 5_003)),
        "nan": holes.astype(np.float32),
        "bools": rng.random(5_003) < 0.5,
        "short": normal[:4],
        "one": normal[:1],
        "none": normal[:0],
    }


def descending(x: np.ndarray) -> np.ndarray:
    return np.sort(x)[::-1]


@pytest.mark.parametrize("samples", [4, 1 << 14])
@pytest.mark.parametrize("name", [*arrays(np.random.default_rng(0))])
def test_sort_is_numpys(name, samples, rng, monkeypatch) -> None:
    monkeypatch.setattr(runs, "_SAMPLES", samples)
    group, x = group_of("reference"), arrays(rng)[name]
    for given in (group.scatter(x), *uneven(group, x)):
        found = group.sort(given)
        np.testing.assert_array_equal(found.gather(), np.sort(x))
        assert (found.offsets, found.dtype) == (given.offsets, x.dtype)
        np.testing.assert_array_equal(group.sort(given, descending=True).gather(), descending(x))


def uneven(group: gpuprims.DeviceGroup, x: np.ndarray) -> list[Any]:
    """Return an array whose last shard has nearly all elements, and one whose middle shard has none."""
    cut, half = len(x) // 9, len(x) // 2
    return [
        group.from_shards([x[:cut], x[cut : 2 * cut], x[2 * cut :]]),
        group.from_shards([x[:half], x[:0], x[half:]]),
    ]


def test_sort_and_top_k_on_devices(group, rng) -> None:
    x = rng.integers(-500, 500, 30_001, np.int32)
    given = group.scatter(x)
    np.testing.assert_array_equal(group.sort(given).gather(), np.sort(x))
    there = group.from_shards(
        [device.asarray(np.array(device.to_host(s))) for device, s in zip(group.devices, given.shards, strict=True)]
    )
    np.testing.assert_array_equal(group.sort(there, descending=True).gather(), descending(x))
    mixed = group.from_shards([*there.shards[:1], *given.shards[1:]])
    np.testing.assert_array_equal(group.sort(mixed).gather(), np.sort(x))
    for one in (given, there):
        values, places = group.top_k(one, 100)
        order = np.argsort(-x, kind="stable")[:100]
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, x[order])


def test_equal_elements_keep_their_order() -> None:
    group = gpuprims.DeviceGroup(["reference"] * 3)
    x = np.tile(np.array([0.0, -0.0, 1.0, -1.0]), 50)
    found = group.sort(group.scatter(x)).gather()
    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.sort(x, kind="stable")))


def test_other_axes_stay_on_their_devices_and_none_is_flat(rng) -> None:
    group, x = group_of("reference"), rng.standard_normal((40, 7))
    given = group.scatter(x)
    np.testing.assert_array_equal(group.sort(given).gather(), np.sort(x))
    flat = group.sort(given, axis=None)
    np.testing.assert_array_equal(flat.gather(), np.sort(x, axis=None))
    assert flat.offsets == tuple(7 * one for one in given.offsets)
    values, places = group.top_k(given, 2, axis=1, largest=False)
    np.testing.assert_array_equal(values.gather(), np.sort(x)[:, :2])
    np.testing.assert_array_equal(places.gather(), np.argsort(x)[:, :2])


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("name", ["normal", "equal", "few", "nan", "short"])
def test_top_k_is_that_of_one_device(name, largest, rng) -> None:
    group, x = group_of("reference"), arrays(rng)[name]
    for given in (group.scatter(x), *uneven(group, x)):
        for k in (0, 1, min(len(x), 2_000), len(x)):
            found = group.top_k(given, k, largest=largest)
            wanted = gpuprims.top_k(x, k, largest=largest, device="reference")
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one, other)
                assert one.dtype == other.dtype


def test_top_k_of_columns_and_of_all(rng) -> None:
    group, x = group_of("reference"), rng.integers(0, 50, (90, 4))
    given = group.scatter(x)
    for how in ({"axis": 0}, {"axis": None}):
        for one, other in zip(
            group.top_k(given, 60, **how), gpuprims.top_k(x, 60, device="reference", **how), strict=True
        ):
            np.testing.assert_array_equal(one, other)


def test_wrong_arguments_are_refused(rng) -> None:
    group = group_of("reference")
    x = group.scatter(rng.standard_normal((9, 2)))
    with pytest.raises(ArgumentError, match="along the first axis, arrays of one axis"):
        group.sort(x, axis=0)
    with pytest.raises(DtypeError, match="real numbers or bools; got complex128"):
        group.sort(group.scatter(np.ones(9, complex)))
    for k in (-1, 19, 2.0, True):
        with pytest.raises(ArgumentError, match="k= a number from 0 to 18"):
            group.top_k(x, k)
