"""scan writes every result, and takes more elements than 32 bits count."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, on_device, on_host, poison, random_values, release_pools


@pytest.mark.optimised
@pytest.mark.parametrize("shape", [(50_000,), (50_000, 3), (3, 50_000), (20, 2500)])
def test_no_result_is_left_unwritten(scan_kernel: Kernel, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    device = scan_kernel.device
    x = random_values(rng, np.float32, shape)
    resident = on_device(device, x)
    poison(device)
    assert_equal(scan_kernel.scan(x, op="max", axis=0), np.maximum.accumulate(x, axis=0))
    poison(device)
    got = on_host(device, scan_kernel.scan(resident, op="max", axis=0))
    assert_equal(got, np.maximum.accumulate(x, axis=0))


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_more_elements_than_32_bits_count(
    scan_kernel: Kernel, rng: np.random.Generator, dtype: str, axis: int | None
) -> None:
    device = scan_kernel.device
    rows, columns = 2**16 + 1, 2**15 + 3
    wanted = rows * columns * np.dtype(dtype).itemsize * 5 // 4
    if device.capabilities.kind != "gpu" or device.capabilities.memory < max(wanted, 2**34):
        pytest.skip(f"needs a GPU with {max(wanted, 2**34) >> 30} GiB; {device.capabilities.name} is none")
    release_pools()
    # The element at (r, c) is x[r] * y[c]: sums of rows are products, and the inputs are small.
    x, y = rng.integers(0, 100, rows), rng.integers(0, 100, columns)
    heights, widths = np.cumsum(x), np.cumsum(y)
    operands = [on_device(device, one) for one in (x[:, None].astype(np.int32), y.astype(np.int32))]
    got = scan_kernel.scan(*operands, map="x*y", dtype=dtype, axis=axis)
    flat = got.reshape(-1) if axis == 0 else got
    assert flat.shape == (rows * columns,)
    for row in (0, 1, 255, 256, rows // 2, rows - 2, rows - 1):
        line = on_host(device, flat[row * columns : (row + 1) * columns])
        flat_sums = (heights[row] - x[row]) * widths[-1] + x[row] * widths
        assert_equal(line, (heights[row] * y if axis == 0 else flat_sums).astype(dtype))
    del got, flat
    release_pools()
