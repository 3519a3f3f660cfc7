"""Later calls on a device's arrays: they run few functions of Python's, and see what the arrays hold now."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from call_counts import count_calls
from device_doubles import CLASSES, double_of, in_use, runtimes
from kernel_cases import as_it_stands, on_device, on_host

import gpuprims
from gpuprims.errors import ArgumentError, ShapeError

_GPU = CLASSES[-1]  # whose kernels are those of the most capable
SIZE = 1000


class Given(NamedTuple):
    """The arrays of a call, of the host or of a device."""

    x: Any
    keys: Any
    mask: Any
    image: Any
    selected: Any


def given(seed: int) -> Given:
    """Return arrays of the host."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-99, 99, SIZE).astype(np.float32)
    image = rng.integers(-1, 2, (25, 40), np.int32)
    return Given(x, rng.integers(-9, 9, SIZE), rng.random(SIZE) < 0.5, image, rng.random(image.shape) < 0.5)


# The most functions of a later call on a GPU, and the call.
CALLS: dict[str, tuple[int, Callable[[Given], Any]]] = {
    "reduce by": (84, lambda one: gpuprims.reduce(one.x, by=one.keys)),
    "reduce by, rows": (88, lambda one: gpuprims.reduce(one.image, by=one.image, op="max")),
    "reduce by, indices": (139, lambda one: gpuprims.reduce(one.x, by=one.keys, op="argmin")),
    "scan by": (144, lambda one: gpuprims.scan(one.x, by=one.keys)),
    "group_by": (86, lambda one: gpuprims.group_by(one.keys, one.x)),
    "group_by, two": (150, lambda one: gpuprims.group_by(one.keys, one.x, one.keys)),
    "unique": (41, lambda one: gpuprims.unique(one.keys)),
    "unique, counts": (48, lambda one: gpuprims.unique(one.keys, return_counts=True)),
    "nonzero": (28, lambda one: gpuprims.nonzero(one.mask)),
    "nonzero, rows": (52, lambda one: gpuprims.nonzero(one.image)),
    "argwhere": (30, lambda one: gpuprims.argwhere(one.mask)),
    "argwhere, rows": (135, lambda one: gpuprims.argwhere(one.image)),
    "compact": (26, lambda one: gpuprims.compact(one.x, one.mask)),
}


# Offsets are the second argument. Values of x are whole, so that sums are exact.
SEGMENTED: dict[str, tuple[int, Callable[[Given, Any], Any]]] = {
    "reduce": (32, lambda one, at: gpuprims.reduce(one.x, segments=at)),
    "reduce along": (59, lambda one, at: gpuprims.reduce(one.image, segments=at, axis=1)),
    "reduce along columns": (131, lambda one, at: gpuprims.reduce(one.image, segments=at, axis=0, op="any")),
    "reduce along, masked": (
        69,
        lambda one, at: gpuprims.reduce(one.image, segments=at, axis=1, op="max", where=one.selected, initial=-5),
    ),
    "scan": (38, lambda one, at: gpuprims.scan(one.x, segments=at)),
    "scan along": (65, lambda one, at: gpuprims.scan(one.image, segments=at, axis=1, inclusive=False)),
    "sort": (43, lambda one, at: gpuprims.sort(one.x, segments=at)),
    "sort along": (53, lambda one, at: gpuprims.sort(one.image, segments=at, axis=1, descending=True)),
    "argsort": (43, lambda one, at: gpuprims.argsort(one.x, segments=at)),
    "argsort along": (87, lambda one, at: gpuprims.argsort(one.image, segments=at, axis=-1)),
    "histogram": (48, lambda one, at: gpuprims.histogram(one.x, 10, (-99, 99), segments=at)),
    "histogram, weights": (
        54,
        lambda one, at: gpuprims.histogram(one.x, np.array([-9.0, 0, 9]), segments=at, weights=one.keys),
    ),
}


def offsets_for(name: str, seed: int) -> np.ndarray:
    """Return offsets of the length that a call needs, of the same number of segments, some empty."""
    length = {"reduce along columns": 25}.get(name, 40 if "along" in name else SIZE)
    rng = np.random.default_rng(seed)
    inner = np.sort(rng.integers(0, length, 6))
    return np.array([0, *inner, inner[-1], length])


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


