"""reduce writes every result and partial value; calls in one queue do not mix."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, on_device, on_host, poison, random_values
from reduce_cases import several_tiles


@pytest.mark.optimised
@pytest.mark.parametrize("shape", [(50_000,), (50_000, 3), (3, 50_000)])
def test_no_result_or_partial_value_is_left_unwritten(
    reduce_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...]
) -> None:
    device = reduce_kernel.device
    x = random_values(rng, np.float32, shape)
    resident = on_device(device, x)
    for axis in (None, 0):
        poison(device)
        assert_equal(reduce_kernel.reduce(x, op="max", axis=axis), np.max(x, axis=axis))
        poison(device)
        got = on_host(device, reduce_kernel.reduce(resident, op="max", axis=axis))
        assert_equal(got, np.max(x, axis=axis))


def test_calls_that_follow_each_other_on_the_device_do_not_meet(
    reduce_kernel: Kernel, rng: np.random.Generator
) -> None:
    device = reduce_kernel.device
    arrays = [random_values(rng, np.int32, several_tiles(reduce_kernel)) for _ in range(20)]
    residents = [on_device(device, array) for array in arrays]
    results = [reduce_kernel.reduce(resident) for resident in residents]  # no call waits for another
    for array, result in zip(arrays, results, strict=True):
        assert_equal(on_host(device, result), np.sum(array))
