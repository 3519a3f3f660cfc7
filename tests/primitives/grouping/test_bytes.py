"""Keys of a range that bytes hold, which are sorted as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import need, on_device, on_host

import gpuprims
from gpuprims.primitives.grouping import direct
from gpuprims.primitives.grouping.groups import Groups

_KINDS = ["int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few keys become bytes too."""
    monkeypatch.setattr(direct, "_FEWEST", {})
    monkeypatch.setattr(direct, "_FEWEST_AS_BYTES", {"cpu": 0, "gpu": 0})


def _keys(rng: np.random.Generator, dtype: str, n: int) -> np.ndarray:
    """Return keys up to the largest integer of a dtype, not all of which occur."""
    return (np.iinfo(dtype).max - 3 * rng.integers(0, 86, n).astype(dtype)).astype(dtype)


@pytest.mark.parametrize("dtype", _KINDS)
def test_folds_and_scans(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    need(device, "float64")
    n = 9001
    keys, values = _keys(rng, dtype, n), rng.integers(-99, 99, n).astype(np.int32)
    distinct, places = np.unique(keys, return_inverse=True)
    expected = np.full(distinct.size, -100, np.int32)
    np.maximum.at(expected, places, values)
    given = on_device(device, values), on_device(device, keys)
    largest = gpuprims.reduce(given[0], op="max", by=given[1], device=device)
    np.testing.assert_array_equal(on_host(device, largest), expected)

    found, largest = gpuprims.group_by(given[1], given[0], op="max", device=device)
    assert found.dtype == keys.dtype
    np.testing.assert_array_equal(on_host(device, found), distinct)
    np.testing.assert_array_equal(on_host(device, largest), expected)

    first = gpuprims.reduce(given[0], op="argmax", by=given[1], device=device)
    wanted = [np.flatnonzero(keys == key)[values[keys == key].argmax()] for key in distinct]
    np.testing.assert_array_equal(on_host(device, first), wanted)

    sums = np.empty(n, np.int64)
    for key in distinct:
        sums[keys == key] = values[keys == key].cumsum()
    got = gpuprims.scan(given[0], by=given[1], dtype=np.int64, device=device)
    np.testing.assert_array_equal(on_host(device, got), sums)


def test_ranges_around_a_byte(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need(device, "float64")
    for span in (255, 256):
        keys: Any = np.array([7, 7 + span] * 40 + [9])
        groups = Groups("reduce", (keys,), keys, device)
        taken = device.capabilities.kind in ("cpu", "gpu") and span == 255
        assert (direct.Bytes.of(groups.given_keys, device) is not None) == taken
        np.testing.assert_array_equal(gpuprims.reduce(keys, op="min", by=keys, device=device), [7, 9, 7 + span])


def test_sums_at_device_have_the_bits_of_the_reference(device: gpuprims.Device, rng: np.random.Generator) -> None:
    need(device, "float32")
    keys, values = _keys(rng, "int64", 40_001), rng.standard_normal(40_001, dtype=np.float32)
    with gpuprims.use_determinism("device"):
        got, expected = (gpuprims.reduce(values, by=keys, device=one) for one in (device, "reference"))
    assert got.tobytes() == expected.tobytes()
