"""Copies between the host and an NVIDIA GPU: of pinned memory, of few bytes, and in order with the work of streams."""

from __future__ import annotations

import numpy as np
import pytest

import gpuprims
from conftest import SPECS

pytestmark = pytest.mark.skipif(not any(one.startswith("cuda") for one in SPECS), reason="needs an NVIDIA GPU")


@pytest.fixture(params=[one for one in SPECS if one.startswith("cuda")])
def gpu(request: pytest.FixtureRequest) -> gpuprims.Device:
    return gpuprims.Device(request.param)


@pytest.mark.parametrize("count", [1, 16_384, 16_385, 3_000_001])
def test_pinned_arrays_and_parts_of_them_arrive(gpu: gpuprims.Device, count: int, rng: np.random.Generator) -> None:
    cupyx = pytest.importorskip("cupyx")
    pinned = cupyx.empty_pinned(count + 3, np.float32)
    pinned[:] = x = rng.standard_normal(count + 3).astype(np.float32)
    for part in (slice(0, count), slice(3, None), slice(None, None, 2)):
        finish = gpu.driver.begin_asarray(pinned[part])
        np.testing.assert_array_equal(gpu.to_host(finish()), x[part])
    finish = gpu.driver.begin_asarray(pinned[:count])
    there = gpuprims.map("2*v", finish())
    pinned[:] = 0  # it has been read
    np.testing.assert_array_equal(gpu.to_host(there), 2 * x[:count])


@pytest.mark.parametrize("shape", [(), (1,), (300,), (0,), (7, 5), (1 << 16,)])
def test_few_bytes_are_those_after_the_work_so_far(gpu: gpuprims.Device, shape: tuple[int, ...]) -> None:
    zeros = np.zeros(shape, np.float64)
    array = gpu.asarray(zeros)
    finishes = []
    for k in range(5):
        gpuprims.map("v + 1", array, out=array)
        finishes.append((k + 1, gpu.driver.begin_few(array)))
    for wanted, finish in reversed(finishes):
        found = finish()
        assert (found.shape, found.dtype) == (shape, zeros.dtype)
        np.testing.assert_array_equal(found, zeros + wanted)
    turned = gpu.driver.begin_few(gpu.asarray(np.arange(12.0).reshape(3, 4)).T)()
    np.testing.assert_array_equal(turned, np.arange(12.0).reshape(3, 4).T)


def test_few_bytes_are_sent_in_the_order_of_the_work(gpu: gpuprims.Device) -> None:
    host, found = np.zeros(900, np.float32), []
    for k in range(200):  # more than are on their way at the same time
        host[:] = k
        there = gpu.driver.begin_asarray(host)()
        host[:] = -1  # it has been read
        found.append(gpuprims.map("v + 1", there))
    for k, one in enumerate(found):
        np.testing.assert_array_equal(gpu.to_host(one), np.full(900, k + 1, np.float32))
    for other in (np.arange(6.0).reshape(2, 3).T, np.float32(3), np.array([True, False]), np.zeros(0)):
        np.testing.assert_array_equal(gpu.to_host(gpu.driver.begin_asarray(np.asarray(other))()), other)
