"""segments/lanes, which gives each segment a few lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, assert_equal, on_device, on_host, poison, random_values, two_groups
from segments_cases import reduced, runs

import gpuprims
from gpuprims.errors import NoVariantError


@pytest.fixture
def lanes(device: gpuprims.Device) -> gpuprims.Device:
    if not device.capabilities.warp:
        pytest.skip(f"{device.capabilities.name} offers no shuffles")
    return device


def by_lanes(device: gpuprims.Device, *arrays: np.ndarray, **keywords: Any) -> Any:
    return gpuprims.reduce(*arrays, device=device, variant="lanes", **keywords)


# Mixtures in which a segment gets from one lane to a whole warp, and long segments get the warp at the end.
MIXTURES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "up to 3": lambda rng: rng.integers(0, 4, 5000),
    "up to 16": lambda rng: rng.integers(0, 17, 2000),
    "up to 70": lambda rng: rng.integers(0, 71, 1500),
    "up to 700": lambda rng: rng.integers(0, 701, 1100),
    "around a warp": lambda rng: rng.permutation(np.repeat([0, 1, 31, 32, 33, 64], 300)),
    "all of 1": lambda rng: np.ones(1024, np.int64),
    "all of 4, a lane each": lambda rng: np.full(1025, 4),
    "all of 32": lambda rng: np.full(2049, 32),
    "tiny ones and the longest": lambda rng: rng.permutation(np.append(rng.integers(0, 4, 3000), [8192] * 5)),
    "the longest first and last": lambda rng: np.concatenate([[8192], rng.integers(0, 9, 2000), [8191, 8192]]),
    "around what is left to the warp": lambda rng: rng.permutation(np.append(np.full(3000, 2), [63, 64, 65, 129] * 9)),
    "few that are not empty": lambda rng: np.where(np.arange(2000) % 97 == 5, 1000, 0),
}


@pytest.mark.parametrize("mixture", list(MIXTURES))
def test_segments_of_every_length_by_lanes(lanes: gpuprims.Device, rng: np.random.Generator, mixture: str) -> None:
    poison(lanes)
    lengths = MIXTURES[mixture](rng)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = random_values(rng, np.int8, offsets[-1])
    assert_equal(by_lanes(lanes, x, segments=offsets), reduced(np.sum, x, offsets))
    a, b = random_values(rng, np.int64, (2, offsets[-1]))
    composed = by_lanes(lanes, a | 1, b, op=AFFINE, segments=offsets)
    exact = gpuprims.reduce(a | 1, b, op=AFFINE, segments=offsets, device="reference")
    for got, expected in zip(composed, exact, strict=True):
        assert_equal(got, expected)


@pytest.mark.parametrize("mean", [1, 5, 9, 30, 200])
@pytest.mark.parametrize("segments", [1024, 1025, 2047, 2048, 2049])
def test_as_many_segments_as_groups_take_and_more(
    lanes: gpuprims.Device, rng: np.random.Generator, mean: int, segments: int
) -> None:
    poison(lanes)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 2 * mean + 1, segments))])
    x = random_values(rng, np.int64, offsets[-1])
    assert_equal(by_lanes(lanes, x, segments=offsets), reduced(np.sum, x, offsets))


def test_groups_of_lanes_that_take_several_runs(
    lanes: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    offsets = np.concatenate([[0], np.cumsum(rng.permutation(np.append(rng.integers(0, 30, 7001), [8192, 900])))])
    x = random_values(rng, np.uint8, offsets[-1])
    with two_groups(lanes, monkeypatch):
        got = by_lanes(lanes, x, segments=offsets)
    assert_equal(got, reduced(np.sum, x, offsets))


def test_moments_and_places_by_lanes(lanes: gpuprims.Device, rng: np.random.Generator) -> None:
    lengths = rng.permutation(np.append(rng.integers(1, 50, 3000), [8192, 4000]))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = rng.standard_normal(offsets[-1]).astype(np.float32) + 100
    x[offsets[7]] = np.nan
    exact = x.astype(np.float64)
    for op, fold, rtol in (("mean", np.mean, 1e-6), ("var", np.var, 1e-4), ("sum", np.sum, 1e-6)):
        got = by_lanes(lanes, x, op=op, segments=offsets)
        np.testing.assert_allclose(got, reduced(fold, exact, offsets), rtol=rtol, atol=1e-6)
    whole = np.round(x * 2)  # many values are equal
    places = [first + np.argmax(run) for first, run in zip(offsets[:-1], runs(whole, offsets), strict=True)]
    assert_equal(by_lanes(lanes, whole, op="argmax", segments=offsets), np.int64(places))


def test_parts_of_arrays_and_arrays_on_the_device_by_lanes(lanes: gpuprims.Device, rng: np.random.Generator) -> None:
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 60, 1500))])
    x, y = random_values(rng, np.int16, 2 * offsets[-1])[::-2], random_values(rng, np.int32, offsets[-1] + 3)[3:]
    expected = reduced(np.sum, x * y.astype(np.int64), offsets)
    assert_equal(by_lanes(lanes, x, y, map="x * int64(y)", segments=offsets), expected)
    there, out = on_device(lanes, y), on_device(lanes, np.zeros(2 * 1500, np.int64))
    gpuprims.reduce(there, segments=on_device(lanes, offsets), variant="lanes", out=out[::2])
    assert_equal(on_host(lanes, out)[::2], reduced(np.sum, y, offsets))
    assert not on_host(lanes, out)[1::2].any()


def test_lanes_refuse_few_segments_and_long_ones(lanes: gpuprims.Device) -> None:
    said = "1024 segments or more of at most 8192 elements; this call has "
    with pytest.raises(NoVariantError, match=said + "1023, none longer than 8"):
        by_lanes(lanes, np.ones(5 * 1023), segments=np.arange(0, 5 * 1024, 5))
    with pytest.raises(NoVariantError, match=said + "1025, none longer than 16384"):
        by_lanes(lanes, np.ones(1024 + 8193), segments=np.append(np.arange(1025), 1024 + 8193))


def test_explain_tells_of_segments_by_number_and_length(lanes: gpuprims.Device) -> None:
    for size, count, able in ((8192, 1024, True), (8193, 1024, False), (8192, 1023, False)):
        told = gpuprims.explain("segments", lanes, size=size, outputs=count).refusals
        ((_, reason),) = [one for one in told if one[0].name == "lanes"]
        assert (reason is None) == able
