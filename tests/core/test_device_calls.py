"""Later calls on a device's arrays: they run few functions of Python's, and see what the arrays hold now."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from call_counts import count_calls
from device_doubles import CLASSES, double_of, in_use, runtimes
from kernel_cases import as_it_stands, on_device, on_host

import gpuprims

_GPU = CLASSES[-1]  # whose kernels are those of the most capable
SIZE = 1000


class Given(NamedTuple):
    """The arrays of a call, of the host or of a device."""

    x: Any
    keys: Any
    mask: Any
    image: Any


def given(seed: int) -> Given:
    """Return arrays of the host."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-99, 99, SIZE).astype(np.float32)
    return Given(x, rng.integers(-9, 9, SIZE), rng.random(SIZE) < 0.5, rng.integers(-1, 2, (25, 40), np.int32))


# The most functions of a later call on a GPU, and the call.
CALLS: dict[str, tuple[int, Callable[[Given], Any]]] = {
    "reduce by": (110, lambda one: gpuprims.reduce(one.x, by=one.keys)),
    "reduce by, rows": (115, lambda one: gpuprims.reduce(one.image, by=one.image, op="max")),
    "reduce by, indices": (160, lambda one: gpuprims.reduce(one.x, by=one.keys, op="argmin")),
    "scan by": (165, lambda one: gpuprims.scan(one.x, by=one.keys)),
    "group_by": (110, lambda one: gpuprims.group_by(one.keys, one.x)),
    "group_by, two": (210, lambda one: gpuprims.group_by(one.keys, one.x, one.keys)),
    "unique": (40, lambda one: gpuprims.unique(one.keys)),
    "unique, counts": (50, lambda one: gpuprims.unique(one.keys, return_counts=True)),
    "nonzero": (28, lambda one: gpuprims.nonzero(one.mask)),
    "nonzero, rows": (50, lambda one: gpuprims.nonzero(one.image)),
    "argwhere": (28, lambda one: gpuprims.argwhere(one.mask)),
    "argwhere, rows": (140, lambda one: gpuprims.argwhere(one.image)),
    "compact": (26, lambda one: gpuprims.compact(one.x, one.mask)),
}


@pytest.fixture(autouse=True)
def unoptimised(monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_stands(monkeypatch)


@pytest.fixture(params=runtimes()[:1])
def gpu(request: pytest.FixtureRequest) -> Iterator[gpuprims.Device]:
    """A double of a GPU."""
    real = gpuprims.Device(request.param)
    if _GPU.width not in real.capabilities.subgroup_sizes:
        pytest.skip(f"{real.capabilities.name} has no sub-groups of {_GPU.width}")
    with in_use(double_of(real, _GPU.of(real.capabilities))) as double:
        yield double


def several(device: gpuprims.Device, results: Any) -> list[np.ndarray]:
    """Return results on the host."""
    found = results if isinstance(results, tuple) else (results,)
    return [on_host(device, one) for one in found]


def check(device: gpuprims.Device, call: Callable[[Given], Any]) -> Callable[[], Any]:
    """Compare some calls with those of the reference, and return the last call."""
    for seed in range(4):
        here = given(seed)
        there = Given(*[on_device(device, one) for one in here])
        with gpuprims.use_device("reference"):
            expected = call(here)
        got = several(device, call(there))
        for one, other in zip(got, expected if isinstance(expected, tuple) else (expected,), strict=True):
            assert one.dtype == np.asarray(other).dtype
            np.testing.assert_array_equal(one, other)
    return lambda: call(there)


@pytest.mark.parametrize("name", CALLS)
def test_on_a_gpu(gpu: gpuprims.Device, name: str) -> None:
    most, call = CALLS[name]
    again = check(gpu, call)
    assert min(count_calls(again) for _ in range(5)) <= most


@pytest.mark.parametrize("name", CALLS)
def test_on_each_device(device: gpuprims.Device, name: str) -> None:
    if device.backend == "reference":
        pytest.skip("whose arrays are the host's")
    check(device, CALLS[name][1])


def test_arrays_of_earlier_calls_are_let_go(gpu: gpuprims.Device) -> None:
    """What is kept for later calls holds no array of the call that it was kept by."""
    for _, call in CALLS.values():
        there = Given(*[on_device(gpu, one) for one in given(7)])
        kept = [weakref.ref(one) for one in there]
        for _ in range(2):
            call(there)
        del there
        gc.collect()
        assert not any(one() is not None for one in kept)
