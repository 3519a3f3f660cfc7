"""How close float sums come to the exact ones, beside NumPy's pairwise summation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import gpuprims

LARGE = 2**26


def mixed(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return lognormal magnitudes, over some nine decades, with random signs."""
    x = np.exp(2 * rng.standard_normal(size, dtype=np.float32))
    x *= rng.integers(0, 2, size, dtype=np.int8) * np.int8(2) - np.int8(1)
    return x


def exact_sum(x: np.ndarray) -> float:
    """Add in longdouble, pairwise: its 64 bits leave nothing that a float32 shows."""
    return float(np.sum(x, dtype=np.longdouble))


@pytest.fixture(scope="module")
def large() -> np.ndarray:
    return mixed(np.random.default_rng(20261121), LARGE)


@pytest.fixture
def parallel(device: gpuprims.Device) -> gpuprims.Device:
    if device.backend == "reference":
        pytest.skip("folds pairwise by construction, and takes long at these sizes")
    return device


SAMPLES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "mixed": mixed,
    "uniform": lambda rng, size: rng.random(size, np.float32),
    "normal": lambda rng, size: rng.standard_normal(size, np.float32),
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_float32_sums_are_as_close_as_numpys(parallel: gpuprims.Device, sample: str) -> None:
    errors, numpys = [], []
    for seed in range(12):
        x = SAMPLES[sample](np.random.default_rng(seed), 2**21)
        exact, scale = exact_sum(x), float(np.sum(np.abs(x), dtype=np.float64))
        errors.append((float(gpuprims.reduce(x, device=parallel)) - exact) / scale)
        numpys.append((float(np.sum(x)) - exact) / scale)
    assert math.hypot(*errors) <= 1.5 * math.hypot(*numpys)


def test_a_float32_sum_of_2_to_the_26_is_close(parallel: gpuprims.Device, large: np.ndarray) -> None:
    got, exact = gpuprims.reduce(large, device=parallel), exact_sum(large)
    eps = np.finfo(np.float32).eps * float(np.sum(np.abs(large), dtype=np.float64))
    assert abs(float(got) - exact) <= 0.01 * eps
    assert gpuprims.reduce(large, device=parallel).tobytes() == got.tobytes()


@pytest.mark.parametrize("size", [2**22, LARGE])
def test_a_compensated_sum_is_off_by_two_bits_at_most(parallel: gpuprims.Device, large: np.ndarray, size: int) -> None:
    x = large[:size]
    exact = exact_sum(x)
    got = gpuprims.reduce(x, compensated=True, device=parallel)
    assert abs(float(got) - exact) <= 2 * float(np.spacing(np.float32(abs(exact))))
    assert gpuprims.reduce(x, compensated=True, device=parallel).tobytes() == got.tobytes()


def test_float16_accumulates_in_float32(parallel: gpuprims.Device) -> None:
    x = np.full(2**22, 0.01, np.float16)
    x[1::2] = -0.00999
    exact = math.fsum(x.tolist())
    for compensated in (False, True):
        got = gpuprims.reduce(x, compensated=compensated, device=parallel)
        assert got.dtype == np.float16
        assert abs(float(got) - exact) <= float(np.spacing(np.float16(exact)))
