"""Levels of determinism in calls of plans, and of tensors, whose dtypes are not NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import bits

import gpuprims

OFFSETS = [0, 7, 5000]
# Calls that look for the range of the exponents in each call, and others.
PLANNED: dict[str, tuple[str, dict[str, Any]]] = {
    "scan": ("scan", {}),
    "scan along rows": ("scan", {"axis": 1}),
    "cumsum": ("cumsum", {}),
    "reduce": ("reduce", {}),
    "reduce of columns": ("reduce", {"axis": 0}),
    "reduce of segments": ("reduce", {"segments": OFFSETS}),
    "scan of segments": ("scan", {"segments": OFFSETS}),
}


@pytest.fixture
def x(device: gpuprims.Device, rng: np.random.Generator) -> np.ndarray:
    if not device.capabilities.fp64:
        pytest.skip("exact sums need float64")
    half = rng.standard_normal((4, OFFSETS[-1] // 2)).astype(np.float32)
    # The elements of a row add up to zero, which sums that round do not find.
    return np.tile(rng.permuted(np.concatenate([half, -half], axis=1), axis=1), 14)


@pytest.mark.parametrize("case", PLANNED)
def test_calls_of_a_plan_have_the_level_that_it_was_made_at(device: gpuprims.Device, x: np.ndarray, case: str) -> None:
    function, how = PLANNED[case]
    given = x[0, : OFFSETS[-1]].copy() if "segments" in how else x if "axis" in how else x.ravel()
    how = how | {"device": device}
    plans = {level: gpuprims.plan(function, given, determinism=level, **how) for level in (None, "order")}
    expected: dict[str | None, Any] = {}
    for level in plans:
        with gpuprims.use_determinism(level):
            expected[level] = getattr(gpuprims, function)(given, **how)
    assert bits(expected[None]) != bits(expected["order"])
    for outside in (None, "device", "order"):
        with gpuprims.use_determinism(outside):
            for level, plan in plans.items():
                assert bits(plan(given)) == bits(plan(given)) == bits(expected[level])


def test_numbers_of_a_plan_have_the_level_that_it_was_made_at(device: gpuprims.Device) -> None:
    apart = np.float32([1e8, 1, 1, -1e8] * 5000)
    plan = gpuprims.plan("reduce", apart, determinism="order", device=device) if device.capabilities.fp64 else None
    assert plan is None or plan.item(apart) == 10_000


CALLS: dict[str, Callable[..., Any]] = {
    "bincount": lambda x, bins, **how: gpuprims.bincount(bins, x, **how),
    "histogram": lambda x, bins, **how: gpuprims.histogram(bins, 5, weights=x, **how)[0],
    "densities": lambda x, bins, **how: gpuprims.histogram(bins, 5, weights=x, density=True, **how)[0],
    "histogram of segments": lambda x, bins, **how: gpuprims.histogram(
        bins, 5, (0, 9), weights=x, segments=[0, 9, 300], **how
    )[0],
    "bincount of integers": lambda x, bins, **how: gpuprims.bincount(bins, bins, **how),
    "var": lambda x, bins, **how: gpuprims.reduce(x, op="var", **how),
    "std of few": lambda x, bins, **how: gpuprims.reduce(x, op="std", where=bins > 3, **how),
    "nanvar": lambda x, bins, **how: gpuprims.reduce(x, op="nanvar", ddof=1, **how),
}


@pytest.mark.parametrize("case", CALLS)
def test_tensors_have_the_bits_of_arrays(device: gpuprims.Device, rng: np.random.Generator, case: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, bins = rng.random(300, np.float32), rng.integers(0, 10, 300)
    moved = (False, True) if device.backend == "cuda" and torch.cuda.is_available() else (False,)
    for level in ("device", "order") if device.capabilities.fp64 else ("device",):
        how = {"determinism": level, "device": device}
        expected = CALLS[case](x, bins, **how)
        for on_gpu in moved:
            tensors = [torch.from_numpy(one).cuda() if on_gpu else torch.from_numpy(one) for one in (x, bins)]
            got = CALLS[case](*tensors, **how)
            assert isinstance(got, torch.Tensor)
            assert got.is_cuda == on_gpu
            assert bits(got.cpu().numpy()) == bits(np.asarray(expected))
