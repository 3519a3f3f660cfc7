"""Scans at the same time, in threads, in one queue and in two."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kernel_cases import FLAT, Kernel, able_variants, assert_equal, on_device, on_host, random_values
from scan_cases import COLUMNS

import gpuprims


@pytest.mark.optimised
def test_scans_of_two_threads_do_not_meet(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    sizes = [1, 300, 5000, 70_001, 40_000, 2, 9999]
    arrays = [random_values(rng, np.int64, sizes[k % len(sizes)]) for k in range(40)]
    if scan_kernel.by_columns:
        arrays = [random_values(rng, np.int64, (1 + k % 30, 2100)) for k in range(40)]

    def scanned(array: np.ndarray) -> np.ndarray:
        return on_host(scan_kernel.device, scan_kernel.scan(on_device(scan_kernel.device, array), axis=0))

    with ThreadPoolExecutor(2) as pool:
        for array, got in zip(arrays, pool.map(scanned, arrays), strict=True):
            assert_equal(got, np.cumsum(array, axis=0))


@pytest.mark.optimised
def test_scans_that_follow_each_other_on_the_device_do_not_meet(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    device = scan_kernel.device
    shapes = [COLUMNS, (9001, 3)] if scan_kernel.by_columns else [scan_kernel.several_scanned, 5, (2, 3001), 257]
    arrays = [random_values(rng, np.int32, shape) for shape in shapes * 6]
    residents = [on_device(device, array) for array in arrays]
    results = [scan_kernel.scan(resident, axis=0) for resident in residents]  # no call waits for another
    for array, result in zip(arrays, results, strict=True):
        assert_equal(on_host(device, result), np.cumsum(array, axis=0))


@pytest.mark.optimised
def test_scans_of_two_queues_do_not_meet(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    device = scan_kernel.device
    if device.backend == "reference":
        pytest.skip("the reference device has no queues")
    size = 200_003
    if scan_kernel.variant not in able_variants(device, "scan", FLAT):
        pytest.skip("scans no flat arrays; its groups know nothing of each other")
    arrays = [random_values(rng, np.int64, size - k) for k in range(10)]
    expected = [np.cumsum(array) for array in arrays]
    if device.backend == "cuda":
        import cupy

        streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
        results = []
        for k, array in enumerate(arrays * 2):
            with streams[k % 2]:
                results.append(scan_kernel.scan(cupy.asarray(array)))
        for stream in streams:
            stream.synchronize()
        got = [result.get() for result in results]
    else:
        import pyopencl as cl
        import pyopencl.array as cl_array

        queues = [cl.CommandQueue(device.driver.context) for _ in range(2)]
        residents = [cl_array.to_device(queues[k % 2], array) for k, array in enumerate(arrays * 2)]
        results = [gpuprims.scan(resident, variant=scan_kernel.variant.name) for resident in residents]
        got = [result.get() for result in results]
    for one, other in zip(got, expected * 2, strict=True):
        assert_equal(one, other)
