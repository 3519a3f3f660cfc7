"""How many kernels a warm call launches, and what arrays of a backend's own are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import need, on_device, on_host

import gpuprims
from gpuprims.backends.opencl import BACKEND

CALLS: dict[str, tuple[int, Callable[[Any, Any], Any]]] = {
    "histogram": (1, lambda x, n: gpuprims.histogram(x[:1000], 256, (0, 1))),
    "histogram of several parts": (2, lambda x, n: gpuprims.histogram(x, 256, (0, 1))),
    "histogram of rows": (2, lambda x, n: gpuprims.histogram(x.reshape(10, -1), 256, (0, 1), axis=1)),
    "bincount": (1, lambda x, n: gpuprims.bincount(n[:1000])),
    "bincount of several parts": (2, lambda x, n: gpuprims.bincount(n)),
    "sums of float32": (2, lambda x, n: gpuprims.histogram(x, 256, (0, 1), weights=x)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warm_call_launches_no_more_than_it_needs(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if device.backend != BACKEND.name or device.capabilities.kind != "cpu":
        pytest.skip("counts the launches of CPUs, by OpenCL")
    need(device, "float64")
    import pyopencl as cl

    launches, call = CALLS[name]
    x = on_device(device, rng.random(100_000, dtype=np.float32))
    arrays = x, on_device(device, rng.integers(0, 200, 100_000))
    call(*arrays)
    done = []
    enqueue = cl.enqueue_nd_range_kernel
    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", lambda *how, **more: done.append(1) or enqueue(*how, **more))
    call(*arrays)
    assert len(done) == launches


def test_arrays_of_one_shape_have_nothing_in_common(device: gpuprims.Device) -> None:
    one, other = (device.asarray(np.full((2, 3), value, np.int16)) for value in (1, 2))
    assert on_host(device, one).tolist() == [[1] * 3] * 2
    assert on_host(device, other).tolist() == [[2] * 3] * 2
    if device.backend == BACKEND.name:
        assert one.events is not other.events


def test_a_cut_lies_where_the_array_does(device: gpuprims.Device) -> None:
    whole = device.driver.copy(device.asarray(np.arange(24)), np.arange(24))
    for start, shape in ((0, (24,)), (5, (3, 4)), (23, (1, 1)), (24, (0,)), (7, ())):
        cut = device.driver.cut(whole, start, shape)
        length = int(np.prod(shape))
        expected = np.arange(start, start + length).reshape(shape)
        np.testing.assert_array_equal(device.to_host(cut), expected)
        assert int(on_host(device, gpuprims.reduce(cut, device=device))) == expected.sum()


def test_edges_are_the_callers_own(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = on_device(device, rng.random(100, dtype=np.float32))
    for how in (4, (0, 1)), (np.array([0, 0.25, 0.5, 0.75, 1], np.float32),):
        edges = gpuprims.histogram(x, *how, device=device)[1]
        gpuprims.map("x + 9", x[:5], out=edges, device=device)
        again = gpuprims.histogram(x, *how, device=device)[1]
        assert on_host(device, again).tolist() == [0, 0.25, 0.5, 0.75, 1]
