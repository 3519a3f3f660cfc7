"""Arrays that are cut among devices: where they are cut, what lies where, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gpuprims
from gpuprims.errors import ArgumentError, ArrayError, DeviceMismatchError, DtypeError, ShapeError


def pair() -> gpuprims.DeviceGroup:
    return gpuprims.DeviceGroup(["reference", "reference"])


@pytest.mark.parametrize("rows", [0, 1, 2, 1000])
def test_gather_returns_what_was_scattered(group, rng, rows) -> None:
    x = rng.random((rows, 3), np.float32)
    sharded = group.scatter(x)
    assert sharded.shape == x.shape
    assert sharded.dtype == x.dtype
    assert len(sharded.shards) == len(group)
    np.testing.assert_array_equal(sharded.gather(), x)
    lengths = np.diff(sharded.offsets)
    assert lengths.max() - lengths.min() <= 1


def test_strided_arrays_and_other_byte_orders_are_scattered(group, rng) -> None:
    x = rng.random((40, 6), np.float32)
    for view in (x[::-2], x.T, x.astype(">f4"), x[:, 1]):
        np.testing.assert_array_equal(group.scatter(view).gather(), view)


def test_devices_in_the_hosts_memory_get_views() -> None:
    x = np.arange(10.0)
    assert all(np.shares_memory(shard, x) for shard in pair().scatter(x).shards)


def test_like_cuts_at_the_same_rows() -> None:
    group = pair()
    uneven = group.from_shards([np.arange(7), np.arange(2)])
    assert uneven.offsets == (0, 7, 9)
    assert group.scatter(np.arange(18).reshape(9, 2), like=uneven).offsets == (0, 7, 9)
    with pytest.raises(ShapeError, match="as many rows as like= has, 9; got 8"):
        group.scatter(np.arange(8), like=uneven)


def test_shards_are_taken_where_they_lie(group) -> None:
    shards = [device.asarray(np.arange(k, k + 4, dtype=np.float32)) for k, device in enumerate(group.devices)]
    taken = group.from_shards(shards)
    assert all(one is other for one, other in zip(taken.shards, shards, strict=True))
    assert float(group.reduce(taken)) == sum(sum(range(k, k + 4)) for k in range(len(group)))


def test_shards_of_torch_are_shared() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(4, dtype=torch.float32)
    taken = pair().from_shards([tensor, tensor])
    tensor[0] = 9
    assert taken.shards[1][0] == 9
    assert torch.from_dlpack(taken.shards[0]).data_ptr() == tensor.data_ptr()


def test_wrong_shards_are_refused() -> None:
    group, x = pair(), np.arange(6)
    with pytest.raises(ArrayError, match=r"a list of 2 array\(s\), one for each device"):
        group.from_shards([x])
    with pytest.raises(ArrayError, match=r"a list of 2 array\(s\)"):
        group.from_shards(x)
    with pytest.raises(ShapeError, match="differ along the first axis only"):
        group.from_shards([x.reshape(2, 3), x.reshape(3, 2)])
    with pytest.raises(ShapeError, match="differ along the first axis only"):
        group.from_shards([np.int64(3), np.int64(3)])
    with pytest.raises(DtypeError, match="shards of one dtype; got float64 and int64"):
        group.from_shards([x, x / 2])
    with pytest.raises(ShapeError, match="one axis or more"):
        group.scatter(3.0)
    with pytest.raises(ArgumentError, match="one device or more"):
        gpuprims.DeviceGroup([])
    with pytest.raises(gpuprims.errors.UnknownDeviceError):
        gpuprims.DeviceGroup(["opencl:no such vendor"])


def test_shards_on_another_device_are_refused() -> None:
    homes = [device for device in gpuprims.devices() if device.backend == "opencl"]
    if len(homes) < 2:
        pytest.skip("needs two OpenCL devices")
    group = gpuprims.DeviceGroup(homes[:2])
    shards = [device.asarray(np.arange(3)) for device in homes[:2]]
    with pytest.raises(DeviceMismatchError, match="shard 0 on"):
        group.from_shards(shards[::-1])


def test_an_array_of_a_device_is_scattered(group) -> None:
    x = np.arange(11, dtype=np.float32)
    np.testing.assert_array_equal(group.scatter(group.devices[-1].asarray(x)).gather(), x)


def test_ordinary_functions_refuse_sharded_arrays() -> None:
    with pytest.raises((ArrayError, DtypeError), match="ShardedArray"):
        gpuprims.reduce(pair().scatter(np.arange(4)), device="reference")


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    group, x = pair(), np.arange(6.0)
    sharded = group.scatter(x)
    with pytest.raises(ArrayError, match=r"sharded arrays; got ndarray.*write group\.scatter"):
        group.reduce(x)
    with pytest.raises(ShapeError, match=r"cut at the same rows.*like=x"):
        group.map("a + b", sharded, group.from_shards([x[:1], x[1:]]))
    with pytest.raises(ShapeError, match="cut at the same rows"):
        group.map("a + b", sharded, group.scatter(np.arange(7.0)))
    with pytest.raises(ArgumentError, match="arrays on the group's devices"):
        gpuprims.DeviceGroup(["reference"] * 3).reduce(sharded)


def test_groups_are_copied_and_pickled_by_specs() -> None:
    for again in (copy.deepcopy(pair()), pickle.loads(pickle.dumps(pair()))):  # noqa: S301
        assert repr(again) == "DeviceGroup(['reference:0', 'reference:0'])"
        assert int(again.reduce(again.scatter([1, 2, 3]))) == 6


def test_an_array_says_where_it_lies() -> None:
    said = repr(pair().scatter(np.zeros((5, 2), np.float32)))
    assert (
        said
        == "<gpuprims.ShardedArray float32[5, 2] in shards of [2, 3] on DeviceGroup(['reference:0', 'reference:0'])>"
    )
