"""pyopencl arrays keep order by events: a call waits for those of its arrays, and leaves its own on its results."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import on_device

import gpuprims
from gpuprims.backends.opencl import BACKEND

cl = pytest.importorskip("pyopencl")
cl_array = pytest.importorskip("pyopencl.array")


@pytest.fixture
def opencl(device: gpuprims.Device) -> gpuprims.Device:
    if device.backend != BACKEND.name:
        pytest.skip("is about OpenCL devices")
    if "NVIDIA" in device.driver.context.devices[0].platform.name:
        pytest.skip("NVIDIA's driver 580 crashes where a kernel waits for an event of the user's")
    return device


def is_done(event: object) -> bool:
    return bool(event.command_execution_status == cl.command_execution_status.COMPLETE)  # type: ignore[attr-defined]


def test_a_call_waits_for_its_arrays_events_and_leaves_its_own(opencl: gpuprims.Device) -> None:
    x = on_device(opencl, np.arange(100_000, dtype=np.int64))
    opencl.synchronize()
    gate = cl.UserEvent(opencl.driver.context)
    x.add_event(gate)
    doubled = gpuprims.map("2*x", x)
    total = gpuprims.reduce(doubled)
    assert len(doubled.events) == len(total.events) == 1
    assert not is_done(doubled.events[0])
    gate.set_status(cl.command_execution_status.COMPLETE)
    assert int(total.get()) == 2 * sum(range(100_000))
    assert is_done(doubled.events[0])


def test_counts_wait_for_elements_and_leave_an_event(opencl: gpuprims.Device) -> None:
    for size in (1000, 300_000):  # counted by one launch, and by two
        x = on_device(opencl, np.arange(size, dtype=np.int32) % 100)
        opencl.synchronize()
        gate = cl.UserEvent(opencl.driver.context)
        x.add_event(gate)
        counts, _ = gpuprims.histogram(x, 100, (0, 100))
        assert not is_done(counts.events[-1])
        gate.set_status(cl.command_execution_status.COMPLETE)
        assert counts.get().tolist() == [size // 100] * 100
        assert is_done(counts.events[0])


def test_out_is_waited_for_too(opencl: gpuprims.Device) -> None:
    x, out = on_device(opencl, np.arange(10, dtype=np.int32)), on_device(opencl, np.zeros(10, np.int32))
    opencl.synchronize()
    gate = cl.UserEvent(opencl.driver.context)
    out.add_event(gate)
    gpuprims.map("x + 1", x, out=out)
    assert not is_done(out.events[-1])
    gate.set_status(cl.command_execution_status.COMPLETE)
    assert out.get().tolist() == list(range(1, 11))


def unordered(opencl: gpuprims.Device) -> object:
    try:
        properties = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        return cl.CommandQueue(opencl.driver.context, properties=properties)
    except cl.LogicError as error:
        pytest.skip(f"the driver has no such queues ({error})")


def test_a_queue_that_keeps_no_order_gets_it_from_events(opencl: gpuprims.Device) -> None:
    queue = unordered(opencl)
    host = np.random.default_rng(0).integers(-1000, 1000, 300_000)
    for _ in range(20):
        x = cl_array.to_device(queue, host)
        chained = gpuprims.map("x + 1", gpuprims.map("3*x", x))
        largest, total = gpuprims.reduce(chained, op="max"), gpuprims.reduce(chained)
        assert int(largest.get()) == 3 * host.max() + 1
        assert int(total.get()) == 3 * host.sum() + host.size


def test_so_does_memory_that_one_call_leaves_to_the_next(opencl: gpuprims.Device) -> None:
    queue = unordered(opencl)
    rng = np.random.default_rng(0)
    hosts = [rng.integers(0, 1000, 300_000) for _ in range(8)]
    for _ in range(5):
        there = [cl_array.to_device(queue, host) for host in hosts]
        counts = [gpuprims.histogram(x, 100, (0, 1000))[0] for x in there]
        sums = [gpuprims.scan(x) for x in there]
        mapped = [gpuprims.map("x + 1", gpuprims.map("2*x", x)) for x in there]
        for k, host in enumerate(hosts):
            assert counts[k].get().tolist() == np.histogram(host, 100, (0, 1000))[0].tolist()
            np.testing.assert_array_equal(sums[k].get(), np.cumsum(host))
            np.testing.assert_array_equal(mapped[k].get(), 2 * host + 1)


def test_so_do_launches_that_meet_in_scratch_memory(opencl: gpuprims.Device) -> None:
    queue = unordered(opencl)
    rng = np.random.default_rng(0)
    host, weights = rng.integers(0, 1000, 300_000), rng.random(300_000)
    for _ in range(20):
        x = cl_array.to_device(queue, host)
        assert gpuprims.bincount(x).get().tolist() == np.bincount(host).tolist()
        counts, edges = gpuprims.histogram(x, 100, (0, 1000))
        assert counts.get().tolist() == np.histogram(host, 100, (0, 1000))[0].tolist()
        assert edges.get().tolist() == np.histogram(host, 100, (0, 1000))[1].tolist()
        sums, _ = gpuprims.histogram(x, 100, (0, 1000), weights=cl_array.to_device(queue, weights))
        np.testing.assert_allclose(sums.get(), np.histogram(host, 100, (0, 1000), weights=weights)[0])
