"""Runs of large NumPy arrays, which NumPy finds on CPUs if they are long, and repeats of their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.core.by_numpy import Switch
from gpuprims.primitives.grouping import by_numpy, consecutive, run_length

FEW = by_numpy._FEW_RUNS.near


@pytest.fixture
def kernels(device: gpuprims.Device, numpy_computes: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of functions whose kernels ran."""
    if getattr(device.driver, "wakes_threads", None) is None or not device.driver.shares_host_memory:
        pytest.skip("NumPy computes for CPUs, by OpenCL")
    ran = list[str]()

    def watched(calls: Any, name: str) -> None:
        inner = calls._kernels
        monkeypatch.setattr(calls, "_kernels", lambda operands, out: (ran.append(name), inner(operands, out))[1])

    watched(run_length.ENCODING, "encode")
    watched(run_length.DECODING, "decode")
    watched(consecutive.consecutive(False, False), "consecutive")
    return ran


def rows(rng: np.random.Generator, dtype: str, n: int) -> dict[str, np.ndarray]:
    """Return arrays by whether their first elements lie in long runs, the last one in short ones behind these."""
    long = np.repeat(rng.permutation(n // 20 + 1), 20)[:n].astype(dtype)
    short = np.repeat(rng.permutation(n // 9 + 1), 9)[:n].astype(dtype)
    both = long.copy()
    both[by_numpy._LOOKED :] = short[by_numpy._LOOKED :]
    return {"long": long, "short": short, "long at first": both}


@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize("n", [FEW, FEW + 1, 3 * FEW])
def test_runs(device: gpuprims.Device, rng: np.random.Generator, kernels: list[str], dtype: str, n: int) -> None:
    for name, x in rows(rng, dtype, n).items():
        for _ in range(2):
            kernels.clear()
            values, lengths = gpuprims.run_length_encode(x, device=device)
            first = gpuprims.unique_consecutive(x, device=device)
            assert kernels == (["encode", "consecutive"] if name == "short" and n > FEW else [])
            np.testing.assert_array_equal(np.repeat(values, lengths), x)
            assert (values[1:] != values[:-1]).all()
            np.testing.assert_array_equal(first, values)


def test_nan_in_long_runs(device: gpuprims.Device, kernels: list[str]) -> None:
    x = np.repeat(np.array([1.0, np.nan, 2.0, np.nan]), FEW)
    values, lengths = gpuprims.run_length_encode(x, device=device)
    np.testing.assert_array_equal(values, x[::FEW])
    np.testing.assert_array_equal(lengths, np.full(4, FEW))
    assert kernels == ["encode"]


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_unique_of_sorted_elements(
    device: gpuprims.Device, rng: np.random.Generator, kernels: list[str], monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    x = np.sort(np.repeat(rng.permutation(9000), 20)).astype(dtype)
    wanted = {"return_index": True, "return_inverse": True, "return_counts": True}
    found = gpuprims.unique(x, device=device, **wanted), gpuprims.unique(x, return_counts=True, device=device)
    for several, how in zip(found, (wanted, {"return_counts": True}), strict=True):
        for one, other in zip(several, np.unique(x, **how), strict=True):
            np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(Switch, "on", False)
    for one, other in zip(gpuprims.unique(x, device=device, **wanted), found[0], strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    ("n", "mean", "by_kernels"), [(2**15, 1, False), (2**15 + 1, 11, True), (2**15 + 1, 12, False)]
)
def test_repeats(
    device: gpuprims.Device, rng: np.random.Generator, kernels: list[str], n: int, mean: int, by_kernels: bool
) -> None:
    values, lengths = rng.standard_normal(n), np.full(n, mean)
    lengths[::2] += 1
    lengths[1::2] -= 1
    lengths[:2] = mean
    found = gpuprims.run_length_decode(values, lengths, device=device)
    np.testing.assert_array_equal(found, np.repeat(values, lengths))
    assert kernels == (["decode"] if by_kernels else [])
