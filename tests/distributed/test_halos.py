"""Stencils of sharded arrays: the same as on one device, whatever lies beside the cuts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from device_groups import group_of

import gpuprims
from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, ArrayError

MODES = ["nearest", "reflect", "mirror", "wrap", "constant"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rows", [4, 5, 9, 64])
@pytest.mark.parametrize("iterations", [1, 3])
def test_weights_reach_across_cuts(mode, rows, iterations, rng) -> None:
    group, x = group_of("reference"), rng.integers(0, 9, (rows, 11)).astype(np.float64)
    weights = rng.integers(-2, 3, (5, 3)).astype(np.float64)
    how = {"mode": mode, "cval": 7, "iterations": iterations}
    found = group.stencil(group.scatter(x), weights, **how)
    np.testing.assert_array_equal(found.gather(), gpuprims.stencil(x, weights, device="reference", **how))
    assert found.offsets == group.scatter(x).offsets


@pytest.mark.parametrize("mode", MODES)
def test_blur_on_devices(group, mode, rng) -> None:
    x = rng.random((203, 64), np.float32)
    for kind, how in (("cross", {}), ("box", {"size": (7, 3)}), ("gaussian", {"sigma": (3.0, 1.0)})):
        found = group.blur(group.scatter(x), kind, mode=mode, cval=0.5, **how).gather()
        wanted = gpuprims.blur(x.astype(np.float64), kind, mode=mode, cval=0.5, device="reference", **how)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_functions_of_neighbours_and_dtypes(group, rng) -> None:
    x = rng.integers(0, 255, (101, 33), np.uint8)
    sharded = group.scatter(x)
    lowest = group.stencil(sharded, lambda n: np.minimum(n[-3, 0], n[2, 1])).gather()
    wanted = gpuprims.stencil(x, lambda n: np.minimum(n[-3, 0], n[2, 1]), device="reference")
    np.testing.assert_array_equal(lowest, wanted)
    assert group.stencil(sharded, np.ones((3, 3)), dtype="float32").dtype == np.float32


@pytest.mark.parametrize(
    ("shape", "channel_axis"), [((40,), None), ((12, 9, 8), None), ((12, 9, 3), -1), ((3, 9, 8), 0)]
)
def test_axes_of_batches_and_channels(shape, channel_axis, rng) -> None:
    group, x = group_of("reference"), rng.integers(0, 9, shape).astype(np.float64)
    weights = np.ones(5) if len(shape) == 1 else np.ones((3, 3))
    found = group.stencil(group.scatter(x), weights, channel_axis=channel_axis).gather()
    np.testing.assert_array_equal(found, gpuprims.stencil(x, weights, channel_axis=channel_axis, device="reference"))


def test_uneven_and_empty_shards(rng) -> None:
    group, x = group_of("reference"), rng.integers(0, 9, (30, 5)).astype(np.float64)
    weights = np.arange(15.0).reshape(5, 3)
    for cuts in ([0, 1, 29, 30], [0, 0, 12, 30], [0, 30, 30, 30], [0, 2, 4, 30]):
        sharded = group.from_shards([x[a:b] for a, b in pairwise(cuts)])
        for mode in MODES:
            found = group.stencil(sharded, weights, mode=mode).gather()
            np.testing.assert_array_equal(found, gpuprims.stencil(x, weights, mode=mode, device="reference"))


def test_neighbours_rows_come_from_device_to_device_where_a_driver_can(monkeypatch, rng) -> None:
    """As on GPUs: shards in the devices' own arrays, which ``from_peer`` copies."""
    homes = [device for device in gpuprims.devices() if device.backend == "opencl"][:2]
    if not homes:
        pytest.skip("needs an OpenCL device")
    group = gpuprims.DeviceGroup([*homes, homes[0]])
    copies = []

    def from_peer(driver, array):
        copies.append(array.shape)
        return driver.asarray(next(home for home in homes if home.driver is not driver).to_host(array))

    monkeypatch.setattr(type(homes[0].driver), "from_peer", from_peer, raising=False)
    x = rng.random((60, 16), np.float32)
    cut = np.array_split(x, len(group.devices))
    parts = [device.asarray(part) for device, part in zip(group.devices, cut, strict=True)]
    found = group.stencil(group.from_shards(parts), np.ones((5, 3)), mode="wrap").gather()
    np.testing.assert_allclose(found, gpuprims.stencil(x, np.ones((5, 3)), mode="wrap", device="reference"), rtol=1e-5)
    assert all(shape[0] <= 4 for shape in copies)  # strips, not shards
    assert len(copies) == (4 if len(homes) > 1 else 0)  # the first and the last shard lie on one device


def test_a_shard_is_computed_where_it_lies(monkeypatch, rng) -> None:
    """Only rows near the cuts are copied: the arrays that the stencil gets are the shards and short strips."""
    from gpuprims.distributed import group as module

    given, real = [], module.stencil_one
    monkeypatch.setattr(module, "stencil_one", lambda x, *rest, **how: (given.append(x), real(x, *rest, **how))[1])
    group, x = gpuprims.DeviceGroup(["reference", "reference"]), rng.random((100, 4))
    sharded = group.scatter(x)
    group.stencil(sharded, np.ones((3, 3)))
    assert sorted(len(one) for one in given) == [3, 3, 50, 50]
    assert {id(one) for one in given if len(one) == 50} == set(map(id, sharded.shards))


def test_wrong_arguments_raise_as_on_one_device(rng) -> None:
    group = group_of("reference")
    x = group.scatter(rng.random((9, 9)))
    with pytest.raises(ArgumentError, match="mode= among"):
        group.stencil(x, np.ones((3, 3)), mode="edge")
    with pytest.raises(ArgumentError):
        group.stencil(x, np.ones((2, 2)))
    with pytest.raises(ArgumentError, match="iterations="):
        group.blur(x, iterations=0)
    with pytest.raises(ArrayError, match="sharded arrays"):
        group.blur(rng.random((9, 9)))
    assert Device("reference") in group.devices
