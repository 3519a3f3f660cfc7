"""Folds and scans of segments and of keys at the levels "device" and "order", against the reference and exact sums."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import gpuprims

OFFSETS = np.array([0, 5, 5, 700, 2900, 3001])


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return (rng.standard_normal(3001) * 2.0 ** rng.integers(-40, 40, 3001)).astype(np.float32)


def same(device: gpuprims.Device, function: str, x: np.ndarray, **how: Any) -> np.ndarray:
    """Return the result of a call that has the reference's bits."""
    got, expected = (getattr(gpuprims, function)(x, device=on, **how) for on in (device, "reference"))
    assert got.tobytes() == expected.tobytes()
    return got  # type: ignore[no-any-return]  # of an array


@pytest.mark.parametrize("op", ["sum", "mean", "std"])
@pytest.mark.parametrize("function", ["reduce", "scan"])
def test_segments_and_keys_have_the_same_bits_on_every_device(
    device: gpuprims.Device, rng: np.random.Generator, x: np.ndarray, function: str, op: str
) -> None:
    offsets = OFFSETS if op == "sum" else np.unique(OFFSETS)  # others have no value of nothing
    same(device, function, x, op=op, segments=offsets, determinism="device")
    same(device, function, x, op=op, by=rng.integers(0, 20, len(x)), determinism="device")


def test_sums_of_segments_and_keys_are_exact(device: gpuprims.Device, rng: np.random.Generator, x: np.ndarray) -> None:
    wide = x.astype(np.float64)
    got = same(device, "reduce", x, segments=OFFSETS, determinism="order")
    expected = [np.float32(math.fsum(wide[a:b])) for a, b in itertools.pairwise(OFFSETS)]
    np.testing.assert_array_equal(got, expected)
    keys = rng.integers(0, 20, len(x))
    by_keys = same(device, "reduce", x, by=keys, determinism="order")
    np.testing.assert_array_equal(by_keys, [np.float32(math.fsum(wide[keys == key])) for key in range(20)])
    order = rng.permutation(len(x))
    again = gpuprims.reduce(x[order], by=keys[order], device=device, determinism="order")
    assert again.tobytes() == by_keys.tobytes()


@pytest.mark.parametrize("op", ["max", "argmin"])
def test_extremes_of_segments_do_not_depend_on_the_order_of_kernels(op: str) -> None:
    x, how = np.float32([3, 1, -0.0, 0, 2, 2]), {"op": op, "device": "reference", "determinism": "order"}
    places = {"max": [3, 0, 2], "argmin": [1, 2, 4]}[op]
    assert gpuprims.reduce(x, segments=[0, 2, 4, 6], **how).tolist() == places
    assert gpuprims.reduce(x, by=[5, 5, 7, 7, 9, 9], **how).tolist() == places
    scanned = {"max": [3, 3, 0, 0, 2, 2], "argmin": [0, 1, 2, 2, 4, 4]}[op]
    assert gpuprims.scan(x, segments=[0, 2, 4, 6], **how).tolist() == scanned


def test_warm_calls_of_segments_keep_levels_apart(device: gpuprims.Device) -> None:
    """Whether a kernel that reads offsets runs a call depends on the level."""
    x, offsets = device.asarray(np.float32([1e8, 1, 1, -1e8, 3])), [0, 4, 5]
    for level, first in ((None, 0), ("order", 2), ("device", 0), ("order", 2), (None, 0)):
        got = device.to_host(gpuprims.reduce(x, segments=offsets, determinism=level))  # type: ignore[arg-type]
        assert got[1] == 3
        if level is not None:
            assert got[0] == first
