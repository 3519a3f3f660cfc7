"""Launches that the calling thread runs itself, on runtimes that offer such queues."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import gpuprims
from gpuprims.backends.opencl import BACKEND
from gpuprims.backends.opencl.quick import HOST_CALLS
from gpuprims.core.program_cache import forget_calls


@pytest.fixture
def queues(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the list of the queues that launches take from now on."""
    launches = device.driver._launches if device.backend == BACKEND.name else None
    if launches is None or launches.near is None:
        pytest.skip("is for runtimes that run kernels in the calling thread")
    import pyopencl as cl

    found: list[str] = []
    enqueue = cl.enqueue_nd_range_kernel

    def noted(queue: cl.CommandQueue, *how: object, **more: object) -> object:
        found.append("near" if queue == launches.near else "queue")
        return enqueue(queue, *how, **more)

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", noted)
    monkeypatch.setattr(HOST_CALLS, "calls", None)  # which calls OpenCL itself
    forget_calls()
    device.synchronize()
    device.driver.wait()
    yield found
    device.synchronize()
    forget_calls()


def test_small_arrays_of_the_host_need_no_other_thread(device: gpuprims.Device, queues: list[str]) -> None:
    x = np.arange(100, dtype=np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(gpuprims.map("x + 1", x, device=device), x + 1)
        assert gpuprims.reduce(x, op="max", device=device) == 99
    assert queues[-2:] == ["near"] * 2


def test_quick_functions_of_few_bytes_need_no_other_thread(device: gpuprims.Device, queues: list[str]) -> None:
    """Of several tiles, parts and segments; functions of the compiler's library are left to all threads."""
    x, offsets = np.arange(80_000, dtype=np.float32), np.array([0, 30_000, 80_000])
    wide = x.reshape(40, 2000)
    calls = [
        (lambda: gpuprims.map("x + 1", x, device=device), x + 1, "near"),
        (lambda: gpuprims.reduce(x, op="max", device=device), 79_999, "near"),
        (lambda: gpuprims.reduce(x.astype(np.int32), op="max", device=device), 79_999, "near"),
        (lambda: gpuprims.reduce(wide, op="max", axis=0, device=device), wide[-1], "near"),
        (lambda: gpuprims.reduce(x, op="max", segments=offsets, device=device), [29_999, 79_999], "near"),
        (lambda: gpuprims.map("exp(-x)", x, device=device), np.exp(-x), "queue"),
        (lambda: gpuprims.reduce(x, op="max", map="exp(-x)", device=device), 1, "queue"),
        (lambda: gpuprims.reduce(x, op="max", map="exp(-x)", segments=offsets, device=device)[:1], 1, "queue"),
    ]
    for call, expected, queue in calls:
        for _ in range(2):
            np.testing.assert_allclose(call(), expected, rtol=1e-6)
        assert queues[-1] == queue


def test_large_arrays_are_left_to_all_threads(device: gpuprims.Device, queues: list[str]) -> None:
    x = np.arange(1_000_000, dtype=np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(gpuprims.map("x + 1", x, device=device), x + 1)
    assert queues == ["queue"] * 2


def test_arrays_of_the_device_keep_the_order_of_its_queue(device: gpuprims.Device, queues: list[str]) -> None:
    x = device.asarray(np.arange(100, dtype=np.float32))
    for _ in range(2):
        np.testing.assert_array_equal(device.to_host(gpuprims.map("x + 1", x)), np.arange(100) + 1)
    assert queues == ["queue"] * 2


def test_small_arrays_wait_for_the_work_of_the_queue(device: gpuprims.Device, queues: list[str]) -> None:
    """Work that others wait for shares scratch memory with later calls."""
    small = np.arange(50, dtype=np.float32)
    gpuprims.reduce(small, device=device)
    x = device.asarray(np.arange(3_000_000, dtype=np.float32))
    total = gpuprims.reduce(x)
    assert gpuprims.reduce(small, device=device) == small.sum()
    assert queues[-1] == "queue"
    assert gpuprims.reduce(small, device=device) == small.sum()
    assert queues[-1] == "near"
    np.testing.assert_allclose(device.to_host(total), np.arange(3_000_000, dtype=np.float64).sum(), rtol=1e-6)
