"""reduce of floats: accuracy, and the same bits in every run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_cases import Kernel, poison, random_values


def test_a_float_sum_has_the_same_bits_in_every_run(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    if reduce_kernel.variant.accumulates:
        pytest.skip("folds groups in the order in which they are done, as its entry says")
    x = random_values(rng, np.float32, reduce_kernel.striding_size)
    first = reduce_kernel.reduce(x)
    poison(reduce_kernel.device)
    assert all(reduce_kernel.reduce(array).tobytes() == first.tobytes() for array in (x, x, x.copy(), x.copy()))


@pytest.mark.optimised
def test_a_float32_sum_is_as_accurate_as_numpys(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    magnitudes = 10.0 ** rng.uniform(-6, 6, 2**22)
    x = (magnitudes * rng.choice([-1, 1], magnitudes.size)).astype(np.float32)
    exact = math.fsum(x)
    orders = [rng.permutation(x) for _ in range(4)]
    errors = [float(reduce_kernel.reduce(order)) - exact for order in orders]
    numpys = [float(np.sum(order)) - exact for order in orders]
    few = 4 * float(np.spacing(np.float32(abs(exact))))
    times = 8 if reduce_kernel.variant.accumulates else 2  # it folds the groups one after the other
    assert math.hypot(*errors) <= times * math.hypot(*numpys) + few


def test_a_float32_sum_of_positive_numbers_is_as_accurate_as_numpys(
    reduce_kernel: Kernel, rng: np.random.Generator
) -> None:
    x = rng.random(2**22, np.float32)
    exact = math.fsum(x)
    few = 4 * float(np.spacing(np.float32(exact)))
    if reduce_kernel.variant.accumulates:  # it folds the groups one after the other
        few *= 8
    assert abs(float(reduce_kernel.reduce(x)) - exact) <= 2 * abs(float(np.sum(x)) - exact) + few


def test_a_float32_sum_along_columns_is_as_accurate_as_numpys(reduce_kernel: Kernel, rng: np.random.Generator) -> None:
    x = (rng.random((2**18, 4)) * 10.0 ** rng.uniform(-3, 3, (2**18, 1))).astype(np.float32)
    exact = np.array([math.fsum(column) for column in x.T])
    errors = np.abs(reduce_kernel.reduce(x, axis=0).astype(np.float64) - exact)
    pairwise = np.abs(np.sum(np.ascontiguousarray(x.T), axis=1).astype(np.float64) - exact)
    np.testing.assert_array_less(errors, 2 * pairwise.max() + 4 * np.spacing(exact.astype(np.float32)))
