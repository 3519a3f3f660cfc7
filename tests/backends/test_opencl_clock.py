"""Timed launches on OpenCL queues of any kind keep the order of their queue."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.backends.opencl import BACKEND

cl = pytest.importorskip("pyopencl")
cl_array = pytest.importorskip("pyopencl.array")

FLAGS = cl.command_queue_properties
PROPERTIES = {
    "in order": 0,
    "keeps times": FLAGS.PROFILING_ENABLE,
    "out of order": FLAGS.OUT_OF_ORDER_EXEC_MODE_ENABLE,
}


@pytest.fixture
def queue(device: gpuprims.Device, request: pytest.FixtureRequest) -> Any:
    if device.backend != BACKEND.name:
        pytest.skip("has no OpenCL queue")
    own = device.driver.queue
    if request.param & ~own.device.queue_properties:
        pytest.skip(f"{device.capabilities.name} has no such queue")
    return cl.CommandQueue(own.context, properties=request.param)


@pytest.mark.whole
@pytest.mark.parametrize("queue", PROPERTIES.values(), ids=PROPERTIES, indirect=True)
def test_a_chain_of_timed_calls_computes_what_it_should(queue: Any, rng: np.random.Generator) -> None:
    x = rng.integers(-100, 100, 30_011)
    array = cl_array.to_device(queue, x)
    with gpuprims.profile() as seen:
        began = time.perf_counter()
        for _ in range(10):
            array = gpuprims.scan(gpuprims.map("x % 7 - 3", array))
            x = np.cumsum(x % 7 - 3)
        other = array.copy()  # pyopencl's own command, which follows on the same queue
        queue.finish()
        passed = time.perf_counter() - began
    np.testing.assert_array_equal(array.get(), x)
    np.testing.assert_array_equal(other.get(), x)
    assert 0 < sum(launch.seconds for launch in seen.launches) <= passed


def test_launches_without_a_wait_hold_few_arrays(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if device.backend != BACKEND.name or not device.driver.shares_host_memory:
        pytest.skip("its kernels do not work in the host's memory")
    x, total = rng.random(1000, dtype=np.float32), np.empty(1, np.float32)
    with gpuprims.profile() as seen:
        plan = gpuprims.plan("reduce", x, device=device)
        launch, memory = plan._launch_plan.compiled(), device.driver.memory
        for _ in range(600):
            launch([memory(x), memory(total)])
            assert len(device.driver._launches.held) <= 300
        device.synchronize()
    assert total[0] == plan(x)
    assert len(seen.launches) == 600


def test_arrays_live_longer_than_the_clock(device: gpuprims.Device, rng: np.random.Generator) -> None:
    if device.backend != BACKEND.name:
        pytest.skip("has no OpenCL queue")
    x = rng.random(1000, dtype=np.float32)
    array = device.asarray(x)
    with gpuprims.profile() as seen:
        kept = gpuprims.map("2 * x", array)
    assert seen.launches
    del seen
    gc.collect()
    assert [event.command_queue for event in kept.events] == [device.driver.queue]
    np.testing.assert_array_equal(device.to_host(gpuprims.map("x - y", kept, array)), x)


@pytest.mark.parametrize("queue", [0], ids=["in order"], indirect=True)
def test_a_timed_launch_waits_for_its_counters(
    queue: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new queue has none yet; here they are zero only after a while."""
    x, fill = rng.integers(0, 9, 1_000_000), cl.enqueue_fill_buffer
    other, large = cl.CommandQueue(queue.context), cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 2**26)

    def fill_late(*arguments: Any) -> Any:
        fill(other, arguments[1], b"\xff", 0, arguments[4]).wait()
        late = [fill(other, large, bytes(4), 0, 2**26) for _ in range(30)]  # some milliseconds, on CPUs half a second
        return fill(*arguments[:5], [*(arguments[5] if len(arguments) > 5 else []), late[-1]])

    array = cl_array.to_device(queue, x)
    with gpuprims.profile() as seen:
        gpuprims.map("x", array)  # opens the clock, which fills memory of its own
        monkeypatch.setattr(cl, "enqueue_fill_buffer", fill_late)
        total = gpuprims.reduce(array)
        monkeypatch.undo()
    assert int(total.get()) == x.sum()
    assert [launch.call.partition("(")[0] for launch in seen.launches] == ["map", "reduce"]