def same(device: gpuprims.Device, name: str, call: Callable[[Given, Any], Any], seed: int, offsets: Any) -> None:
    """Compare a call with the reference."""
    here = given(seed)
    there, at = Given(*[on_device(device, one) for one in here]), np.array(device.to_host(offsets))
    with gpuprims.use_device("reference"):
        expected = call(here, at)
    for one, other in zip(several(device, call(there, offsets)), several_here(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, err_msg=name)


def several_here(results: Any) -> list[np.ndarray]:
    return [np.asarray(one) for one in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.parametrize("there", [False, True], ids=["offsets of the host", "offsets of the device"])
@pytest.mark.parametrize("name", SEGMENTED)
def test_segments_on_a_gpu(gpu: gpuprims.Device, name: str, there: bool) -> None:
    most, call = SEGMENTED[name]
    check_segments(gpu, name, there)
    arrays, offsets = Given(*[on_device(gpu, one) for one in given(9)]), offsets_for(name, 9)
    at = on_device(gpu, offsets) if there else offsets
    call(arrays, at)
    assert min(count_calls(lambda: call(arrays, at)) for _ in range(5)) <= most + 5 * there


@pytest.mark.parametrize("there", [False, True], ids=["offsets of the host", "offsets of the device"])
@pytest.mark.parametrize("name", SEGMENTED)
def test_segments_on_each_device(device: gpuprims.Device, name: str, there: bool) -> None:
    if device.backend == "reference":
        pytest.skip("whose arrays are the host's")
    check_segments(device, name, there)


def check_segments(device: gpuprims.Device, name: str, there: bool) -> None:
    """Call with offsets that change in place, also to wrong ones and back."""
    call = SEGMENTED[name][1]
    at = on_device(device, offsets_for(name, 0)) if there else offsets_for(name, 0)

    def change(offsets: np.ndarray) -> None:
        if there:
            gpuprims.map("x", on_device(device, offsets), out=at)
        else:
            at[...] = offsets

    for seed in range(4):
        change(offsets_for(name, seed))
        same(device, name, call, seed, at)
        same(device, name, call, seed + 10, at)
        wrong = offsets_for(name, seed)
        wrong[seed % 3 + 3] = [-1, 2 * SIZE, wrong[-1] + 1][seed % 3]
        change(wrong)
        arrays = Given(*[on_device(device, one) for one in given(seed)])
        with pytest.raises(ArgumentError, match="segments="):
            settled(device, call, arrays, at)
    change(offsets_for(name, 1))
    same(device, name, call, 1, at)


@pytest.mark.parametrize("factor", [2.0, 3, np.float64(4), True])
def test_numbers_beside_arrays_of_segments(device: gpuprims.Device, factor: Any) -> None:
    """A number counts in each call, whatever an earlier one had."""
    x, offsets = given(0).x.reshape(25, 40), np.array([0, 7, 7, 40])
    there = on_device(device, x)
    for number in (factor, factor + factor):
        found = on_host(device, gpuprims.reduce(there, number, map="x * y", segments=offsets, axis=1))
        np.testing.assert_array_equal(found, np.add.reduceat(x * number, [0, 7, 7], axis=1) * [1, 0, 1])


@pytest.mark.parametrize("shape", [(0,), (2, 2), ()])
def test_offsets_without_an_end_are_refused(device: gpuprims.Device, shape: tuple[int, ...]) -> None:
    one, offsets = (
        Given(*[on_device(device, array) for array in given(0)]),
        on_device(device, np.zeros(shape, np.int64)),
    )
    for _, call in SEGMENTED.values():
        for _ in range(2):
            with pytest.raises(ShapeError, match="of one dimension"):
                call(one, offsets)


def settled(device: gpuprims.Device, call: Callable[[Given, Any], Any], arrays: Given, offsets: Any) -> None:
    """Call, and raise what the call did not wait for."""
    call(arrays, offsets)
    device.synchronize()


def test_arrays_of_earlier_calls_are_let_go(gpu: gpuprims.Device) -> None:
    """What is kept for later calls holds no array of the call that it was kept by."""
    calls = [call for _, call in CALLS.values()]
    for name, (_, call) in SEGMENTED.items():
        calls.append(partial(lambda call, at, one: call(one, at), call, offsets_for(name, 3)))
    for one_call in calls:
        there = Given(*[on_device(gpu, one) for one in given(7)])
        kept = [weakref.ref(one) for one in there]
        for _ in range(2):
            one_call(there)
        del there
        gc.collect()
        assert not any(one() is not None for one in kept)
