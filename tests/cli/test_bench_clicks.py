"""The bench of hashed features: its gradient, and epochs on one device and on two."""

from __future__ import annotations

import numpy as np
import pytest

import gpuprims
from bench.clicks import FEATURES, Clicks, epoch, feature, gradient_by_numpy

ROWS = 64


@pytest.fixture
def truth(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(FEATURES).astype(np.float32)


def clicks(truth: np.ndarray, rows: int) -> Clicks:
    return Clicks(gpuprims.Device("reference"), rows, truth)


def test_the_gradient_is_numpys_also_beyond_32_bits(truth: np.ndarray, rng: np.random.Generator) -> None:
    weights = rng.standard_normal(FEATURES).astype(np.float32)
    for first in (0, 9_000_000_000):
        found = clicks(truth, ROWS).gradient(weights, first)
        np.testing.assert_allclose(found, gradient_by_numpy(weights, truth, ROWS, first), atol=1e-5)
    row = np.arange(1 << 12, dtype=np.uint64)
    found = feature(row[:, None], np.arange(39, dtype=np.uint64), np.uint64(0))
    assert 0 <= found.min() < 1_000
    assert FEATURES - 1_000 < found.max() < FEATURES
    assert len(np.unique(found)) > 0.9 * FEATURES * (1 - np.exp(-found.size / FEATURES))


def test_two_devices_take_the_steps_of_one(truth: np.ndarray) -> None:
    one, two = (
        epoch(gpuprims.DeviceGroup(["reference"] * n), [clicks(truth, 2 * ROWS // n)] * n, 4 * ROWS) for n in (1, 2)
    )
    assert np.abs(one).max() > 0
    np.testing.assert_allclose(two, one, atol=1e-4 * np.abs(one).max())
