"""Folds and scans by keys of few elements, grouped without a kernel: the bits are those of the kernels."""

from __future__ import annotations

import numpy as np
import pytest

import gpuprims
from gpuprims.core.by_numpy import Switch
from gpuprims.core.program_cache import forget_calls
from gpuprims.errors import ArgumentError

SPECIAL = np.float32([np.nan, -np.nan, 0.0, -0.0, 1.0, -1.0])


def _calls(op: str, x: np.ndarray, keys: np.ndarray, device: gpuprims.Device) -> list[np.ndarray]:
    """Return the results of each function, of a first call and of one like it."""
    found: list[np.ndarray] = []
    for _ in range(2):
        found.append(gpuprims.reduce(x, by=keys, op=op, device=device))
        found.extend(gpuprims.group_by(keys, x, op=op, device=device))
        found.append(gpuprims.scan(x, by=keys, op=op, inclusive=op != "sum", device=device))
    return found


@pytest.mark.parametrize("op", ["sum", "max", "argmin"])
def test_bits_are_those_of_kernels(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, op: str
) -> None:
    x = rng.standard_normal((20, 10)).astype(np.float32)
    some = rng.choice(SPECIAL, x.shape)  # NaN are one key, zeros of both signs another
    for keys in (rng.integers(-3, 4, x.shape), some, rng.standard_normal(x.shape)):
        monkeypatch.setattr(Switch, "on", True)
        forget_calls()
        few = _calls(op, x, keys, device)
        monkeypatch.setattr(Switch, "on", False)
        forget_calls()
        for own, expected in zip(few, _calls(op, x, keys, device), strict=True):
            assert own.dtype == expected.dtype
            assert own.shape == expected.shape
            assert own.tobytes() == expected.tobytes()
    forget_calls()


def test_wrong_offsets_are_refused_after_right_ones(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Switch, "on", True)
    x, offsets = np.float32([3, 1, 2, 5, 4]), np.array([0, 2, 5])
    for _ in range(2):
        np.testing.assert_array_equal(gpuprims.sort(x, segments=offsets, device=device), [1, 3, 2, 4, 5])
        np.testing.assert_array_equal(gpuprims.argsort(x, segments=offsets, device=device), [1, 0, 2, 4, 3])
    for wrong in ([0, 6, 5], [1, 2, 5], [0, 2, 4]):
        with pytest.raises(ArgumentError, match="segments="):
            gpuprims.sort(x, segments=np.array(wrong), device=device)
    forget_calls()
