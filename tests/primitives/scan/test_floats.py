"""scan of floats: accuracy, and the same bits in every run."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, on_device, poison, random_values

import gpuprims


def test_running_sums_of_float32_are_as_accurate_as_numpys(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.random(10**6, np.float32)
    exact = np.cumsum(x, dtype=np.float64)
    numpys_error = np.abs(np.cumsum(x) - exact).max()
    assert np.abs(scan_kernel.scan(x) - exact).max() <= 2 * numpys_error


def test_exclusive_sums_of_floats_are_inclusive_ones_shifted(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    x = rng.random(scan_kernel.several_scanned, np.float32)
    inclusive, exclusive = scan_kernel.scan(x), scan_kernel.scan(x, inclusive=False)
    assert exclusive[0] == 0
    np.testing.assert_allclose(exclusive[1:], inclusive[:-1], rtol=1e-4)
    np.testing.assert_allclose(exclusive[1:], np.cumsum(x[:-1], dtype=np.float64), rtol=1e-4)


def test_running_sums_of_floats_have_the_same_bits_in_every_run(scan_kernel: Kernel, rng: np.random.Generator) -> None:
    if not scan_kernel.variant.deterministic:
        pytest.skip("puts tiles in brackets by how far other groups have come, as its entry says")
    x = random_values(rng, np.float32, scan_kernel.several_scanned)
    first = scan_kernel.scan(x)
    poison(scan_kernel.device)
    assert all(scan_kernel.scan(array).tobytes() == first.tobytes() for array in [x, x.copy()] * 10)


def test_a_thousand_runs_of_the_default_have_the_same_bits(device: gpuprims.Device, rng: np.random.Generator) -> None:
    runs = 1000 if device.backend != "reference" else 50
    x = on_device(device, random_values(rng, np.float32, 100_003))
    plan = gpuprims.plan("scan", x, device=device)
    if not plan.variant.deterministic:
        pytest.skip("the default of this device does not promise it")
    first = plan(x)
    # Compare on the device: copying each result would take longer than the scan.
    same = gpuprims.plan("reduce", first, first, map="(x == y) & (x != 0)", op="count_nonzero", device=device)
    assert {same.item(first, plan(x)) for _ in range(runs)} == {100_003}
