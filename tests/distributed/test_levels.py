"""The level "order" beyond one device: the bits of one device, for any shards, chunks, devices and orders."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from device_groups import group_of

import gpuprims
from conftest import SPECS
from gpuprims.distributed import LogReg
from gpuprims.errors import NoVariantError, StreamError

HERE = "reference"
HOW: list[dict[str, Any]] = [
    {},
    {"axis": 0},
    {"op": "mean", "axis": (0, 1)},
    {"op": "norm", "axis": 0},
    {"map": "x*x"},
    {"op": "max"},
    {"op": "argmin"},
    {"dtype": np.float64, "initial": 3},
]


def cancelling(rng: np.random.Generator, dtype: Any = np.float32) -> np.ndarray:
    """Return numbers whose sums depend on the order in which they are added."""
    return (rng.standard_normal((600, 3)) * 2.0 ** rng.integers(-40, 40, (600, 3))).astype(dtype)


def bits(found: Any) -> bytes:
    return np.asarray(found).tobytes()


def alone(x: np.ndarray, **how: Any) -> bytes:
    return bits(gpuprims.reduce(x, device=HERE, determinism="order", **how))


@pytest.fixture
def exact(group: gpuprims.DeviceGroup) -> gpuprims.DeviceGroup:
    if not all(device.capabilities.fp64 for device in group.devices):
        pytest.skip("exact sums need float64")
    return group


def test_groups_have_the_bits_of_one_device(exact, rng) -> None:
    x = cancelling(rng)
    on_host = all(device.backend == "reference" for device in exact.devices)
    for how in HOW if on_host else HOW[1:3]:  # each compiles kernels
        found = exact.reduce(exact.scatter(x), determinism="order", **how)
        assert bits(found) == alone(x, **how), how
        assert np.shape(found) == np.shape(exact.reduce(exact.scatter(x), **how))
    turned = rng.permutation(x)
    assert bits(exact.reduce(exact.scatter(turned), determinism="order")) == alone(x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_shards_and_chunks(dtype, rng) -> None:
    x = cancelling(rng, dtype)
    for n in (1, 2, 3, 8):
        group = gpuprims.DeviceGroup([HERE] * n)
        assert bits(group.reduce(group.scatter(x), determinism="order", axis=0)) == alone(x, axis=0)
    uneven = group_of(HERE).from_shards([x[:1], x[1:1], x[1:]])
    with gpuprims.use_determinism("order"):
        assert bits(group_of(HERE).reduce(uneven)) == alone(x)
        for chunk in (7, 100, 599, 600, 1000):
            for device in (HERE, SPECS[0]):
                if gpuprims.Device(device).capabilities.fp64:
                    assert bits(gpuprims.stream(x, chunk=chunk, device=device).reduce()) == alone(x)


@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinities_overflow_and_nothing(dtype) -> None:
    most, group = np.finfo(dtype).max, gpuprims.DeviceGroup([HERE] * 2)
    hard: list[list[list[float]]] = [
        [[most], [most]], [[most, most], [-most, 1]], [[np.inf], [1]], [[np.inf], [-np.inf]], [[np.nan], [0]],
        [[], []], [[-0.0], [-0.0]], [[], [5]],
    ]  # fmt: skip
    for parts in hard:
        x = group.from_shards([np.array(part, dtype) for part in parts])
        assert bits(group.reduce(x, determinism="order")) == alone(x.gather())


def test_a_stream_goes_on_exactly(rng) -> None:
    x = cancelling(rng)

    def source():
        yield from np.split(x, 4)[:2]
        raise OSError("gone")

    with pytest.raises(StreamError) as caught:
        gpuprims.stream(source, device=HERE).reduce(determinism="order")
    checkpoint = pickle.loads(pickle.dumps(caught.value.checkpoint))  # noqa: S301 - just made
    stream = gpuprims.stream(np.split(x, 4), device=HERE)
    assert bits(stream.reduce(resume=checkpoint, determinism="order")) == alone(x)


def test_what_is_rounded_in_parts_is_refused(rng) -> None:
    group, x = group_of(HERE), rng.standard_normal((30, 2))
    sharded, stream = group.scatter(x), gpuprims.stream(x, device=HERE)
    weighted = gpuprims.stream(x, x, chunk=10, device=HERE)
    calls = [
        lambda: group.reduce(sharded, op="var"),
        lambda: stream.reduce(op="prod"),
        lambda: group.scan(sharded, op="prod"),
        lambda: next(stream.scan(op="prod")),
        lambda: group.histogram(sharded, 4, (-1, 1), weights=sharded),
        lambda: weighted.histogram(4, (-1, 1)),
        lambda: LogReg().fit(sharded, x[:, 0] > 0),
    ]
    for call in calls:
        with gpuprims.use_determinism("order"), pytest.raises(NoVariantError):
            call()
