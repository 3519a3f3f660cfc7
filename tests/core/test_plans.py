"""plan: the same results as the call it stands for, and nothing it was not made for."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kernel_cases import assert_equal, on_device, on_host, random_values

import gpuprims
from gpuprims.core.plans import bind_call
from gpuprims.core.program_cache import Kernels
from gpuprims.errors import ArgumentError, ShapeError


def test_a_reduce_plan_runs_on_every_array_like_the_first(device: gpuprims.Device, rng: np.random.Generator) -> None:
    arrays = [random_values(rng, np.float32, (50, 70)) for _ in range(3)]
    plan = gpuprims.plan("reduce", on_device(device, arrays[0]), op="max", axis=0, device=device)
    for array in arrays:
        assert_equal(on_host(device, plan(on_device(device, array))), array.max(axis=0))


def test_a_map_plan_runs_on_every_array_like_the_first(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, y = random_values(rng, np.int32, (2, 1000))
    plan = gpuprims.plan("map", "x - 2*y", x, y, device=device)
    assert_equal(plan(x, y), x - 2 * y)
    out = np.empty_like(x)
    assert plan(y, x, out=out) is out
    assert_equal(out, y - 2 * x)


def test_a_plan_keeps_the_kernel_that_it_launches(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        device, "_kernels", Kernels()
    )  # of two threads that build a kernel, one goes on with the other's
    x = random_values(rng, np.int64, 3001)
    plan = gpuprims.plan("reduce", x, map=lambda x: x * 3 + 1, device=device)
    device._kernels.clear()
    gc.collect()
    assert plan(x) == (x * 3 + 1).sum()


def test_item_is_a_python_scalar(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = random_values(rng, np.float32, 1000)
    for given in (x, on_device(device, x)):
        plan = gpuprims.plan("reduce", given, op="max", device=device)
        assert type(plan.item(given)) is float
        assert plan.item(given) == x.max()
        assert type(gpuprims.plan("reduce", given, op="argmax", device=device).item(given)) is int


def test_item_gives_a_tuple_of_several_results(device: gpuprims.Device) -> None:
    affine = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0))
    for given in (np.int64([2, 3]), on_device(device, np.int64([2, 3]))):
        found: object = gpuprims.plan("reduce", given, given, op=affine, device=device).item(given, given)
        assert found == (6, 9)


def test_item_sees_each_call_of_many(device: gpuprims.Device) -> None:
    arrays = [np.full(5000, k, np.int64) for k in range(20)]
    held = [on_device(device, array) for array in arrays]
    plan = gpuprims.plan("reduce", held[0], device=device)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(plan.item, held)) == [5000 * k for k in range(20)]


def test_other_arrays_are_refused(device: gpuprims.Device) -> None:
    plan = gpuprims.plan("reduce", np.zeros((4, 6), np.float32), device=device)
    for other in (np.zeros((6, 4), np.float32), np.zeros((4, 6)), np.zeros((6, 4), np.float32).T):
        if device.driver.shares_host_memory or other.shape != (4, 6) or other.dtype != np.float32:
            with pytest.raises(ArgumentError, match="plan of reduce: arrays laid out as planned"):
                plan(other)
    with pytest.raises(ArgumentError, match="arrays laid out as planned"):
        plan(np.zeros((4, 6), np.float32), np.zeros((4, 6), np.float32))


def test_other_places_to_write_are_refused(device: gpuprims.Device) -> None:
    x = np.zeros((4, 6), np.float32)
    plan = gpuprims.plan("map", "x + 1", x, device=device)
    with pytest.raises(ShapeError, match="out= of the result's shape"):
        plan(x, out=np.zeros(24, np.float32))
    if device.driver.shares_host_memory:
        with pytest.raises(ArgumentError, match="out= laid out as planned"):
            plan(x, out=np.zeros((6, 4), np.float32).T)
        out = np.zeros((6, 4), np.float32).T
        assert_equal(gpuprims.plan("map", "x + 1", x, out=out, device=device)(x, out=out), x + 1)


def test_a_plan_for_strided_results_needs_out(device: gpuprims.Device) -> None:
    x, room = device.asarray(np.arange(6, dtype=np.float32)), device.asarray(np.zeros(12, np.float32))
    plan = gpuprims.plan("map", "x + 1", x, out=room[::2], device=device)
    with pytest.raises(ArgumentError, match=r"plan of map: out= laid out as planned, .*; got none"):
        plan(x)
    plan(x, out=room[::2])
    assert_equal(on_host(device, room)[::2], np.arange(1, 7, dtype=np.float32))
    total = gpuprims.plan("reduce", x, out=room[3:4].reshape(()))
    if device.backend == "opencl":  # a kernel adds the offset of its result's first element
        with pytest.raises(ArgumentError, match=r"plan of reduce: out= laid out as planned, .*; got none"):
            total.item(x)


def test_a_plan_of_nothing_takes_any_strides(device: gpuprims.Device) -> None:
    x, out = (device.asarray(np.zeros((0, 3), np.float32)) for _ in range(2))
    assert gpuprims.plan("map", "x + 1", x, out=out)(x).shape == (0, 3)
    assert gpuprims.plan("map", "x + 1", x)(x, out=out) is out


def test_item_of_an_array_is_refused() -> None:
    x = np.zeros((4, 6))
    plan = gpuprims.plan("reduce", x, axis=0, device="reference")
    with pytest.raises(ArgumentError, match=r"results of shape \(\) for item\(\); got \[\(6,\)\]"):
        plan.item(x)


def test_a_histogram_plan_counts_by_the_bins_that_it_was_made_for(
    device: gpuprims.Device, rng: np.random.Generator
) -> None:
    arrays = [random_values(rng, np.float32, 5000) for _ in range(3)]
    plan = gpuprims.plan("histogram", on_device(device, arrays[0]), 50, (-2, 2), device=device)
    for array in arrays:
        assert_equal(on_host(device, plan(on_device(device, array))), np.histogram(array, 50, (-2, 2))[0])
    with pytest.raises(ShapeError, match="histogram: out= of the result's shape"):
        plan(on_device(device, arrays[0]), out=on_device(device, np.zeros(51, np.int64)))


def test_a_compact_plan_keeps_what_each_array_has(device: gpuprims.Device, rng: np.random.Generator) -> None:
    arrays = [random_values(rng, np.int32, 5000) for _ in range(3)]
    plan = gpuprims.plan("compact", on_device(device, arrays[0]), "x > 0", device=device)
    for array in arrays:
        assert_equal(on_host(device, plan(on_device(device, array))), array[array > 0])


@pytest.mark.parametrize("iterations", [1, 3])
def test_a_stencil_plan_runs_all_of_its_passes(
    device: gpuprims.Device, rng: np.random.Generator, iterations: int
) -> None:
    arrays = [random_values(rng, np.int16, (40, 50)) for _ in range(2)]
    how = {"mode": "wrap", "iterations": iterations, "device": device}
    weights = np.array([[0, 1, 0], [1, -2, 1], [0, 1, 0]])
    plan = gpuprims.plan("stencil", on_device(device, arrays[0]), weights, **how)
    for array in arrays:
        expected = gpuprims.stencil(array, weights, mode="wrap", iterations=iterations, device="reference")
        assert_equal(on_host(device, plan(on_device(device, array))), expected)


def test_a_call_that_is_described_is_not_compiled(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_kernels", Kernels())
    x = np.zeros(77, np.float32)
    calls = [("map", ("x * 3.25", x)), ("reduce", (x,)), ("histogram", (x, 9, (0, 1))), ("stencil", (x, [1, 2, 1]))]
    for primitive, arguments in calls:
        launch_plan = bind_call(primitive, arguments, {"device": device})[3]
        assert launch_plan.variant is launch_plan.explanation.chosen
    assert not len(device._kernels)


def test_an_unknown_primitive_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"a function among map, reduce, scan, compact, .*; got 'turn'"):
        gpuprims.plan("turn", np.zeros(3))


def test_it_says_what_it_is() -> None:
    plan = gpuprims.plan("reduce", np.zeros((4, 6)), device="reference")
    assert repr(plan) == "<gpuprims.Plan reduce/numpy of float64[4, 6] on reference:0>"
