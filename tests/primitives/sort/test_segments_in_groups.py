"""Sorts of segments by sort/rows, each in a group, on CPUs that it refuses in use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_cases import on_device, on_host, random_values

import gpuprims
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.registry import REGISTRY
from gpuprims.primitives.sort import segments_in_groups
from gpuprims.primitives.sort.variants import SortVariant

# Elements of the longest tile of the variant below.
_LONGEST = 1024


@pytest.fixture
def variant(device: gpuprims.Device) -> SortVariant:
    """Return a variant that refuses nothing, in groups of up to 256 work-items with 4 elements each."""
    found = [one for one in REGISTRY.variants("sort", device.backend) if one.name == "rows"]
    if not found or not device.capabilities.warp:
        pytest.skip("the device has no shuffles")
    return replace(SortVariant.of(found[0]), refuse=first_refusal(), geometry=Geometry(256, 4))


def _lengths(rng: np.random.Generator) -> np.ndarray:
    """Return lengths on both sides of those of tiles and warps, and of none."""
    near = [length + k for length in (32, 64, 128, 256, 512) for k in (-1, 0, 1)]
    return rng.permutation([0, 0, 1, 1, 2, 3, *near, _LONGEST - 1, _LONGEST, *rng.integers(0, 40, 20).tolist()])


def _order(keys: np.ndarray, lengths: np.ndarray, *, descending: bool) -> np.ndarray:
    ranks = np.unique(keys, return_inverse=True)[1]
    return np.lexsort((-ranks if descending else ranks, np.repeat(np.arange(len(lengths)), lengths)))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "f2", "i4", "f4", "u8", "f8"])
def test_segments_of_any_lengths(
    device: gpuprims.Device, variant: SortVariant, dtype: str, rng: np.random.Generator, *, descending: bool
) -> None:
    lengths = _lengths(rng)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    keys = random_values(rng, np.dtype(dtype), (int(offsets[-1]),))
    keys[rng.random(keys.shape) < 0.3] = 1
    if dtype[0] == "f":
        for special in (np.nan, -0.0, 0.0):
            keys[rng.random(keys.shape) < 0.1] = special
    order = _order(keys, lengths, descending=descending)
    there, how = on_device(device, keys), {"device": device, "variant": variant, "descending": descending}
    for given in (offsets, offsets.astype(np.int32), on_device(device, offsets)):
        with gpuprims.profile() as seen:
            found = gpuprims.sort(there, segments=given, **how)
        assert {one.kernel for one in seen.launches} == {"sort/rows"}
        assert on_host(device, found).tobytes() == keys[order].tobytes()
        assert np.array_equal(on_host(device, gpuprims.argsort(there, segments=given, **how)), order)


def test_a_view_and_an_axis(device: gpuprims.Device, variant: SortVariant, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (7, 300)).astype(np.float32)
    offsets, how = [0, 5, 5, 299, 300], {"device": device, "variant": variant}
    expected = [np.concatenate([np.sort(row[a:b]) for a, b in ((0, 5), (5, 299), (299, 300))]) for row in x]
    assert np.array_equal(gpuprims.sort(x, axis=1, segments=offsets, **how), expected)
    there = on_device(device, x.ravel())[301:600]
    assert np.array_equal(
        on_host(device, gpuprims.sort(there, segments=[0, 1, 299], **how)[1:]), np.sort(x.ravel()[302:600])
    )


def test_offsets_that_change(device: gpuprims.Device, variant: SortVariant) -> None:
    """Launches are kept for the contents of offsets, not for the array."""
    x, offsets = np.arange(90)[::-1].copy(), np.array([0, 10, 90])
    for cut in (10, 20, 10):
        offsets[1] = cut
        expected = np.concatenate([np.sort(x[:cut]), np.sort(x[cut:])])
        assert np.array_equal(gpuprims.sort(x, segments=offsets, device=device, variant=variant), expected)


def test_many_segments(
    device: gpuprims.Device, variant: SortVariant, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments_in_groups, "_FEW", 100)
    lengths = rng.integers(0, 41, 300)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = rng.integers(-99, 99, int(offsets[-1]))
    order = _order(x, lengths, descending=False)
    how = {"device": device, "variant": variant, "segments": offsets}
    with gpuprims.profile() as seen:
        assert np.array_equal(gpuprims.sort(x, **how), x[order])
    assert [one.kernel for one in seen.launches] == ["sort/rows"]
    assert np.array_equal(gpuprims.argsort(x, **how), order)


def test_longer_segments_are_sorted_otherwise(device: gpuprims.Device) -> None:
    """A segment that does not fit in a group leaves the call to sorts of all elements."""
    x = np.arange(40_000)[::-1].copy()
    expected = np.concatenate([np.sort(x[:20_001]), np.sort(x[20_001:])])
    assert np.array_equal(on_host(device, gpuprims.sort(on_device(device, x), segments=[0, 20_001, 40_000])), expected)


def test_launches_have_enough_segments_of_like_lengths() -> None:
    divided = segments_in_groups._divided
    assert divided(np.array([7]), 4) == ((0, 1, 128),)
    assert divided(np.array([9, 8, 8, 5]), 4) == ((0, 4, 512),)
    assert divided(np.array([9, 8, 8, 5, 5]), 4) == ((0, 3, 512), (3, 2, 32))
    assert divided(np.array([9, 8, 8, 8, 8, 6, 5]), 4) == ((0, 1, 512), (1, 4, 256), (5, 2, 64))
