"""Offsets of every integer dtype, on the host and on the device."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import assert_equal
from segments_cases import reduced, scanned

import gpuprims
from gpuprims.errors import ArgumentError, EmptyReductionError


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "uint64"])
def test_offsets_are_integers_of_any_dtype(device: gpuprims.Device, dtype: str) -> None:
    x = np.arange(100.0, dtype=np.float32)
    offsets = np.array([0, 3, 3, 64, 100], dtype)
    expected = np.float32([3, 0, sum(range(3, 64)), sum(range(64, 100))])
    assert_equal(gpuprims.reduce(x, segments=offsets, device=device), expected)
    assert_equal(gpuprims.reduce(x, segments=offsets.tolist(), device=device), expected)
    assert_equal(gpuprims.reduce(x, segments=np.repeat(offsets, 2)[::2], device=device), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64"])
@pytest.mark.parametrize("division", [[0, 3, 3, 64, 100], [0, 100], list(range(101))])
def test_offsets_may_lie_on_the_device(device: gpuprims.Device, dtype: str, division: list[int]) -> None:
    x = np.arange(100.0, dtype=np.float32)
    offsets = device.asarray(np.array(division, dtype))
    sums, scanned_ = reduced(np.sum, x, division), scanned(x, np.array(division))
    assert_equal(gpuprims.reduce(x, segments=offsets, device=device), sums)
    assert_equal(gpuprims.scan(x, segments=offsets, device=device), scanned_)
    there = device.asarray(x)
    assert_equal(device.to_host(gpuprims.reduce(there, segments=offsets)), sums)
    assert_equal(device.to_host(gpuprims.scan(there, segments=offsets)), scanned_)


def test_offsets_on_the_device_may_lie_apart(device: gpuprims.Device) -> None:
    x, offsets = device.asarray(np.arange(100.0)), device.asarray(np.repeat([0, 3, 64, 100], 2))[::2]
    expected = np.float64([3, sum(range(3, 64)), sum(range(64, 100))])
    assert_equal(device.to_host(gpuprims.reduce(x, segments=offsets)), expected)


@pytest.mark.parametrize(
    ("offsets", "rule"),
    [
        ([0, 5, 3, 4, 9], "that never decrease; got 5 before 3 at index 1"),
        ([1, 5, 9], "from 0 to 9, the number of elements; got 1 to 9"),
        ([0, 5, 8], "from 0 to 9, the number of elements; got 0 to 8"),
        ([8], "from 0 to 9, the number of elements; got 8 to 8"),
        ([0, -1, 9], "that never decrease; got 0 before -1 at index 0"),
        ([0, 12, 9], "that never decrease; got 12 before 9 at index 1"),
    ],
)
def test_offsets_are_checked_where_they_lie(device: gpuprims.Device, offsets: list[int], rule: str) -> None:
    x = np.ones(9, np.float32)
    for given in (offsets, device.asarray(np.array(offsets))):
        for elements in (x, device.asarray(x)):
            how = {"device": device} if elements is x else {}
            with pytest.raises(ArgumentError, match=f"reduce: segments= {rule}"):
                gpuprims.reduce(elements, segments=given, **how)


def test_an_empty_segment_is_seen_on_the_device(device: gpuprims.Device) -> None:
    x = device.asarray(np.float32([1, 2, 3]))
    with pytest.raises(EmptyReductionError, match="an empty segment"):
        gpuprims.reduce(x, op="argmax", segments=device.asarray(np.array([0, 2, 2, 3])))


@pytest.mark.parametrize("count", [4, 3000])
def test_the_same_array_of_the_host_may_hold_other_offsets_later(
    device: gpuprims.Device, rng: np.random.Generator, count: int
) -> None:
    x = rng.integers(-9, 9, 90_000)
    there, offsets = device.asarray(x), np.zeros(count + 1, np.int64)
    for _ in range(3):
        drawn = np.sort(rng.integers(0, x.size, count - 1))
        for _ in range(2):
            offsets[1:] = [*drawn, x.size]
            assert_equal(device.to_host(gpuprims.reduce(there, segments=offsets)), reduced(np.sum, x, offsets))
            assert_equal(device.to_host(gpuprims.scan(there, segments=offsets)), scanned(x, offsets))
        offsets[count // 2] = x.size + 1
        for call in (gpuprims.reduce, gpuprims.scan):
            with pytest.raises(ArgumentError, match="segments= that never decrease"):
                call(there, segments=offsets)
    device.synchronize()  # no fault is left
