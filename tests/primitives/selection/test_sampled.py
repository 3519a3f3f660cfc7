"""Selections by a sample: arrays that mislead it, and candidates for which there is no room."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernel_cases import need

import gpuprims
from gpuprims.primitives.selection import sampled
from gpuprims.primitives.selection.sampled import Bracket

ARRAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "random": lambda x: x,
    "sorted": np.sort,
    "reversed": lambda x: np.sort(x)[::-1].copy(),
    "equal": np.zeros_like,
    "two values": lambda x: (x > 0.1).astype(np.float32),
    "seven values": lambda x: np.clip(np.round(2 * x), -3, 3),
    "many NaN": lambda x: np.where(np.abs(x) > 1, np.float32(np.nan), x),
    "half zeros": lambda x: np.maximum(x, 0),
    "zeros of both signs": lambda x: np.where(np.abs(x) < 1, x * np.float32(0), x),
}


def _quantiles(x: np.ndarray, device: gpuprims.Device) -> np.ndarray:
    found: np.ndarray = gpuprims.quantile(x, [0.25, 0, 1, 0.5, 0.999], method="lower", device=device, variant="sampled")
    return found


def _able(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("the reference backend has no kernels")
    need(device, "float32")


@pytest.mark.optimised
@pytest.mark.parametrize("kind", ARRAYS)
def test_long_rows(device: gpuprims.Device, rng: np.random.Generator, kind: str) -> None:
    _able(device)
    for n in (4097, 300_001):
        x = ARRAYS[kind](rng.standard_normal(n).astype(np.float32))
        ordered = np.sort(x)
        expected = ordered[np.floor(np.float64([0.25, 0, 1, 0.5, 0.999]) * (n - 1)).astype(np.int64)]
        if np.isnan(ordered[-1]):
            expected = np.full_like(expected, np.nan)
        np.testing.assert_array_equal(_quantiles(x, device), expected)
        ranks = [n // 3, n // 2, 9 * n // 10]
        parted = gpuprims.partition(x, ranks, device=device, variant="sampled")
        np.testing.assert_array_equal(parted[ranks], ordered[ranks])


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float64"])
def test_rows_of_other_dtypes(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    _able(device)
    need(device, dtype)
    x = (rng.standard_normal((3, 70_001)) * 1000).astype(dtype)
    got = gpuprims.quantile(x, [0.1, 0.6], 1, method="lower", device=device, variant="sampled")
    np.testing.assert_array_equal(got, np.quantile(x, [0.1, 0.6], 1, method="lower"))


@pytest.mark.parametrize("number", range(3))
def test_a_sample_that_misleads(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    _able(device)
    of = Bracket.of
    wrong: Callable[[int], Bracket] = [
        lambda n: of(n)._replace(room=3),
        lambda n: of(n)._replace(reach=-of(n).size // 8),  # the first end comes behind the last one
        lambda n: Bracket(4, n, 0, n),  # of one piece
    ][number]
    monkeypatch.setattr(sampled.Bracket, "of", staticmethod(wrong))
    x = rng.standard_normal(5003 + number).astype(np.float32)  # no plan of another test is of this size
    q = [0, 0.2, 0.5, 1]
    for given in (x, ARRAYS["seven values"](x)):  # of which many equal an end
        got = gpuprims.quantile(given, q, method="lower", device=device, variant="sampled")
        np.testing.assert_array_equal(got, np.quantile(given, q, method="lower"))


def test_short_rows_go_to_other_kernels(device: gpuprims.Device) -> None:
    _able(device)
    plan = gpuprims.plan("median", np.zeros(1000, np.float32), device=device)
    assert plan.variant.name != "sampled"
    assert gpuprims.plan("median", np.zeros(1 << 23, np.float32), device=device).variant.name == "sampled"


def test_brackets() -> None:
    for n in (1, 3, 4, 5, 1000, 1 << 20, 1 << 28, (1 << 33) + 5):
        bracket = Bracket.of(n)
        assert bracket.size <= n
        assert bracket.size // 4 * bracket.stretch <= n
        assert bracket.room <= n
        assert bracket.size % 4 == 0
    assert Bracket.of(1 << 28).room < 1 << 22
