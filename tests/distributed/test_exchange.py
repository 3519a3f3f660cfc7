"""all_reduce: NumPy's folds, the same bits on every device, and the ways by which GPUs exchange arrays."""

from __future__ import annotations

from contextlib import nullcontext
from functools import reduce
from typing import Any

import numpy as np
import pytest
from device_groups import group_of

import gpuprims
from conftest import SPECS
from gpuprims.distributed import exchange
from gpuprims.errors import ArgumentError, ArrayError, NoVariantError, ShapeError

GPUS = [one for one in SPECS if one.startswith("cuda")]
FOLDS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


def there(group: gpuprims.DeviceGroup, parts: list[np.ndarray]) -> Any:
    """Return parts in the devices' own arrays."""
    return group.from_shards([device.asarray(part) for device, part in zip(group.devices, parts, strict=True)])


def assert_folded(group: gpuprims.DeviceGroup, x: Any, parts: list[np.ndarray], op: str = "sum") -> None:
    found = group.all_reduce(x, op)
    hosts = [device.to_host(shard) for device, shard in zip(group.devices, found.shards, strict=True)]
    wanted = reduce(FOLDS[op], parts)
    assert hosts[0].dtype == wanted.dtype
    np.testing.assert_allclose(hosts[0], wanted, rtol=1e-6)
    for host in hosts[1:]:
        np.testing.assert_array_equal(host, hosts[0])


@pytest.mark.parametrize("op", list(FOLDS))
def test_every_device_has_the_fold(group, op, rng) -> None:
    for shape, dtype in (((256,), np.float32), ((3, 5), np.int32), ((0,), np.float32), ((70_001,), np.float32)):
        parts = [(9 * rng.standard_normal(shape)).astype(dtype) for _ in group.devices]
        assert_folded(group, group.from_shards(parts), parts, op)
        assert_folded(group, there(group, parts), parts, op)


def test_sums_are_in_the_order_of_shards() -> None:
    group = group_of("reference")
    parts = [np.float32([one]) for one in (1e8, 1, -1e8)]
    assert group.all_reduce(group.from_shards(parts)).gather().tolist() == [0, 0, 0]
    twice = gpuprims.Op(lambda a, b: 2 * a + b, identity=0, name="not associative")
    assert group.all_reduce(group.from_shards([np.float32([one]) for one in (1, 10, 100)]), twice).gather()[0] == 124


def test_wrong_arguments_are_refused(rng) -> None:
    group = group_of("reference")
    x = group.from_shards(list(rng.standard_normal((3, 4))))
    with pytest.raises(ArgumentError, match="an operator of elements"):
        group.all_reduce(x, "mean")
    with pytest.raises(ShapeError, match="shards of one shape"):
        group.all_reduce(group.scatter(np.zeros(4)))
    with pytest.raises(ArrayError, match="sharded arrays"):
        group.all_reduce(np.zeros(3))
    with gpuprims.use_determinism("order"):
        with pytest.raises(NoVariantError, match="folds of rounded numbers"):
            group.all_reduce(x)
        assert group.all_reduce(x, "max").gather().shape == (12,)


@pytest.mark.parametrize("count", [300, 20_000])
def test_a_driver_that_reaches_others_reads_them_where_they_lie(count, monkeypatch, rng) -> None:
    """As on GPUs: after the work of all, one reads and writes few bytes for all; more are read by each."""
    homes = [device for device in gpuprims.devices() if device.backend == "opencl"][:2]
    if len(homes) < 2:
        pytest.skip("needs two OpenCL devices")
    group, happened, kind = gpuprims.DeviceGroup(homes), [], type(homes[0].driver)
    seen: list[tuple[Any, Any]] = []

    def view_of_peer(driver: Any, array: Any) -> Any:
        happened.append("view")
        view = driver.asarray(next(home for home in homes if home.driver is not driver).to_host(array))
        seen.append((array, view))
        return view

    def lead(driver: Any, drivers: Any) -> None:  # here a view is a copy, so what was written there goes back
        happened.append("lead")
        for array, view in seen:
            array.set(homes[0].to_host(view))

    monkeypatch.setattr(exchange.nccl, "folds", lambda op, dtype: False)
    monkeypatch.setattr(kind, "reaches", lambda driver, drivers: True, raising=False)
    monkeypatch.setattr(kind, "meet", lambda driver, drivers: happened.append("meet"), raising=False)
    monkeypatch.setattr(kind, "follow", lambda driver, drivers: happened.append("follow"), raising=False)
    monkeypatch.setattr(kind, "lead", lead, raising=False)
    monkeypatch.setattr(kind, "current", lambda driver: nullcontext(), raising=False)
    monkeypatch.setattr(kind, "view_of_peer", view_of_peer, raising=False)
    parts = list(rng.standard_normal((2, count)))
    x, few = there(group, parts), count == 300
    assert exchange.ways_of(group, x, "sum") == [*(["one"] if few else []), "peers", "copies"]
    assert_folded(group, x, parts)
    assert happened == (["view", "view", "follow", "lead"] if few else ["meet", "view", "view", "meet"])


@pytest.mark.skipif(len(GPUS) < 2, reason="needs two NVIDIA GPUs")
@pytest.mark.parametrize("way", ["one", "peers", "nccl"])
def test_gpus_exchange_by_peers_and_by_nccl(way, monkeypatch, rng) -> None:
    group = gpuprims.DeviceGroup(GPUS)
    if way not in exchange.ways_of(group, there(group, [np.ones(2)] * len(GPUS)), "sum"):
        pytest.skip(f"these GPUs have no {way}")
    monkeypatch.setattr(exchange, "ways_of", lambda *_: [way])
    for count in (1, 256, 1 << 20):
        for op in FOLDS:
            parts = [rng.uniform(0.5, 1.5, count).astype(np.float32) for _ in GPUS]
            x = there(group, parts)
            for _ in range(3):  # later work waits until the arrays were read
                found = group.all_reduce(x, op)
                x = group.map("v", x)
            del found
            assert_folded(group, x, parts, op)
            turned = group.map("a + b", group.all_reduce(x, op), group.all_reduce(x, op)).shards[-1]
            np.testing.assert_allclose(turned.get(), 2 * reduce(FOLDS[op], parts), rtol=1e-6)
